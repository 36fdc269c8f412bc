/** What the open of the commit log makes of torn tails, flipped bits, missing segments and erasures that were cut short. */
import { beforeEach, describe, expect, it } from "vitest"
import { readdirSync, readFileSync, rmSync } from "node:fs"
import type { LogEntry } from "@muniment/engine/log/CommitLog"
import { eraseBodies } from "@muniment/engine/log/SegmentWriter"
import { processTag, recordFlags, recordKinds } from "@muniment/engine/log/logFormat"
import { type LogScanned, recoverLog, scanLog } from "@muniment/engine/log/LogScan"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { logTag } from "../../../support/CommitLogs.ts"
import { commits, editSegment, writeSegment } from "../../../support/HandMadeLog.ts"
import { LostPages } from "../../../support/LostPages.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

let directory: string
/** Where the records of segments 1 to 3 begin: ordinals 1 to 10, 11 to 20, 21 to 30. */
let offsets: ReadonlyArray<ReadonlyArray<number>>

beforeEach(() => {
  directory = temporaryDirectory()
  offsets = [1, 2, 3].map((segment) => writeSegment(directory, segment, commits(segment * 10 - 9, segment * 10)))
})

const holds = (text: string): boolean =>
  listSegments(directory).some((segment) => readFileSync(segmentPath(directory, segment)).includes(text))

const ordinalsOf = ({ index }: LogScanned): ReadonlyArray<number> =>
  [0, 1, 2].flatMap((number) => index.commitsOf(logTag(number), 0).map(({ ordinal }) => ordinal)).sort((a, b) => a - b)

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

describe("a torn tail", () => {
  it("is not there after a clean end", () => {
    const scanned = recoverLog(directory)
    expect(ordinalsOf(scanned)).toEqual(range(1, 30))
    expect(scanned).toMatchObject({ damage: [], nextOrdinal: 31, lastSegment: 3, tornAt: undefined })
  })

  it("is dropped and overwritten: its ordinal is given again, and its text is gone", () => {
    editSegment(directory, 3, (bytes) => bytes.fill(0, offsets[2]![9]! + 100))
    expect(holds("text 30")).toBe(true)
    const scanned = recoverLog(directory)
    expect(ordinalsOf(scanned)).toEqual(range(1, 29))
    expect(scanned).toMatchObject({ damage: [], nextOrdinal: 30 })
    expect(holds("text 30")).toBe(false)
    expect(scanLog(directory)).toMatchObject({ damage: [], nextOrdinal: 30, tornAt: undefined })
  })

  it("does not come back with a power cut once its ordinal is given again", () => {
    const [at = 0] = writeSegment(directory, 4, [{ ordinal: 32, text: "text 32", unsynced: 9 }])
    expect(at).toBe(0)
    editSegment(directory, 3, (bytes) => bytes.fill(0, offsets[2]![9]! + 100))
    const disk = new LostPages(directory)
    disk.under(() => recoverLog(directory))
    disk.cutPower()
    writeSegment(directory, 5, [...commits(30, 31), { kind: recordKinds.mark, tag: processTag, ordinal: 32 }])
    const scanned = scanLog(directory)
    expect(scanned).toMatchObject({ damage: [], nextOrdinal: 33, tornAt: undefined })
    expect(ordinalsOf(scanned)).toEqual(range(1, 31))
  })

  it("takes what was written behind it in the same group with it", () => {
    const records = commits(21, 30).map((one) => ({ ...one, unsynced: Math.max(0, (one.ordinal ?? 0) - 26) }))
    const [, , , , , , at = 0] = writeSegment(directory, 3, records)
    editSegment(directory, 3, (bytes) => bytes.fill(0x55, at, at + 512))
    const scanned = recoverLog(directory)
    expect(ordinalsOf(scanned)).toEqual(range(1, 26))
    expect(scanned).toMatchObject({ damage: [], nextOrdinal: 27 })
    expect(holds("text 30")).toBe(false)
  })

  it("is damage when a later mark says that it was synced", () => {
    const mark = { kind: recordKinds.mark, tag: logTag(0), ordinal: 31 }
    writeSegment(directory, 3, [...commits(21, 30), mark])
    editSegment(directory, 3, (bytes) => bytes.fill(0, offsets[2]![9]! + 100, offsets[2]![9]! + 128))
    const scanned = recoverLog(directory)
    expect(scanned.damage).toMatchObject([{ from: 30, to: 30, segment: 3, offset: offsets[2]![9], tag: logTag(0) }])
    expect(scanned.nextOrdinal).toBe(32)
  })
})

describe("a sync that failed", () => {
  it("loses no record that the open of the log finds in the page cache", () => {
    const disk = new LostPages(directory)
    disk.lose(segmentPath(directory, 3), offsets[2]![5]!)
    disk.under(() => expect(ordinalsOf(recoverLog(directory))).toEqual(range(1, 30)))
    disk.cutPower()
    const scanned = scanLog(directory)
    expect(scanned).toMatchObject({ damage: [], nextOrdinal: 31 })
    expect(ordinalsOf(scanned)).toEqual(range(1, 30))
  })

  it("leaves no record without a body whose header does not say so, also where each lies in a page of its own", () => {
    const [, at = 0] = writeSegment(directory, 1, [
      { ordinal: 1, tag: logTag(2), text: "x".repeat(4_096 - 128) },
      { ordinal: 2, tag: logTag(1), text: "text 2 of page two" }
    ])
    expect(at).toBe(4_096 - 64)
    for (const segment of [2, 3]) rmSync(segmentPath(directory, segment))
    writeSegment(directory, 2, [{ kind: recordKinds.erased, ordinal: 3, tag: logTag(1), fromSeq: 2 }])
    const disk = new LostPages(directory)
    disk.under(() => {
      disk.failNextSync()
      expect(() => eraseBodies(directory, scanLog(directory).unfinishedErasures)).toThrow("EIO")
      recoverLog(directory)
    })
    disk.cutPower()
    expect(holds("text 2 of")).toBe(false)
    expect(scanLog(directory)).toMatchObject({ damage: [], nextOrdinal: 4, unfinishedErasures: [] })
  })
})

describe("damage", () => {
  const places: ReadonlyArray<readonly [name: string, ordinal: number]> = [
    ["the oldest segment", 3],
    ["the middle segment", 15],
    ["the last record of a segment", 20],
    ["the newest segment", 24]
  ]

  it.each(places)("is noticed and named, with flipped bits all over a record, in %s", (_, ordinal) => {
    const segment = Math.ceil(ordinal / 10)
    const [from, to] = [offsets[segment - 1]![(ordinal - 1) % 10]!, offsets[segment - 1]![ordinal % 10]!]
    const length = (to > from ? to : offsets[0]![1]!) - (to > from ? from : 0)
    for (let bit = 0; bit < length * 8; bit += 5) {
      const flip = () => editSegment(directory, segment, (bytes) => (bytes[from + (bit >> 3)]! ^= 1 << (bit & 7)))
      flip()
      const { damage, nextOrdinal } = scanLog(directory)
      const tag = logTag(ordinal % 3)
      expect(damage, `bit ${bit}`).toMatchObject([{ from: ordinal, to: ordinal, segment, offset: from, tag }])
      expect(nextOrdinal).toBe(31)
      flip()
    }
  })

  it("names the records of a missing segment", () => {
    rmSync(segmentPath(directory, 2))
    expect(recoverLog(directory).damage).toMatchObject([{ from: 11, to: 20, segment: 3, offset: 0, tag: undefined }])
  })

  it("names the records of a missing oldest segment, unless the log says that it was dropped", () => {
    rmSync(segmentPath(directory, 1))
    expect(scanLog(directory).damage).toMatchObject([{ from: 1, to: 10, segment: 2, offset: 0, tag: undefined }])
    writeSegment(directory, 4, [{ kind: recordKinds.rebased, ordinal: 31, fromSeq: 11 }])
    expect(scanLog(directory)).toMatchObject({ damage: [], nextOrdinal: 32 })
  })
})

describe("a dropped segment that a power cut brings back", () => {
  const dropped = { kind: recordKinds.rebased, ordinal: 31, fromSeq: 21 }
  const mark = { kind: recordKinds.mark, tag: processTag, ordinal: 32 }

  it.each([1, 2])("is no damage, also when the other one does not come back: segment %i", (other) => {
    writeSegment(directory, 4, [dropped, mark])
    rmSync(segmentPath(directory, 3 - other))
    const { damage, index, nextOrdinal, tornAt } = recoverLog(directory)
    expect({ damage, nextOrdinal, tornAt }).toEqual({ damage: [], nextOrdinal: 33, tornAt: undefined })
    expect(index.firstKept).toBe(21)
    expect(index.segments.map(({ segment }) => segment)).toEqual([other, 3, 4])
  })

  it("loses what was erased while it was away", () => {
    const intent = { kind: recordKinds.erased, ordinal: 33, tag: logTag(1), fromSeq: 22 }
    writeSegment(directory, 4, [dropped, mark, intent])
    rmSync(segmentPath(directory, 2))
    recoverLog(directory)
    for (const ordinal of [...range(1, 10), ...range(21, 30)])
      expect(holds(`text ${ordinal} `), `${ordinal}`).toBe(ordinal % 3 !== 1 || ordinal > 22)
  })

  it("hides no damage behind it", () => {
    writeSegment(directory, 4, [dropped, mark])
    for (const segment of [2, 3]) rmSync(segmentPath(directory, segment))
    expect(scanLog(directory).damage).toMatchObject([{ from: 11, to: 30, segment: 4 }])
  })
})

describe("what is left of damaged records", () => {
  const intent = { kind: recordKinds.erased, ordinal: 32, tag: logTag(1), fromSeq: 22 }
  const listed = { kind: recordKinds.mark, ordinal: 31, tag: processTag, changes: 30 }
  const owners = range(1, 30)
    .map((ordinal) => logTag(ordinal % 3))
    .join("")
  const flipAt = (ordinal: number, at: number) => {
    const segment = Math.ceil(ordinal / 10)
    editSegment(directory, segment, (bytes) => (bytes[offsets[segment - 1]![(ordinal - 1) % 10]! + at]! ^= 1))
  }

  it("is known by the namespace that a later mark names, also where headers or whole segments are lost", () => {
    writeSegment(directory, 4, [{ ...listed, text: owners }])
    flipAt(7, 30)
    rmSync(segmentPath(directory, 2))
    const found = scanLog(directory).damage.map(({ from, tag, to }) => [from, to, tag])
    expect(found).toEqual([7, ...range(11, 20)].map((ordinal) => [ordinal, ordinal, logTag(ordinal % 3)]))
  })

  it("is known for no record that a torn or damaged mark names", () => {
    const [at = 0] = writeSegment(directory, 4, [
      { ...listed, text: owners },
      { kind: recordKinds.mark, tag: processTag, ordinal: 32 }
    ])
    // One flipped bit leaves enough of a header to say whose it is.
    flipAt(7, 30)
    flipAt(7, 31)
    editSegment(directory, 4, (bytes) => (bytes[at + 100]! ^= 1))
    expect(scanLog(directory).damage).toMatchObject([
      { from: 7, tag: undefined },
      { from: 31, tag: processTag }
    ])
  })

  it.each([
    ["body", 100],
    ["header", 30]
  ])("is erased with the others of its namespace: a flipped bit in its %s", (_, at) => {
    writeSegment(directory, 4, [{ ...listed, text: owners }, intent])
    flipAt(7, at)
    flipAt(9, at)
    recoverLog(directory)
    for (const ordinal of range(1, 30))
      expect(holds(`text ${ordinal} `), `${ordinal}`).toBe(ordinal % 3 !== 1 || ordinal > 22)
    expect(recoverLog(directory).damage.map(({ from }) => from)).toEqual(at === 30 ? [7, 9] : [9])
  })
})

describe("an erasure that was cut short", () => {
  const ofFirst = (): ReadonlyArray<LogEntry> => scanLog(directory).index.commitsOf(logTag(1), 0)
  const intent = { kind: recordKinds.erased, ordinal: 31, tag: logTag(1), fromSeq: 22 }
  const endsWhole = (): void => {
    const scanned = recoverLog(directory)
    expect(scanned.damage).toEqual([])
    for (const ordinal of range(1, 30))
      expect(holds(`text ${ordinal} `), `${ordinal}`).toBe(ordinal % 3 !== 1 || ordinal > 22)
    expect(recoverLog(directory)).toMatchObject({ damage: [], unfinishedErasures: [] })
    expect(ordinalsOf(scanned)).toEqual(range(1, 30))
  }

  it("after the intent is finished", () => {
    writeSegment(directory, 4, [intent])
    endsWhole()
  })

  it("after the headers is finished", () => {
    writeSegment(directory, 4, [intent])
    const texts = new Map(ofFirst().map(({ ordinal, place }) => [ordinal, bodyAt(place)]))
    eraseBodies(
      directory,
      ofFirst().filter(({ ordinal }) => ordinal <= 22)
    )
    // As if no body, or half of one, had been overwritten yet.
    for (const { ordinal, place } of ofFirst().filter((one) => one.ordinal <= 22)) {
      const body = texts.get(ordinal)!
      editSegment(directory, place.segment, (bytes) => body.copy(bytes, place.offset + 64, ordinal % 2 === 0 ? 64 : 0))
    }
    endsWhole()
  })

  it("between two segments is finished", () => {
    writeSegment(directory, 4, [intent])
    eraseBodies(
      directory,
      ofFirst().filter(({ place }) => place.segment === 2)
    )
    endsWhole()
  })

  it("leaves the flag in the header, and an erased record reads as erased", () => {
    eraseBodies(directory, ofFirst())
    const bytes = readFileSync(segmentPath(directory, 1))
    expect(bytes.readUInt16LE(offsets[0]![0]! + 18) & recordFlags.erased).toBe(recordFlags.erased)
    expect(bytes.subarray(offsets[0]![0]! + 64, offsets[0]![1])).toEqual(Buffer.alloc(offsets[0]![1]! - 64))
    expect(scanLog(directory).damage).toEqual([])
  })

  const bodyAt = ({ length, offset, segment }: LogEntry["place"]): Buffer =>
    Buffer.from(readFileSync(segmentPath(directory, segment)).subarray(offset + 64, offset + length))
})

it("keeps one segment that was prepared and never written as the spare, and deletes others, also for a power cut", () => {
  for (const segment of [4, 5]) writeSegment(directory, segment, [])
  const disk = new LostPages(directory)
  disk.under(() => expect(recoverLog(directory).nextOrdinal).toBe(31))
  disk.cutPower()
  expect(listSegments(directory)).toEqual([1, 2, 3])
  expect(readdirSync(directory)).toContain("spare")
})
