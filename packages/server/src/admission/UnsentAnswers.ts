/**
 * Answers that are made and that their callers have not taken yet. Their work is done, so they hold no place in a lane;
 * they hold memory. An account with more than `Limits.accountAnswersBytesMax` of them begins nothing more. Of all
 * together more than `Limits.answersBytesMax` is never kept: the oldest is cut off with its connection, and so is each
 * that was not taken within `Limits.answerMillisMax`, or who does not read would hold it for as long as they like.
 */
import { Limits } from "@muniment/domain/Limits"

export interface UnsentAnswer {
  readonly account: string
  /** Bytes left when the answer was made; they count until the answer is taken whole. */
  readonly bytes: number
  readonly sinceMillis: number
  /** Ends its connection. */
  readonly cut: () => void
}

export class UnsentAnswers {
  /** Oldest first. */
  readonly #answers = new Map<unknown, UnsentAnswer>()
  readonly #bytesOf = new Map<string, number>()
  #bytes = 0
  #cuts = 0

  get bytes(): number {
    return this.#bytes
  }

  /** Answers that were cut off. */
  get cuts(): number {
    return this.#cuts
  }

  /** Whether the account has to take some before it may ask for more. */
  isFull(account: string): boolean {
    return (this.#bytesOf.get(account) ?? 0) > Limits.accountAnswersBytesMax
  }

  /** Until `taken` of the same key. The newest one always has room. */
  add(key: unknown, answer: UnsentAnswer): void {
    this.#answers.set(key, answer)
    this.#change(answer.account, answer.bytes)
    for (const [oldest, { cut }] of this.#answers) {
      if (this.#bytes <= Limits.answersBytesMax || oldest === key) return
      this.#cutOff(oldest, cut)
    }
  }

  /** The answer was taken whole, or its caller is gone. */
  taken(key: unknown): void {
    const answer = this.#answers.get(key)
    if (answer === undefined) return
    this.#answers.delete(key)
    this.#change(answer.account, -answer.bytes)
  }

  /** For a round in the background. */
  cutOverdue(nowMillis: number): void {
    for (const [key, { cut, sinceMillis }] of this.#answers) {
      if (nowMillis - sinceMillis <= Limits.answerMillisMax) return
      this.#cutOff(key, cut)
    }
  }

  #cutOff(key: unknown, cut: () => void): void {
    this.taken(key)
    this.#cuts += 1
    cut()
  }

  #change(account: string, bytes: number): void {
    this.#bytes += bytes
    const left = (this.#bytesOf.get(account) ?? 0) + bytes
    if (left === 0) this.#bytesOf.delete(account)
    else this.#bytesOf.set(account, left)
  }
}
