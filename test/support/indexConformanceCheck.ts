/**
 * Checks on every answer of a vector engine, and functions that make and fill one, for the conformance suite.
 */
import { expect } from "vitest"
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import type { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import type { SegmentedIndex, VectorIndex } from "@muniment/engine/vectors/VectorIndex"
import type { Oracle } from "./indexConformanceVectors.ts"

export type IndexUnderTest = VectorIndex &
  Partial<SegmentedIndex> & {
    readonly work?: (budgetMillis: number, now: () => number) => number
    readonly vectorOf?: (slot: number) => Float32Array | undefined
    readonly searchStrict?: PlannedIndex["searchStrict"]
  }

export interface EngineUnderTest {
  readonly name: string
  readonly make: (dims: number) => IndexUnderTest
  /** An index in memory of its own, and that memory as bytes. */
  readonly makeAlone: (dims: number) => { readonly index: IndexUnderTest; readonly memory: () => Uint8Array }
  /** The exact engine: what every score must be equal to. */
  readonly exact: (dims: number) => IndexUnderTest
  /** Sizes that bring the engine into each of its forms, ascending. */
  readonly sizes: ReadonlyArray<number>
  /** Vectors of each of the sets that 8-bit scores order wrongly. */
  readonly distributionSize: number
  /** Of 10 and of 100 wanted, on average over the queries of a set: usually, and of vectors that are all noise. */
  readonly recallMin: number
  readonly recallOfNoiseMin: number
}

/**
 * How far a score may lie from the float32 inner product of two unit vectors: the error of int8 codes is a
 * sum of `dims` roundings, each at most half of 1/127 of the largest component.
 */
const scoreErrorMax = 0.005
/** What the difference of two scores is usually wrong by, at most: some three standard errors. */
const differenceErrorUsual = 0.002

/** Looks at the clock that background work may take before it is said never to end. */
const looksMax = 200_000

/** With a clock that stands still a positive budget never runs out, and 0 allows one step. */
const stoppedClock = (): (() => number) => {
  let looks = 0
  return () => {
    if (++looks > looksMax) throw new Error("background work never ends")
    return 0
  }
}

/** One slice of background work, of one step. */
export const workOnce = (index: IndexUnderTest): number => index.work?.(0, stoppedClock()) ?? 0

export const workAll = (index: IndexUnderTest): void => {
  const now = stoppedClock()
  while ((index.work?.(1, now) ?? 0) > 0);
}

/** Searches that an engine may learn from, and the work that follows. */
export const practise = (index: IndexUnderTest, queries: ReadonlyArray<Float32Array>): void => {
  for (let at = 0; at < practiceSearches; at++) index.search(queries[at % queries.length]!, 10, undefined)
  workAll(index)
}
const practiceSearches = 64

export const filled = (engine: EngineUnderTest, rows: ReadonlyArray<Float32Array>, dims: number): IndexUnderTest => {
  const index = engine.make(dims)
  for (const [slot, row] of rows.entries()) index.upsert(slot, row, slot + 1)
  workAll(index)
  return index
}

/** What was wanted and what of it was found, over several searches. */
export class Recall {
  wanted = 0
  /** Hits that are among the best, or so close that codes cannot tell. */
  found = 0

  get share(): number {
    return this.wanted === 0 ? 1 : this.found / this.wanted
  }
}

/**
 * Searches, and checks all that every engine owes: as many hits as there are, each live, allowed and named
 * once, best first and of equals the higher slot, with a score that is the vector's. Adds to `recall`. `best` is what the
 * oracle says, for who has asked it before.
 */
export const expectSound = (
  index: IndexUnderTest,
  oracle: Oracle,
  query: Float32Array,
  k: number,
  allowed: Bitmap | undefined,
  recall = new Recall(),
  best = oracle.best(query, k, allowed)
): Recall => {
  const { scores, slots } = index.search(query, k, allowed)
  expect(slots.length, `hits of ${k} wanted, ${index.size} live`).toBe(best.length)
  expect(scores.length).toBe(slots.length)
  const named = new Set(slots)
  expect(named.size, "slots named once").toBe(slots.length)
  for (let at = 0; at < slots.length; at++) {
    const [slot, score] = [slots[at]!, scores[at]!]
    const where = `slot ${slot} at rank ${at}`
    if (!oracle.rows.has(slot)) expect.fail(`${where} holds nothing`)
    if (allowed !== undefined && !allowed.has(slot)) expect.fail(`${where} is not allowed`)
    const right = oracle.score(slot, query)
    if (!(Math.abs(score - right) <= scoreErrorMax)) expect.fail(`${where} scores ${score}, its vector ${right}`)
    const [slotBefore, scoreBefore] = at === 0 ? [-1, Infinity] : [slots[at - 1]!, scores[at - 1]!]
    if (!(scoreBefore > score || (scoreBefore === score && slotBefore > slot)))
      expect.fail(`${where} with ${score} stands behind slot ${slotBefore} with ${scoreBefore}`)
    if (right >= best.at(-1)!.score - differenceErrorUsual) recall.found++
  }
  recall.wanted += best.length
  return recall
}
