/**
 * Random flips of bits in the commit log: what a namespace gets is all that was written, or a refusal; never less, and
 * nothing else. What the last synced group had, without a mark behind it, looks torn and is not flipped here.
 */
import { describe, expect, it } from "vitest"
import { LogDamaged } from "@muniment/engine/log/LogError"
import { processTag, recordKinds } from "@muniment/engine/log/logFormat"
import { holeBehind, scanLog } from "@muniment/engine/log/LogScan"
import { RecordReader } from "@muniment/engine/log/RecordReader"
import { logTag } from "../../../support/CommitLogs.ts"
import { commits, editSegment, writeSegment } from "../../../support/HandMadeLog.ts"
import { chosenSeed, SeededRandom } from "../../../support/SeededRandom.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

const flips = 300
const segments = [1, 2, 3]
const numbers = [0, 1, 2]
const perSegment = 20
/** Commits before the two marks at the end. */
const commitsMax = segments.length * perSegment

/** Three segments of commits, and a mark that lists their namespaces. */
const writeLog = (directory: string): void => {
  for (const segment of segments)
    writeSegment(directory, segment, commits((segment - 1) * perSegment + 1, segment * perSegment))
  const text = commits(1, commitsMax)
    .map(({ tag }) => tag)
    .join("")
  const mark = { kind: recordKinds.mark, tag: processTag }
  writeSegment(directory, segments.length + 1, [
    { ...mark, ordinal: commitsMax + 1, changes: commitsMax, text },
    { ...mark, ordinal: commitsMax + 2 }
  ])
}

/** Texts of a namespace's commits behind an ordinal; undefined: refused. */
const textsBehind = (directory: string, number: number, after: number): ReadonlyArray<string> | undefined => {
  const { damage, index } = scanLog(directory)
  if (holeBehind(damage, logTag(number), after) !== undefined) return undefined
  const reader = new RecordReader(directory)
  try {
    return index.commitsOf(logTag(number), after).map((entry) => reader.read(entry).text)
  } catch (cause) {
    if (cause instanceof LogDamaged) return undefined
    throw cause
  } finally {
    reader.close()
  }
}

const written = (number: number, after: number): ReadonlyArray<string> =>
  commits(after + 1, commitsMax).flatMap(({ tag, text = "" }) => (tag === logTag(number) ? [text] : []))

describe(`${flips} flipped bits in a log`, () => {
  it("leave no namespace with less than it wrote, and refuse no other one", () => {
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const directory = temporaryDirectory()
    writeLog(directory)
    let refused = 0
    for (let flip = 0; flip < flips; flip++) {
      const segment = random.between(1, segments.length)
      const at = random.between(0, 16_383)
      const bit = random.between(0, 7)
      const after = random.between(0, commitsMax)
      const invert = () => editSegment(directory, segment, (bytes) => (bytes[at]! ^= 1 << bit))
      invert()
      const found = numbers.map((number) => textsBehind(directory, number, after))
      const told = `seed ${seed}, segment ${segment}, byte ${at}, bit ${bit}, behind ${after}`
      for (const number of numbers)
        if (found[number] !== undefined) expect(found[number], told).toEqual(written(number, after))
      const without = found.filter((texts) => texts === undefined).length
      expect(without, told).toBeLessThanOrEqual(1)
      refused += without
      invert()
    }
    expect(refused).toBeGreaterThan(flips / 50)
  })
})
