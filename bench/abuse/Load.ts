/** Two ways to load a service: as fast as it answers (closed loop), and at a rate whatever it answers (open loop). */
import { quantile } from "../kit/Measure.ts"
import type { Reply, Wire } from "./Wire.ts"

export type NextRequest = () => Buffer

export interface Tally {
  readonly seconds: number
  readonly sent: number
  /** Answers with 2xx, a second. */
  readonly goodput: number
  readonly servedMillis: ReadonlyArray<number>
  /** Of every request, from the time for which it was planned to its writing: high if the generator was late. */
  readonly lagMillis: ReadonlyArray<number>
  /** 429 and 503. */
  readonly refusedMillis: ReadonlyArray<number>
  readonly refusedWithoutRetryAfter: number
  /** Other statuses and broken connections, by status. */
  readonly others: ReadonlyMap<number, number>
}

export const p50 = (millis: ReadonlyArray<number>): number => quantile(millis, 0.5)
export const p99 = (millis: ReadonlyArray<number>): number => quantile(millis, 0.99)

class Count {
  readonly served: Array<number> = []
  readonly refused: Array<number> = []
  readonly lags: Array<number> = []
  readonly others = new Map<number, number>()
  sent = 0
  withoutRetryAfter = 0

  add({ hasRetryAfter, lagMillis, millis, status }: Reply): void {
    this.lags.push(lagMillis)
    if (status >= 200 && status < 300) this.served.push(millis)
    else if (status === 429 || status === 503) {
      this.refused.push(millis)
      if (!hasRetryAfter) this.withoutRetryAfter += 1
    } else this.others.set(status, (this.others.get(status) ?? 0) + 1)
  }

  tally(seconds: number, servedInTime: number): Tally {
    return {
      seconds,
      sent: this.sent,
      goodput: servedInTime / seconds,
      servedMillis: this.served,
      lagMillis: this.lags,
      refusedMillis: this.refused,
      refusedWithoutRetryAfter: this.withoutRetryAfter,
      others: this.others
    }
  }
}

/** `callers` requests under way at any time; a refused one waits a moment, as a polite client does. */
export const closedLoop = async (wire: Wire, next: NextRequest, callers: number, seconds: number): Promise<Tally> => {
  const count = new Count()
  const endMillis = performance.now() + seconds * 1_000
  const caller = async () => {
    while (performance.now() < endMillis) {
      count.sent += 1
      const reply = await wire.send(next())
      count.add(reply)
      if (reply.status === 429 || reply.status === 503) await pause(politeMillis)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return count.tally(seconds, count.served.length)
}

/**
 * Requests arrive evenly at `perSecond`, whatever became of earlier ones. The goodput counts what was served while they
 * arrived; times and refusals count all of them.
 */
export const openLoop = async (wire: Wire, next: NextRequest, perSecond: number, seconds: number): Promise<Tally> => {
  const count = new Count()
  const startedMillis = performance.now()
  const underWay = new Set<Promise<void>>()
  const total = Math.round(perSecond * seconds)
  while (count.sent < total) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedMillis) / 1_000) * perSecond))
    while (count.sent < due) {
      const dueMillis = startedMillis + (count.sent / perSecond) * 1_000
      count.sent += 1
      const reply = wire.send(next(), dueMillis).then((got) => {
        count.add(got)
        underWay.delete(reply)
      })
      underWay.add(reply)
    }
    await pause(tickMillis)
  }
  const arrivalSeconds = (performance.now() - startedMillis) / 1_000
  const servedInTime = count.served.length
  await Promise.all(underWay)
  return count.tally(arrivalSeconds, servedInTime)
}

const tickMillis = 2
const politeMillis = 50

export const pause = (millis: number): Promise<void> => new Promise((wake) => setTimeout(wake, millis))
