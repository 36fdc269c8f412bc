/**
 * Histograms of the margins that training queries needed, per filter selectivity and result count: by how much the
 * centroid score of each hit's list lay below the score of the last hit. A quantile of a histogram is the margin with
 * which that share of the hits is found.
 */

/** Result counts with a margin of their own. Margins fall with k, so a k between two counts takes the smaller one's. */
export const resultCounts = [10, 32, 100, 320, 1_000] as const
export const resultsMax = resultCounts[resultCounts.length - 1]!
/** Width of a histogram's bins; margins above `marginMax` count as unbounded. */
const marginStep = 1 / 256
const marginMax = 1
/** Queries whose centroid scores are kept to estimate the number of probes. */
const samplesMax = 32

/** The hits of one query behind one filter, best first. */
export interface SampledAnswer {
  readonly scores: Float32Array
  /** Centroid score of each hit's list. */
  readonly centroidScores: Float32Array
}

/** By selectivity, then by result count. */
export type BySelectivity = ReadonlyArray<ReadonlyArray<number>>

interface Sample {
  /** Of all lists. */
  readonly centroidScores: Float32Array
  readonly lastScores: BySelectivity
}

export class LearnedMargin {
  queries = 0
  readonly #histograms: ReadonlyArray<ReadonlyArray<Uint32Array>>
  readonly #samples: Array<Sample> = []

  constructor(selectivities: number) {
    this.#histograms = Array.from({ length: selectivities }, () =>
      resultCounts.map(() => new Uint32Array(marginMax / marginStep + 1))
    )
  }

  /** One query's answers by selectivity, and its centroid scores of all lists. */
  add(answers: ReadonlyArray<SampledAnswer>, centroidScores: Float32Array): void {
    this.queries++
    const lastScores = answers.map(({ scores }) =>
      resultCounts.map((results) => scores[Math.min(results, scores.length) - 1] ?? 0)
    )
    for (const [selectivity, answer] of answers.entries()) {
      for (const [at, results] of resultCounts.entries()) {
        const histogram = this.#histograms[selectivity]![at]!
        for (const centroidScore of answer.centroidScores.subarray(0, results)) {
          const bin = Math.ceil((lastScores[selectivity]![at]! - centroidScore) / marginStep)
          histogram[Math.min(Math.max(bin, 0), histogram.length - 1)]!++
        }
      }
    }
    if (this.#samples.length < samplesMax) this.#samples.push({ centroidScores, lastScores })
  }

  /** The smallest margins that find this share of the hits. */
  margins(share: number): BySelectivity {
    return this.#histograms.map((counts) =>
      counts.map((histogram) => {
        const wanted = histogram.reduce((sum, hits) => sum + hits, 0) * share
        let held = 0
        const bin = histogram.findIndex((hits) => (held += hits) >= wanted)
        return bin === histogram.length - 1 ? Infinity : bin * marginStep
      })
    )
  }

  /** Mean number of lists within the margins. */
  meanProbes(margins: BySelectivity): BySelectivity {
    const meanOf = (selectivity: number, at: number, margin: number): number => {
      const probes = this.#samples.map(({ centroidScores, lastScores }) => {
        const least = lastScores[selectivity]![at]! - margin
        return centroidScores.reduce((lists, score) => lists + (score >= least ? 1 : 0), 0)
      })
      return Math.ceil(probes.reduce((sum, lists) => sum + lists, 0) / Math.max(1, probes.length))
    }
    return margins.map((counts, selectivity) => counts.map((margin, at) => meanOf(selectivity, at, margin)))
  }
}
