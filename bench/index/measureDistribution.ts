/**
 * Recall and cost of the default search and of `recall=strict` on sets whose nearest vectors 8-bit scores order wrongly
 * (`distributions.ts`, and real texts), by k and behind filters, beside hnswlib-node at recall@10 of .99.
 *
 * All searches of a set take turns in the same rounds; each was compared with the truth before.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { type Contestant, interleaved, median, timed } from "../kit/Measure.ts"
import type { Contender } from "./Contender.ts"
import { hnswlib } from "./contenders/hnswlib.ts"
import { StrictIndex } from "./contenders/strict.ts"
import { recallGoal } from "./search.ts"
import { recallOf, type Truth, truthOf } from "./Truth.ts"
import { filterOf, practiceOf, queriesOf, rowOf, type VectorSet } from "./VectorSet.ts"

/** A search by the default and by certificate. */
export interface StrictRow {
  readonly k: number
  /** Share that the filter lets through; 1 without one. */
  readonly share: number
  readonly autoRecall: number
  readonly strictRecall: number
  readonly certifiedShare: number
  readonly autoMicros: number
  readonly strictMicros: number
  /** Strict by auto, in the same round. */
  readonly costRatio: number
}

export interface DistributionFigures {
  readonly set: Pick<VectorSet, "name" | "count">
  readonly rows: ReadonlyArray<StrictRow>
  /** Strict, k 10, through a connection that has read nothing yet. */
  readonly freshMicros: number
  /** hnswlib-node at its least ef with recall@10 of .99, or at its largest. */
  readonly peer: { readonly recall: number; readonly width: number; readonly micros: number; readonly ratio: number }
}

export interface DistributionEffort {
  readonly rounds: number
  readonly operations: number
}

const searches = [
  { k: 10, share: 1 },
  { k: 40, share: 1 },
  { k: 100, share: 1 },
  { k: 10, share: 0.1 },
  { k: 10, share: 0.01 }
] as const
const peerDepth = 10
const workMillis = 1_000
const warmup = 5
const addedAtOnce = 1_000

export const measureDistribution = async (
  set: VectorSet,
  effort: DistributionEffort
): Promise<DistributionFigures | { readonly reason: string }> => {
  const directory = await mkdtemp(join(tmpdir(), "muniment-bench-strict-"))
  const strict = new StrictIndex(set.dims, directory)
  try {
    const { attributes, count, dims } = set
    const peer = await hnswlib.open({ dims, capacity: count, directory, attributes })
    await fill(set, strict, peer)
    return await measured(set, strict, peer, effort)
  } catch (cause) {
    return { reason: cause instanceof Error ? cause.message : String(cause) }
  } finally {
    strict.close()
    await rm(directory, { recursive: true, force: true })
  }
}

const fill = async (set: VectorSet, strict: StrictIndex, peer: Contender): Promise<void> => {
  for (let from = 0; from < set.count; from += addedAtOnce) {
    const slots = Array.from({ length: Math.min(addedAtOnce, set.count - from) }, (_, at) => from + at)
    const vectors = slots.map((slot) => rowOf(set, slot))
    strict.put(slots, vectors)
    await peer.add(from, vectors)
  }
  settle(strict)
  for (const query of practiceOf(set)) strict.index.search(query, peerDepth, undefined)
  settle(strict)
}

const settle = ({ index }: StrictIndex): void => {
  while (index.work(workMillis, () => performance.now()) > 0);
}

const measured = async (
  set: VectorSet,
  strict: StrictIndex,
  peer: Contender,
  { operations, rounds }: DistributionEffort
): Promise<DistributionFigures> => {
  const queries = queriesOf(set)
  const asked = searches.map(({ k, share }) => {
    const allowed = share === 1 ? undefined : filterOf(set, "chance", share).allowed
    return { allowed, verified: { k, share, ...verified(set, strict, k, allowed) } }
  })
  const found = widthOf(set, peer, truthOf(set, peerDepth))
  const contestants: ReadonlyArray<Contestant> = [
    ...asked.flatMap(({ allowed, verified: { k } }): ReadonlyArray<Contestant> => [
      { name: "auto", run: (turn) => strict.searchByDefault(queries[turn % queries.length]!, k, allowed) },
      { name: "strict", run: (turn) => strict.search(queries[turn % queries.length]!, k, allowed) }
    ]),
    { name: "peer", run: (turn) => peer.search(queries[turn % queries.length]!, peerDepth, found.width) }
  ]
  const timings = await interleaved(contestants, { rounds, operations, warmup })
  const strictFirst = timings[1]!
  const last = timings.at(-1)!
  return {
    set: { name: set.name, count: set.count },
    rows: asked.map(({ verified: row }, at) => {
      const [auto, certain] = [timings[2 * at]!, timings[2 * at + 1]!]
      return {
        ...row,
        autoMicros: auto.p50Micros,
        strictMicros: certain.p50Micros,
        costRatio: ratioOf(certain.roundMicros, auto.roundMicros)
      }
    }),
    freshMicros: await freshMicros(strict, queries),
    peer: { ...found, micros: last.p50Micros, ratio: ratioOf(last.roundMicros, strictFirst.roundMicros) }
  }
}

const ratioOf = (left: ReadonlyArray<number>, right: ReadonlyArray<number>): number =>
  median(left.map((micros, round) => micros / right[round]!))

const verified = (set: VectorSet, strict: StrictIndex, k: number, allowed: Bitmap | undefined) => {
  const truth = truthOf(set, k, allowed)
  const answers = queriesOf(set).map((query) => strict.search(query, k, allowed))
  const auto = queriesOf(set).map((query) => strict.searchByDefault(query, k, allowed))
  return {
    autoRecall: recallOf(truth, auto),
    strictRecall: recallOf(
      truth,
      answers.map(({ slots }) => slots)
    ),
    certifiedShare: answers.filter(({ isCertified }) => isCertified).length / answers.length
  }
}

/** The least width that reaches the recall, else the largest. */
const widthOf = (set: VectorSet, peer: Contender, truth: Truth) => {
  let best = { recall: 0, width: 0 }
  for (const width of peer.knob.values) {
    const answers = queriesOf(set).map((query) => peer.search(query, peerDepth, width))
    if (answers.some((answer) => answer instanceof Promise)) throw new Error("hnswlib-node answers at once")
    best = { recall: recallOf(truth, answers as ReadonlyArray<ArrayLike<number>>), width }
    if (best.recall >= recallGoal) break
  }
  return best
}

const freshMicros = async (strict: StrictIndex, queries: ReadonlyArray<Float32Array>): Promise<number> => {
  const times: Array<number> = []
  for (const query of queries) {
    strict.reconnect()
    times.push((await timed(() => strict.search(query, peerDepth, undefined))).millis * 1_000)
  }
  return median(times)
}
