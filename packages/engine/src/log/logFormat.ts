/**
 * Records of the commit log, byte by byte: a header of 64 bytes with a sum of its
 * own, text, zeros to a multiple of 4, vectors as f32, zeros to a multiple of 64. Integers are little-endian.
 *
 * Invariants: a record begins at a multiple of 64, so that its header lies in one sector; every bit of a record is
 * covered by the magic number or by one of the two sums; a record names whose the one before it is.
 */
import { crc32 } from "node:zlib"
import type { NamespaceTag } from "@muniment/domain/Ids"

export const recordAlign = 64
export const headerBytes = 64
/** "MLG1" */
const magic = 0x31_47_4c_4d
/** Format of the bodies that this release writes. */
export const bodyFormat = 1
/** Tag of records that concern the process. */
export const processTag: NamespaceTag = "000000000000"

export const recordKinds = { commit: 1, control: 2, mark: 3, refused: 4, rebased: 5, erased: 6 } as const
/**
 * `claim`: first commit of an owner. `erased`: the body is zeros, or is about to be. `sealed`: the body is encrypted.
 * `follows`: the header has the tag of the record before it, which those of earlier releases have not.
 */
export const recordFlags = { claim: 1, erased: 2, sealed: 4, follows: 8 } as const

/** `changes` of an erased record: the namespace is gone, and a later one of the same tag begins anew. */
export const removesAll = 1

const largestShort = 0xff_ff

/**
 * Vectors go as they are, each `Float32Array[dims]`; the text says how many there are and what they mean. Bytes in
 * their place: of control.db.
 */
export interface RecordBody {
  readonly text: string
  readonly vectors: ReadonlyArray<Float32Array | Uint8Array>
}

export const emptyBody: RecordBody = { text: "", vectors: [] }

/** What a writer says of a record. */
export interface RecordFields {
  readonly kind: number
  readonly flags: number
  readonly tag: NamespaceTag
  readonly epoch: number
  readonly changes: number
  /** Of a refused, rebased or erased record: the ordinal it speaks about. */
  readonly fromSeq: number
  readonly atMillis: number
  readonly ordinal: number
  /** Records before this one that were not known to be synced when it was written; at most 65,535. */
  readonly unsynced: number
  /** Tag of the record with the ordinal before: whose it is if its own header is lost. Undefined: not known. */
  readonly previous?: NamespaceTag | undefined
}

export interface RecordHeader extends RecordFields {
  /** With header and padding. */
  readonly length: number
  readonly bodySum: number
  readonly format: number
  readonly textBytes: number
}

/** Most bytes that a record of this body can take. */
export const recordBytesMax = ({ text, vectors }: RecordBody): number =>
  align(headerBytes + text.length * 3 + 4 + vectors.reduce((sum, vector) => sum + vector.byteLength, 0), recordAlign)

/** Writes a record at `at`, where `recordBytesMax` bytes are free; returns its length. */
export const writeRecord = (target: Buffer, at: number, body: RecordBody, fields: RecordFields): number => {
  const start = at + headerBytes
  const textBytes = target.write(body.text, start, "utf8")
  let end = start + textBytes
  for (const vector of body.vectors) {
    target.fill(0, end, start + align(end - start, 4))
    end = start + align(end - start, 4)
    target.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), end)
    end += vector.byteLength
  }
  const length = align(end - at, recordAlign)
  target.fill(0, end, at + length)
  writeHeader(target, at, {
    ...fields,
    length,
    bodySum: bodySumOf(target, at, length),
    format: bodyFormat,
    textBytes
  })
  return length
}

export const writeHeader = (target: Buffer, at: number, header: RecordHeader): void => {
  if (header.unsynced > largestShort) throw new RangeError(`${header.unsynced} records before this one are not synced`)
  target.writeUInt32LE(magic, at)
  target.writeUInt32LE(header.length, at + 4)
  target.writeUInt32LE(header.bodySum, at + 12)
  target.writeUInt8(header.kind, at + 16)
  target.writeUInt8(header.format, at + 17)
  target.writeUInt16LE(header.flags | (header.previous === undefined ? 0 : recordFlags.follows), at + 18)
  target.writeUInt32LE(header.textBytes, at + 20)
  target.write(header.tag, at + 24, 6, "hex")
  target.writeUInt32LE(header.epoch, at + 32)
  target.writeUInt32LE(header.changes, at + 36)
  target.writeUIntLE(header.fromSeq, at + 40, 6)
  target.writeUIntLE(header.atMillis, at + 48, 6)
  for (const [part, offset] of previousAt.entries())
    target.write((header.previous ?? processTag).slice(4 * part, 4 * part + 4), at + offset, 2, "hex")
  target.writeUIntLE(header.ordinal, at + 56, 6)
  target.writeUInt16LE(header.unsynced, at + 62)
  target.writeUInt32LE(headerSumOf(target, at), at + 8)
}

/** The header at `at`; undefined if it is not whole. */
export const readHeader = (source: Buffer, at: number): RecordHeader | undefined => {
  if (at + headerBytes > source.length || source.readUInt32LE(at) !== magic) return undefined
  if (headerSumOf(source, at) !== source.readUInt32LE(at + 8)) return undefined
  const flags = source.readUInt16LE(at + 18)
  const previous = previousAt.map((offset) => source.toString("hex", at + offset, at + offset + 2)).join("")
  return {
    length: source.readUInt32LE(at + 4),
    bodySum: source.readUInt32LE(at + 12),
    kind: source.readUInt8(at + 16),
    format: source.readUInt8(at + 17),
    flags,
    textBytes: source.readUInt32LE(at + 20),
    tag: source.toString("hex", at + 24, at + 30),
    epoch: source.readUInt32LE(at + 32),
    changes: source.readUInt32LE(at + 36),
    fromSeq: source.readUIntLE(at + 40, 6),
    atMillis: source.readUIntLE(at + 48, 6),
    ordinal: source.readUIntLE(at + 56, 6),
    unsynced: source.readUInt16LE(at + 62),
    previous: (flags & recordFlags.follows) === 0 ? undefined : previous
  }
}

/**
 * The header that is one flipped bit from what is at `at`; undefined: there is none. Its sum differs from that of any
 * header with fewer than three other bits. Only for a guess whose the record is: the bytes are not those that were written.
 */
export const nearHeader = (source: Buffer, at: number): RecordHeader | undefined => {
  if (at + headerBytes > source.length || bitsOf(source.readUInt32LE(at) ^ magic) > 1) return undefined
  const bytes = Buffer.from(source.subarray(at, at + headerBytes))
  for (let bit = 0; bit < 8 * headerBytes; bit++) {
    bytes[bit >>> 3]! ^= 1 << (bit & 7)
    const header = readHeader(bytes, 0)
    if (header !== undefined) return header
    bytes[bit >>> 3]! ^= 1 << (bit & 7)
  }
  return undefined
}

/** Whether the body is what was written. That of an erased record is not looked at: it may be half overwritten. */
export const isBodyWhole = (source: Buffer, at: number, header: RecordHeader): boolean => {
  if (header.length < headerBytes || at + header.length > source.length) return false
  return isErased(header) || bodySumOf(source, at, header.length) === header.bodySum
}

export const isErased = ({ flags }: RecordHeader): boolean => (flags & recordFlags.erased) !== 0

/** The text of the record at `at`, and the bytes of its vectors, one after the other. */
export const bodyOf = (
  source: Buffer,
  at: number,
  { length, textBytes }: RecordHeader
): { readonly text: string; readonly vectors: Buffer } => {
  const start = at + headerBytes
  return {
    text: source.toString("utf8", start, start + textBytes),
    vectors: source.subarray(Math.min(start + align(textBytes, 4), at + length), at + length)
  }
}

const align = (bytes: number, unit: number): number => Math.ceil(bytes / unit) * unit

/** Places of the previous tag, two bytes each: behind the tag and behind the two numbers of 48 bits. */
const previousAt = [30, 46, 54]

const bitsOf = (word: number): number => {
  let count = 0
  for (let left = word; left !== 0; left &= left - 1) count++
  return count
}

/** Of the length and of everything behind the sum itself. */
const headerSumOf = (source: Buffer, at: number): number =>
  crc32(source.subarray(at + 12, at + headerBytes), crc32(source.subarray(at + 4, at + 8)))

const bodySumOf = (source: Buffer, at: number, length: number): number =>
  crc32(source.subarray(at + headerBytes, at + length))
