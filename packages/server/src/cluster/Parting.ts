/** Durations of the parts of a planned end, in one line of the log. Nothing is said of an end that has not begun. */
import { Clock, Effect } from "effect"

export class Parting {
  readonly #sentence: string
  #atMillis: number | undefined
  readonly #parts: Record<string, number> = {}

  constructor(sentence: string) {
    this.#sentence = sentence
  }

  readonly begin = Effect.map(Clock.currentTimeMillis, (nowMillis) => void (this.#atMillis = nowMillis))

  /** The end of a part that began with the end of the one before. */
  mark(part: string): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (nowMillis) => {
      if (this.#atMillis === undefined) return
      this.#parts[part] = nowMillis - this.#atMillis
      this.#atMillis = nowMillis
    })
  }

  /** With the last part. */
  end(part: string): Effect.Effect<void> {
    return Effect.andThen(
      this.mark(part),
      Effect.suspend(() => (this.#atMillis === undefined ? Effect.void : Effect.logInfo(this.#sentence, this.#parts)))
    )
  }
}
