/**
 * Makes memory ids. Invariant: ids of one process never repeat and sort in the order of their creation, also within
 * a millisecond and when the clock steps back (RFC 9562 section 6.2, method 1).
 */
import { Clock, Effect, Random } from "effect"
import { memoryIdOf, type NamespaceTag } from "@muniment/domain/Ids"

/** The counter of a new millisecond starts in the lower half, so that it can grow. */
const counterStartMax = 1 << 25
const counterMax = (1 << 26) - 1

export class MemoryIds {
  #lastMillis = 0
  #counter = 0

  next(tag: NamespaceTag): Effect.Effect<string> {
    return Effect.map(
      Effect.all([Clock.currentTimeMillis, Random.nextIntBetween(0, counterStartMax)]),
      ([now, start]) => {
        if (now > this.#lastMillis) {
          this.#lastMillis = now
          this.#counter = start
        } else if (this.#counter < counterMax) this.#counter++
        else {
          this.#lastMillis++
          this.#counter = start
        }
        return memoryIdOf(this.#lastMillis, this.#counter, tag)
      }
    )
  }
}
