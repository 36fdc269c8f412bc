/** Recall, nDCG and reciprocal rank of evidence turns, averaged over questions. */

/** Places of a ranking that are looked at; nDCG and reciprocal rank end at the tenth. */
export const RANKING_DEPTH = 20

export interface Metrics {
  readonly questions: number
  readonly recall5: number
  readonly recall10: number
  readonly recall20: number
  readonly ndcg10: number
  readonly reciprocalRank: number
}

export class MetricsSum {
  #questions = 0
  #recall5 = 0
  #recall10 = 0
  #recall20 = 0
  #ndcg10 = 0
  #reciprocalRank = 0

  /** `ranking`: slots, best first; the first twenty count. */
  add(ranking: ReadonlyArray<number>, evidence: ReadonlySet<number>): void {
    let found5 = 0
    let found10 = 0
    let found20 = 0
    let gain = 0
    let first = 0
    for (const [place, slot] of ranking.slice(0, RANKING_DEPTH).entries()) {
      if (!evidence.has(slot)) continue
      found20++
      if (place >= 10) continue
      found10++
      if (place < 5) found5++
      gain += discount(place)
      if (first === 0) first = 1 / (place + 1)
    }
    let ideal = 0
    for (let place = 0; place < Math.min(10, evidence.size); place++) ideal += discount(place)
    this.#questions++
    this.#recall5 += found5 / evidence.size
    this.#recall10 += found10 / evidence.size
    this.#recall20 += found20 / evidence.size
    this.#ndcg10 += gain / ideal
    this.#reciprocalRank += first
  }

  mean(): Metrics {
    const questions = this.#questions
    return {
      questions,
      recall5: this.#recall5 / questions,
      recall10: this.#recall10 / questions,
      recall20: this.#recall20 / questions,
      ndcg10: this.#ndcg10 / questions,
      reciprocalRank: this.#reciprocalRank / questions
    }
  }
}

const discount = (place: number): number => 1 / Math.log2(place + 2)
