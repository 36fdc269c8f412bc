/** Signs of the rotation: a function of the width alone, so codes of all namespaces and versions compare. */
import { seededSequence } from "./SeededSequence.ts"
import type { Slab } from "./Slab.ts"

const rounds = 4
const seed = 0x6d756e69
const uploaded = new WeakMap<Slab, Map<number, number>>()

/** Address of f32[4][width] of 1 and -1, uploaded once per slab and width. */
export const rotationSigns = (slab: Slab, width: number): number => {
  const ofSlab = uploaded.get(slab) ?? new Map<number, number>()
  uploaded.set(slab, ofSlab)
  const known = ofSlab.get(width)
  if (known !== undefined) return known
  const address = slab.allocate(rounds * width * Float32Array.BYTES_PER_ELEMENT)
  const random = seededSequence(seed)
  for (let i = 0; i < rounds * width; i++) slab.floats[(address >>> 2) + i] = random() < 0.5 ? -1 : 1
  ofSlab.set(width, address)
  return address
}
