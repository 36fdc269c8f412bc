/**
 * How late the event loop runs what is due, measured by ticks. Node has a monitor of it, whose timer wakes a machine at
 * rest a hundred times a second; here a loop that is at rest ticks ten times a second, and counts as on time in between.
 * So the percentiles stay those of ticks every 10 ms. Only a turn of less than 100 ms can go unseen, after a rest.
 */
import { createHistogram, performance } from "node:perf_hooks"

const tickMillis = 10
const restingTickMillis = 100
/** Ticks of a loop at work before it is asked again whether it rests. */
const busyTicks = 100
/** Share of its time in which a loop at rest does something: the ticks at work take some .01. */
const restingShareMax = 0.05
/** The histogram takes no 0. */
const onTimeNanos = 1

export class LoopDelay {
  readonly #late = createHistogram()
  #utilization = performance.eventLoopUtilization()
  #isResting = false
  #ticksUntilAsked = busyTicks
  #dueMillis = 0
  #timer = this.#wait()

  /** Seconds by which ticks were late since the last reading, at the 99th percentile and at most; 0 before the first. */
  read(): { readonly p99Seconds: number; readonly maxSeconds: number } {
    const read = { p99Seconds: this.#late.percentile(99) / 1e9, maxSeconds: this.#late.max / 1e9 }
    this.#late.reset()
    return read
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #wait(): NodeJS.Timeout {
    const millis = this.#isResting ? restingTickMillis : tickMillis
    this.#dueMillis = performance.now() + millis
    return setTimeout(() => this.#tick(), millis).unref()
  }

  #tick(): void {
    const lateMillis = performance.now() - this.#dueMillis
    this.#late.record(Math.max(onTimeNanos, Math.round(lateMillis * 1e6)))
    if (this.#isResting) {
      for (let unseen = tickMillis; unseen < restingTickMillis; unseen += tickMillis) this.#late.record(onTimeNanos)
    }
    if (this.#isResting || --this.#ticksUntilAsked === 0) this.#ask()
    this.#timer = this.#wait()
  }

  #ask(): void {
    const now = performance.eventLoopUtilization()
    this.#isResting = performance.eventLoopUtilization(now, this.#utilization).utilization < restingShareMax
    this.#utilization = now
    this.#ticksUntilAsked = busyTicks
  }
}
