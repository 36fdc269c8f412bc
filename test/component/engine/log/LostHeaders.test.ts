/**
 * Headers of the commit log that are lost before a mark has listed whose the records are: the record behind each says so,
 * and every other namespace keeps what it has.
 */
import { expect } from "vitest"
import { Effect } from "effect"
import { cpSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { headerBytes, processTag, readHeader, recordAlign, recordKinds } from "@muniment/engine/log/logFormat"
import { holeBehind, type LogScanned, scanLog } from "@muniment/engine/log/LogScan"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { logCommit, logTag, smallLog } from "../../../support/CommitLogs.ts"
import { editSegment, writeSegment } from "../../../support/HandMadeLog.ts"
import { chosenSeed, SeededRandom } from "../../../support/SeededRandom.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../support/it.ts"

const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
/** Never wrote to this log: its file ended before it. */
const idle = logTag(99)

interface Place {
  readonly segment: number
  readonly offset: number
  readonly ordinal: number
  readonly tag: string
}

const recordsIn = (directory: string): ReadonlyArray<Place> =>
  listSegments(directory).flatMap((segment) => {
    const bytes = readFileSync(segmentPath(directory, segment))
    const found: Array<Place> = []
    for (let offset = 0; offset + headerBytes <= bytes.length;) {
      const header = readHeader(bytes, offset)
      if (header !== undefined) found.push({ segment, offset, ordinal: header.ordinal, tag: header.tag })
      offset += header?.length ?? recordAlign
    }
    return found
  })

/**
 * Two lives of a log, each cut short by a kill: commits and changes of control.db, in small segments, in groups that
 * share a sync. The clock stands still, so that no mark says whose they are.
 */
const killedLog = Effect.gen(function* () {
  let directory = temporaryDirectory()
  for (const life of [0, 1]) {
    const next = join(temporaryDirectory(), "log")
    yield* Effect.gen(function* () {
      const log = yield* openFileLog(smallLog(directory))
      for (const number of numbers) yield* log.attach(logTag(number), { epoch: 1, seq: 40 * life })
      let last = 0
      for (let seq = 40 * life; seq < 40 * (life + 1); seq++) {
        for (const number of numbers)
          last = (yield* log.append(logCommit(number, seq, "x".repeat(100 * number)))).ordinal
        const change = { number: seq + 1, version: 1, atMillis: 1_000, changes: Uint8Array.of(1, 2, 3) }
        yield* log.appendControl(change)
        if (seq % 3 === 0) yield* log.whenSynced(last)
      }
      yield* log.whenSynced(last)
      cpSync(directory, next, { recursive: true })
    }).pipe(Effect.scoped)
    directory = next
  }
  return directory
})

/** Namespaces whose files end before the log and are refused what they may lack. */
const refused = ({ damage }: LogScanned): ReadonlyArray<string> =>
  [...numbers.map(logTag), idle].filter((tag) => holeBehind(damage, tag, 0) !== undefined)

const spoil = (bytes: Buffer, offset: number, random: SeededRandom | undefined): void => {
  if (random === undefined) bytes.fill(0x5a, offset, offset + headerBytes)
  else bytes[offset + random.between(0, headerBytes - 1)]! ^= 1 << random.between(0, 7)
}

it.effect("cost the namespace whose record it was, whatever is lost of one", function* () {
  const seed = chosenSeed()
  const random = new SeededRandom(seed)
  const directory = yield* killedLog
  const records = recordsIn(directory)
  const segments = new Set(records.map(({ segment }) => segment))
  expect(segments.size).toBeGreaterThan(3)
  // Of each segment the first two and some others; the last group of all looks torn.
  const chosen = [...segments].flatMap((segment) => {
    const own = records.filter((one) => one.segment === segment && one.ordinal < records.at(-20)!.ordinal)
    return [...own.slice(0, 2), ...own.slice(2).filter(() => random.next() < 0.05)]
  })
  for (const { offset, ordinal, segment, tag } of chosen) {
    for (const way of [random, undefined]) {
      const whole = readFileSync(segmentPath(directory, segment))
      editSegment(directory, segment, (bytes) => spoil(bytes, offset, way))
      const told = `seed ${seed}, record ${ordinal} of ${tag}`
      expect(refused(scanLog(directory)), told).toEqual(tag === processTag ? [] : [tag])
      editSegment(directory, segment, (bytes) => whole.copy(bytes))
    }
  }
})

it.effect("in a row with a flipped bit each cost their own namespaces", function* () {
  const seed = chosenSeed()
  const random = new SeededRandom(seed)
  const directory = yield* killedLog
  const records = recordsIn(directory)
  for (const run of [2, 3, 5]) {
    const from = random.between(1, records.length - 40)
    const lost = records.slice(from, from + run)
    const before = lost.map(({ segment }) => [segment, readFileSync(segmentPath(directory, segment))] as const)
    for (const { offset, segment } of lost) editSegment(directory, segment, (bytes) => spoil(bytes, offset, random))
    const owners = new Set(lost.map(({ tag }) => tag).filter((tag) => tag !== processTag))
    expect(new Set(refused(scanLog(directory))), `seed ${seed}, ${run} from ${from}`).toEqual(owners)
    for (const [segment, whole] of before) editSegment(directory, segment, (bytes) => whole.copy(bytes))
  }
})

it("in a log of an earlier release cost all whose files end before, unless a mark says whose it was", () => {
  const directory = temporaryDirectory()
  const records = Array.from({ length: 12 }, (_, at) => ({ ordinal: at + 1, tag: logTag(1 + (at % 3)), text: "old" }))
  const offsets = writeSegment(directory, 1, records)
  expect(refused(scanLog(directory))).toEqual([])
  editSegment(directory, 1, (bytes) => spoil(bytes, offsets[4]!, undefined))
  expect(refused(scanLog(directory))).toHaveLength(numbers.length + 1)
  const text = records.map(({ tag }) => tag).join("")
  writeSegment(directory, 2, [{ kind: recordKinds.mark, tag: processTag, ordinal: 13, changes: 12, text }])
  expect(refused(scanLog(directory))).toEqual([records[4]!.tag])
})
