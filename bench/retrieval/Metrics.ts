/** Recall, nDCG and reciprocal rank of evidence turns, averaged over questions. */

export interface Metrics {
  readonly questions: number
  readonly recall5: number
  readonly recall10: number
  readonly ndcg10: number
  readonly reciprocalRank: number
}

export class MetricsSum {
  #questions = 0
  #recall5 = 0
  #recall10 = 0
  #ndcg10 = 0
  #reciprocalRank = 0

  /** `ranking`: slots, best first; the first ten count. */
  add(ranking: ReadonlyArray<number>, evidence: ReadonlySet<number>): void {
    let found5 = 0
    let found10 = 0
    let gain = 0
    let first = 0
    for (const [place, slot] of ranking.slice(0, 10).entries()) {
      if (!evidence.has(slot)) continue
      if (place < 5) found5++
      found10++
      gain += discount(place)
      if (first === 0) first = 1 / (place + 1)
    }
    let ideal = 0
    for (let place = 0; place < Math.min(10, evidence.size); place++) ideal += discount(place)
    this.#questions++
    this.#recall5 += found5 / evidence.size
    this.#recall10 += found10 / evidence.size
    this.#ndcg10 += gain / ideal
    this.#reciprocalRank += first
  }

  mean(): Metrics {
    const questions = this.#questions
    return {
      questions,
      recall5: this.#recall5 / questions,
      recall10: this.#recall10 / questions,
      ndcg10: this.#ndcg10 / questions,
      reciprocalRank: this.#reciprocalRank / questions
    }
  }
}

const discount = (place: number): number => 1 / Math.log2(place + 2)
