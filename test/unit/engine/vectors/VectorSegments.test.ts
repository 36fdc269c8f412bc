/** The bytes of a segment, as the diagram in `VectorSegments.ts` shows them. */
import { createHash } from "node:crypto"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { VectorSegments } from "@muniment/engine/vectors/arena/VectorSegments"
import { expect, it } from "vitest"

const slots = [3, 1_023]
const seqs = [17, 42]
const rowOffsets = [56, 448]
const rowLength = 392

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text.split(" "), (byte) => Number.parseInt(byte, 16))

it("a segment of two vectors of 384 dimensions has the documented bytes", () => {
  const arena = new VectorArena(384, new SlabPool(loadKernels()).take())
  const segments = new VectorSegments(arena)
  for (const [at, slot] of slots.entries()) {
    const vector = new Float32Array(384)
    vector[at] = 1
    arena.set(slot, vector, seqs[at]!)
  }
  const data = segments.encodeSegment(0)!
  expect(data).toHaveLength(840)
  expect(data.subarray(0, 56)).toEqual(
    bytesOf(
      [
        "4d 52 4f 57 01 00 00 00",
        "80 01 00 00 80 01 00 00",
        "00 00 00 00 02 00 00 00",
        "00 00 00 00 00 00 00 00",
        "00 00 00 00 00 00 31 40",
        "00 00 00 00 00 00 45 40",
        "03 00 00 00 ff 03 00 00"
      ].join(" ")
    )
  )
  for (const [at, slot] of slots.entries()) {
    const row = data.slice(rowOffsets[at]!, rowOffsets[at]! + rowLength)
    expect(row).toEqual(arena.rowCopy(slot))
    const codes = new Int8Array(row.buffer, 0, 384)
    expect(new Int32Array(row.buffer, 388, 1)[0]).toBe(codes.reduce((sum, code) => sum + code, 0))
    expect(new Float32Array(row.buffer, 384, 1)[0]).toBeGreaterThan(0)
  }
})

/** SHA-256 of the row of `wave`. Every new value needs a new `formatVersion`. */
const rowOfVersion = { formatVersion: 1, sha256: "289fdfa010a5f23dd171b87cce8f0bdd5c1a97cb4afe706843aee73dfdcbdbdc" }

/** Unit vector whose components all differ. */
const wave = (): Float32Array => {
  const raw = Float32Array.from({ length: 384 }, (_, at) => at - 200)
  const norm = Math.sqrt(raw.reduce((sum, x) => sum + x * x, 0))
  return raw.map((x) => x / norm)
}

it("a row of codes changes only together with the format version", () => {
  const arena = new VectorArena(384, new SlabPool(loadKernels()).take())
  arena.set(0, wave(), 1)
  const data = new VectorSegments(arena).encodeSegment(0)!
  const formatVersion = new DataView(data.buffer).getUint32(4, true)
  const sha256 = createHash("sha256").update(arena.rowCopy(0)).digest("hex")
  const advice =
    "the rotation or the codes have changed, so stored segments hold rows that compare with none of the new ones: " +
    "raise formatVersion in VectorSegments.ts, then set both values here (packages/engine/docs/format.md, Segments)"
  expect({ formatVersion, sha256 }, advice).toEqual(rowOfVersion)
})
