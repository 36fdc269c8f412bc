/**
 * Bytes of a record of the commit log: golden bytes, made apart with Python's struct and zlib, and every flipped bit is
 * noticed.
 */
import { describe, expect, it } from "vitest"
import {
  bodyOf,
  emptyBody,
  isBodyWhole,
  readHeader,
  recordBytesMax,
  recordKinds,
  type RecordBody,
  type RecordFields,
  writeRecord
} from "@muniment/engine/log/logFormat"

const fields: RecordFields = {
  kind: recordKinds.commit,
  flags: 1,
  tag: "0123456789ab",
  epoch: 3,
  changes: 2,
  fromSeq: 258,
  atMillis: 1_795_000_000_000,
  ordinal: 77,
  unsynced: 5
}

const body: RecordBody = { text: "[1,2]", vectors: [Float32Array.of(1, -2), Float32Array.of(0.5)] }

const recordOf = (content: RecordBody = body, at = 0): Buffer => {
  const target = Buffer.alloc(at + recordBytesMax(content), 0xff)
  const length = writeRecord(target, at, content, fields)
  return target.subarray(0, at + length)
}

describe("a record", () => {
  it("has these bytes", () => {
    expect(recordOf().toString("hex").match(/.{32}/g)).toEqual([
      "4d4c473180000000e735fccbc133b732",
      "01010100050000000123456789ab0000",
      "03000000020000000201000000000000",
      "005e56eea10100004d00000000000500",
      "5b312c325d0000000000803f000000c0",
      "0000003f000000000000000000000000",
      "00000000000000000000000000000000",
      "00000000000000000000000000000000"
    ])
  })

  it("is read back, also from the middle of a file", () => {
    for (const at of [0, 64, 640]) {
      const bytes = recordOf(body, at)
      const header = readHeader(bytes, at)!
      expect(header).toEqual({ ...fields, length: 128, bodySum: 850_867_137, format: 1, textBytes: 5 })
      expect(isBodyWhole(bytes, at, header)).toBe(true)
      const { text, vectors } = bodyOf(bytes, at, header)
      expect(text).toBe("[1,2]")
      expect(vectors.readFloatLE(4)).toBe(-2)
      expect(vectors.readFloatLE(8)).toBe(0.5)
    }
  })

  it("takes at most the room that was asked for, whatever its text", () => {
    for (const text of ["", "a", "€€€", "\u{1f600}".repeat(50), "x".repeat(61), "\ud800"]) {
      const content = { text, vectors: [Float32Array.of(1)] }
      const bytes = recordOf(content)
      expect(bytes.length).toBeLessThanOrEqual(recordBytesMax(content))
      expect(bytes.length % 64).toBe(0)
      expect(bodyOf(bytes, 0, readHeader(bytes, 0)!).vectors.readFloatLE(0)).toBe(1)
    }
  })

  it("without a body is a header", () => {
    const bytes = recordOf(emptyBody)
    expect(bytes).toHaveLength(64)
    expect(isBodyWhole(bytes, 0, readHeader(bytes, 0)!)).toBe(true)
  })

  it("shows every flipped bit of header, body and padding", () => {
    const bytes = recordOf()
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      const header = readHeader(bytes, 0)
      expect(header !== undefined && isBodyWhole(bytes, 0, header), `bit ${bit}`).toBe(false)
      bytes[bit >> 3]! ^= 1 << (bit & 7)
    }
  })

  it("is not whole when its end is missing", () => {
    const bytes = recordOf()
    expect(isBodyWhole(bytes.subarray(0, 64), 0, readHeader(bytes, 0)!)).toBe(false)
    expect(readHeader(bytes.subarray(0, 63), 0)).toBeUndefined()
  })

  it("refuses to count more unsynced records than fit", () => {
    expect(() => writeRecord(Buffer.alloc(64), 0, emptyBody, { ...fields, unsynced: 65_536 })).toThrow(RangeError)
  })
})
