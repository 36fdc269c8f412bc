/**
 * What the queries that were answered in full have needed: for each width of filter and each number of results,
 * how far below the last hit's score the centres of the hits' lists lay, as histograms.
 */

/** Numbers of results that a reach is learned for; it falls with their number, so that of the next smaller one serves. */
export const resultCounts = [10, 32, 100, 320, 1_000] as const
export const resultsMax = resultCounts[resultCounts.length - 1]!
/** Learned in steps of this much; beyond the most, nothing is left out. */
const reachStep = 1 / 256
const reachMax = 1
/** Queries whose lists are counted. */
const samplesMax = 32

/** A query's hits behind one filter, the best first. */
export interface Answered {
  readonly scores: Float32Array
  /** Centre of each hit's list. */
  readonly centres: Float32Array
}

interface Sample {
  /** Centres of all lists. */
  readonly centres: Float32Array
  /** The score of the last hit by filter and by result count. */
  readonly worst: ReadonlyArray<ReadonlyArray<number>>
}

/** By filter, then by result count. */
export type PerFilter = ReadonlyArray<ReadonlyArray<number>>

export class LearnedReach {
  queries = 0
  readonly #gaps: ReadonlyArray<ReadonlyArray<Uint32Array>>
  readonly #samples: Array<Sample> = []

  constructor(filters: number) {
    this.#gaps = Array.from({ length: filters }, () =>
      resultCounts.map(() => new Uint32Array(reachMax / reachStep + 1))
    )
  }

  /** One query's answers by filter, and the centres of all lists. */
  add(answers: ReadonlyArray<Answered>, centres: Float32Array): void {
    this.queries++
    const worst = answers.map(({ scores }) =>
      resultCounts.map((results) => scores[Math.min(results, scores.length) - 1] ?? 0)
    )
    for (const [filter, answer] of answers.entries()) {
      for (const [at, results] of resultCounts.entries()) {
        const gaps = this.#gaps[filter]![at]!
        for (const centre of answer.centres.subarray(0, results)) {
          const step = Math.ceil((worst[filter]![at]! - centre) / reachStep)
          gaps[Math.min(Math.max(step, 0), gaps.length - 1)]!++
        }
      }
    }
    if (this.#samples.length < samplesMax) this.#samples.push({ centres, worst })
  }

  /** The least reach that finds this share of the hits. */
  reaches(share: number): PerFilter {
    return this.#gaps.map((counts) =>
      counts.map((gaps) => {
        const wanted = gaps.reduce((sum, hits) => sum + hits, 0) * share
        let held = 0
        const step = gaps.findIndex((hits) => (held += hits) >= wanted)
        return step === gaps.length - 1 ? Infinity : step * reachStep
      })
    )
  }

  /** Lists that lie within the reaches, on average. */
  probes(reaches: PerFilter): PerFilter {
    const meanOf = (filter: number, at: number, reach: number): number => {
      const within = this.#samples.map(({ centres, worst }) => {
        const least = worst[filter]![at]! - reach
        return centres.reduce((lists, centre) => lists + (centre >= least ? 1 : 0), 0)
      })
      return Math.ceil(within.reduce((sum, lists) => sum + lists, 0) / Math.max(1, within.length))
    }
    return reaches.map((counts, filter) => counts.map((reach, at) => meanOf(filter, at, reach)))
  }
}
