/**
 * Makes memory ids at ingress. Invariant: ids of one process never repeat and sort in the order they
 * were made, also within a millisecond and when the clock steps back (RFC 9562 section 6.2, method 1).
 */
import { Clock, Effect, Random } from "effect"
import { memoryIdOf, type NamespaceTag } from "@muniment/domain/Ids"

/** A fresh millisecond starts its counter in the lower half, so that it has room to grow. */
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
