/** Flipped bits in files, also in those that a service has open: one byte is written, and nothing else of the file. */
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs"
import { join } from "node:path"
import type { SeededRandom } from "../support/SeededRandom.ts"

export interface Bit {
  readonly at: number
  readonly bit: number
}

export const flipBit = (path: string, { at, bit }: Bit): void => {
  const file = openSync(path, "r+")
  try {
    const byte = Buffer.alloc(1)
    readSync(file, byte, 0, 1, at)
    byte[0]! ^= 1 << bit
    writeSync(file, byte, 0, 1, at)
  } finally {
    closeSync(file)
  }
}

/** Of a file that holds little. */
const triesMax = 1_000

/** A bit near bytes that hold something, if any do. */
export const bitNearContent = (bytes: Buffer, random: SeededRandom): Bit => {
  let at = random.between(0, bytes.length - 1)
  const isEmpty = () => bytes.subarray(Math.max(0, at - 32), at + 32).every((byte) => byte === 0)
  for (let tries = 0; tries < triesMax && isEmpty(); tries++) at = random.between(0, bytes.length - 1)
  return { at, bit: random.between(0, 7) }
}

/** One in one of some files; -> where. */
export const flipOne = (directory: string, files: ReadonlyArray<string>, random: SeededRandom): string => {
  const file = random.pick(files)!
  const { at, bit } = bitNearContent(readFileSync(join(directory, file)), random)
  flipBit(join(directory, file), { at, bit })
  return `${file}, byte ${at}, bit ${bit}`
}
