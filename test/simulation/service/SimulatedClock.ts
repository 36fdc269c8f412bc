/** Time that moves only when the simulator says so. */
import { type Clock, Duration, Effect } from "effect"

interface Timer {
  readonly at: number
  readonly resume: () => void
}

export class SimulatedClock implements Clock.Clock {
  #now: number
  #timers: Array<Timer> = []

  constructor(startMillis: number) {
    this.#now = startMillis
  }

  /** When the next sleeper wakes. */
  get next(): number | undefined {
    return this.#timers[0]?.at
  }

  /** Wakes the sleepers on the way, in order of their times, and waits for what follows from each. */
  async advanceTo(millis: number, settle: () => Promise<void>): Promise<void> {
    for (let timer = this.#timers[0]; timer !== undefined && timer.at <= millis; timer = this.#timers[0]) {
      this.#timers.shift()
      this.#now = Math.max(this.#now, timer.at)
      timer.resume()
      await settle()
    }
    this.#now = Math.max(this.#now, millis)
  }

  /** Time passes and nobody wakes before it has. */
  jumpTo(millis: number): void {
    this.#now = Math.max(this.#now, millis)
  }

  /** The process has ended, and with it all that slept. */
  forget(): void {
    this.#timers = []
  }

  currentTimeMillisUnsafe(): number {
    return this.#now
  }

  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.#now) * 1_000_000n
  }

  monotonicTimeNanosUnsafe(): bigint {
    return this.currentTimeNanosUnsafe()
  }

  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Math.ceil(Duration.toMillis(duration))
    if (!Number.isFinite(millis)) return Effect.never
    return Effect.callback((resume) => {
      const timer = { at: this.#now + Math.max(0, millis), resume: () => resume(Effect.void) }
      const after = this.#timers.findIndex(({ at }) => at > timer.at)
      this.#timers.splice(after < 0 ? this.#timers.length : after, 0, timer)
      return Effect.sync(() => {
        this.#timers = this.#timers.filter((one) => one !== timer)
      })
    })
  }
}
