/**
 * Which passages are stored when: the same for every contestant, so that all hold the same after each
 * job. A request stores memories of one subject, and subjects change with every `batchSize` passages.
 */
import { batchSize, type Passage } from "./Corpus.ts"

export interface Sizes {
  readonly rounds: number
  /** Batches that are stored before the rounds, in as many parts as there are rounds. */
  readonly importBatches: number
  /** Single memories of a round, by the number of callers at once. */
  readonly singles: ReadonlyArray<readonly [callers: number, count: number]>
  /** Searches of a round, by the number of callers at once. */
  readonly searches: ReadonlyArray<readonly [callers: number, count: number]>
  readonly filtered: ReadonlyArray<readonly [callers: number, count: number]>
  /** Batches that arrive while a caller searches, in each round. */
  readonly mixedBatches: number
}

export interface RoundPlan {
  readonly imports: ReadonlyArray<ReadonlyArray<Passage>>
  /** In the order of `Sizes.singles`. */
  readonly singles: ReadonlyArray<ReadonlyArray<Passage>>
  readonly mixed: ReadonlyArray<ReadonlyArray<Passage>>
}

export const passagesOf = ({ importBatches, mixedBatches, rounds, singles }: Sizes): number =>
  (importBatches + mixedBatches * rounds) * batchSize + rounds * singles.reduce((sum, [, count]) => sum + count, 0)

export const planOf = (sizes: Sizes, passages: ReadonlyArray<Passage>): ReadonlyArray<RoundPlan> => {
  const { importBatches, mixedBatches, rounds, singles } = sizes
  if (passages.length < passagesOf(sizes)) throw new Error(`${passagesOf(sizes)} passages are needed`)
  const batchCount = importBatches + mixedBatches * rounds
  const alone = passages.slice(batchCount * batchSize)
  const batches = batched(passages.slice(0, batchCount * batchSize))
  let next = 0
  return Array.from({ length: rounds }, (_, round) => ({
    imports: batches.slice(share(importBatches, round, rounds), share(importBatches, round + 1, rounds)),
    mixed: batches.slice(importBatches + round * mixedBatches, importBatches + (round + 1) * mixedBatches),
    singles: singles.map(([, count]) => alone.slice(next, (next += count)))
  }))
}

const share = (total: number, round: number, rounds: number): number => Math.floor((total * round) / rounds)

const batched = (passages: ReadonlyArray<Passage>): ReadonlyArray<ReadonlyArray<Passage>> =>
  Array.from({ length: passages.length / batchSize }, (_, at) => passages.slice(at * batchSize, (at + 1) * batchSize))
