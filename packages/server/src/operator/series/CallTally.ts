/** Calls since a step of the series began: how many, how they ended, how long they took. */
import { clientLeft } from "@muniment/domain/Operations"
import { LatencyCounts } from "./LatencyCounts.ts"

export class CallTally {
  calls = 0
  errors = 0
  refused = 0
  readonly latency = new LatencyCounts()

  add(status: number, millis: number): void {
    this.calls += 1
    if (status === clientLeft) return
    if (status >= 500) this.errors += 1
    else if (status === 429) this.refused += 1
    this.latency.add(millis)
  }

  take(from: CallTally): void {
    this.calls += from.calls
    this.errors += from.errors
    this.refused += from.refused
    this.latency.addAll(from.latency)
    from.clear()
  }

  clear(): void {
    this.calls = 0
    this.errors = 0
    this.refused = 0
    this.latency.clear()
  }
}
