/**
 * Limit of requests of one kind that may be in work at once. More than the service can work on at the same time only
 * wait inside it, where nothing is fair; fewer leave it idle, or have it commit one by one what could share a sync. So
 * the limit follows what is measured: it grows while requests wait and what it has gained in throughput, compared with
 * few in work, is worth the longer time that each takes; else it shrinks (additive increase, multiplicative decrease).
 * Work that only shares the event loop gains nothing and gets few places, writes that share commits get many. The time
 * with few in work is measured anew every few seconds of full load (as BBR does with its least round trip). Time without
 * a processor is taken off before anything is compared: it comes from other processes, not from the number in work.
 */
import { Limits } from "@muniment/domain/Limits"

/** Completions, and time, after which the limit is looked at. */
const windowCount = 8
const windowMillis = 50
/** Times as long as with few in work that requests may take for no gain in throughput. */
const slownessMax = 1.5
/** For a gain, the time may grow with its square, up to this many times: others wait for it too. */
const slownessForGainMax = 2.5
/** Factor by which the time with few in work may rise between measurements: a disturbance is soon over. */
const riseMax = 1.25
/** The same from one window to the next while the limit is at its least, which lasts. */
const leastRiseMax = 2
/** Shorter times in work never shrink the limit: they are no wait that anybody notices. */
const unnoticedMillis = 5
const decrease = 0.9
/** Time of full load between measurements with few in work. */
const probeEveryMillis = 5_000
/** Weight of the last window in the moving average. */
const averageShare = 0.2
const firstLimit = 8

interface Window {
  startedMillis: number
  count: number
  cost: number
  millis: number
}

export interface WorkLimitOptions {
  /** Places that are always there; default `Limits.workMin`. */
  readonly least?: number
  /** Share of the time, lately, in which work had no processor (`ProcessorWait.ts`); default none. */
  readonly waitingShare?: () => number
}

export class WorkLimit {
  readonly #least: number
  readonly #waitingShare: () => number
  #limit: number
  #inWork = 0
  #wasFull = false
  #few: number | undefined
  /** Average time of one unit of work. */
  #average = unnoticedMillis / 4
  #window: Window = { startedMillis: 0, count: 0, cost: 0, millis: 0 }
  #probedMillis = Number.NEGATIVE_INFINITY
  /** "emptying": those from before the probe have to end first. */
  #probe: "none" | "emptying" | "measuring" = "none"

  constructor({ least = Limits.workMin, waitingShare = () => 0 }: WorkLimitOptions = {}) {
    this.#least = least
    this.#waitingShare = waitingShare
    this.#limit = Math.max(firstLimit, least)
  }

  get inWork(): number {
    return this.#inWork
  }

  get limit(): number {
    return this.#probe === "none" ? Math.floor(this.#limit) : this.#least
  }

  get hasRoom(): boolean {
    return this.#inWork < this.limit
  }

  begin(): void {
    this.#inWork += 1
    if (!this.hasRoom) this.#wasFull = true
  }

  /** `millis`: time in work; undefined for what was abandoned, which says nothing. */
  end(cost: number, millis: number | undefined, nowMillis: number): void {
    this.#inWork -= 1
    if (millis === undefined) return
    const window = this.#window
    if (window.count === 0) window.startedMillis = nowMillis
    window.count += 1
    window.cost += cost
    window.millis += millis
    if (window.count >= windowCount && nowMillis - window.startedMillis >= windowMillis) this.#look(nowMillis)
  }

  /** Units of work that are done a second when all places are taken. */
  get perSecond(): number {
    return (1_000 * Math.floor(this.#limit)) / this.#average
  }

  /** Until `cost` units that wait are in work, if all places are taken. */
  waitMillis(cost: number): number {
    return this.hasRoom && cost === 0 ? 0 : ((cost + 1) * this.#average) / Math.floor(this.#limit)
  }

  #look(nowMillis: number): void {
    const mean = this.#window.millis / this.#window.cost
    const worked = mean * (1 - this.#waitingShare())
    if (this.#probe === "emptying") this.#probe = "measuring"
    else if (this.#probe === "measuring") this.#endProbe(worked, nowMillis)
    else {
      this.#average += (mean - this.#average) * averageShare
      this.#adjust(worked, nowMillis)
    }
    this.#wasFull = !this.hasRoom
    this.#window = { startedMillis: nowMillis, count: 0, cost: 0, millis: 0 }
  }

  #endProbe(mean: number, nowMillis: number): void {
    this.#learnFew(mean, riseMax)
    this.#probedMillis = nowMillis
    this.#probe = "none"
  }

  #learnFew(mean: number, rise: number): void {
    this.#few = Math.min(mean, (this.#few ?? mean) * rise)
  }

  #adjust(mean: number, nowMillis: number): void {
    // Measured with few in work, though not by a probe: an older, shorter time would keep the limit here.
    if (this.#wasFull && this.limit === this.#least) this.#learnFew(mean, leastRiseMax)
    if (mean > Math.max(unnoticedMillis, this.#worthMillis(mean))) {
      this.#limit = Math.max(this.#least, this.#limit * decrease)
    } else if (this.#wasFull) this.#limit = Math.min(Limits.workMax, this.#limit + 1)
    if (this.#wasFull && nowMillis - this.#probedMillis >= probeEveryMillis) this.#probe = "emptying"
  }

  /** The time in work that the throughput is worth. */
  #worthMillis(mean: number): number {
    const few = this.#few ?? mean
    const gain = this.#few === undefined ? 1 : ((this.#limit / mean) * few) / this.#least
    return few * Math.min(slownessForGainMax, slownessMax * Math.max(1, gain) ** 2)
  }
}
