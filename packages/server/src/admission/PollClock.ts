/**
 * Time at which the event loop last looked at its sockets. A turn that takes long, or a machine without processor time,
 * keeps bytes in the kernel that have arrived in time: what is late must not be judged before the next look.
 */
import { Effect, Schedule, type Scope } from "effect"
import { Rounds } from "@muniment/worker/Rounds"
import { afterPoll } from "./Turnstile.ts"

const roundMillis = 250

export class PollClock {
  readonly nowMillis: () => number
  #polledMillis: number

  constructor(nowMillis: () => number) {
    this.nowMillis = nowMillis
    this.#polledMillis = nowMillis()
  }

  /**
   * Whole milliseconds since the loop was last seen to look at its sockets; in a free loop up to a quarter of a second.
   */
  get unpolledMillis(): number {
    return Math.ceil(this.nowMillis() - this.#polledMillis)
  }

  /** Looks until the scope closes. */
  readonly watch: Effect.Effect<void, never, Scope.Scope> = Rounds.add({
    name: "looks at sockets",
    schedule: Schedule.spaced(roundMillis),
    work: Effect.andThen(
      Effect.callback<void>((resume) => afterPoll(() => resume(Effect.void))),
      Effect.sync(() => void (this.#polledMillis = this.nowMillis()))
    ),
    isCut: true
  })
}
