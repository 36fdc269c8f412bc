/**
 * The service over time (contract: Operator routes): calls, latency, errors, growth and money, the last hour by seconds
 * in memory, a month by minutes in `series.bin`. A call costs one count; each second and minute is closed once.
 *
 * Invariant: numbers of the whole service; no account, no content.
 */
import { join } from "node:path"
import { Clock, Context, Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { toCredits } from "@muniment/domain/Money"
import { type Series, type SeriesPoint, type SeriesWindow, clientLeft } from "@muniment/domain/Operations"
import type { Ledger } from "@muniment/control/credits/Ledger"
import type { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { Payments } from "@muniment/payments/Payments"
import { Rounds } from "@muniment/worker/Rounds"
import { Admission } from "../../admission/Admission.ts"
import { chargedSinceStart } from "../../credits/ChargedCalls.ts"
import { paymentHealth } from "../../credits/PaymentHealth.ts"
import { DataDirectory } from "../../DataDirectory.ts"
import { StorageUse } from "../../memories/StorageUse.ts"
import { minuteMillis, SeriesFile, inSteps } from "./SeriesFile.ts"

/** Gauges beside the calls. */
interface SeriesGauges {
  /** Seconds of processor time, and refusals before any work, since the start of the process. */
  readonly processorSeconds: number
  readonly refused: number
  /** Millionths of a credit since the start. */
  readonly chargedMicro: number
}

interface SeriesLevels {
  readonly residentBytes: number
  readonly memories: number | null
  readonly bytes: number
  readonly receivedUsd: number
}

export class ServiceSeries extends Context.Service<
  ServiceSeries,
  {
    readonly read: (window: SeriesWindow, pointsMax: number) => Effect.Effect<Series>
  }
>()("muniment/server/ServiceSeries") {
  static readonly layer = (tally: CallTally) =>
    Layer.effect(
      this,
      Effect.gen(function* () {
        const { path } = yield* DataDirectory
        const storage = yield* StorageUse
        const { state } = yield* Admission
        const payments = yield* Effect.context<Ledger | PaymentJournal | Payments>()
        const levels = Effect.map(Effect.provide(paymentHealth, payments), ({ networks }) => ({
          residentBytes: process.memoryUsage.rss(),
          memories: storage.memories() ?? null,
          bytes: storage.known(),
          receivedUsd: networks.reduce((total, { booksUsd }) => total + booksUsd, 0)
        }))
        return yield* makeServiceSeries({
          path: join(path, "series.bin"),
          tally,
          gauges: () => {
            const { system, user } = process.cpuUsage()
            return {
              processorSeconds: (system + user) / 1e6,
              refused: state.refused.reduce((total, { count }) => total + count, 0),
              chargedMicro: chargedSinceStart()
            }
          },
          levels
        })
      })
    )
}

export interface SeriesSources {
  readonly path: string
  readonly tally: CallTally
  readonly gauges: () => SeriesGauges
  /** Read once a minute, and whenever the hour is asked for. */
  readonly levels: Effect.Effect<SeriesLevels>
}

const secondMillis = 1_000

/** Milliseconds of each window, and whether it is made of minutes. */
const windows: Readonly<Record<SeriesWindow, number>> = {
  hour: Limits.seriesSecondsKept * secondMillis,
  day: 1_440 * minuteMillis,
  week: 7 * 1_440 * minuteMillis,
  month: Limits.seriesMinutesKept * minuteMillis
}

export const makeServiceSeries = Effect.fnUntraced(function* (sources: SeriesSources) {
  const file = yield* Effect.acquireRelease(
    Effect.promise(() => SeriesFile.open(sources.path)),
    (opened) => Effect.promise(() => opened.close())
  )
  const startedAt = yield* Clock.currentTimeMillis
  const open = new OpenSteps(sources, startedAt, yield* sources.levels)
  const tick = Effect.gen(function* () {
    const minute = open.closeSecond(yield* Clock.currentTimeMillis)
    if (minute === undefined) return
    yield* Effect.try(() => file.write(minute)).pipe(
      Effect.catch(() => Effect.logWarning("a minute of the series could not be written"))
    )
    open.levels = yield* sources.levels
  })
  const nextSecond = Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(secondMillis - (now % secondMillis)))
  yield* Rounds.whenWoken({ name: "series of the service", until: nextSecond, work: tick })

  return ServiceSeries.of({
    read: Effect.fn("ServiceSeries.read")(function* (window, pointsMax) {
      const now = yield* Clock.currentTimeMillis
      const part = window === "hour" ? secondMillis : minuteMillis
      const stepMillis = Math.ceil(windows[window] / part / pointsMax) * part
      const to = Math.floor(now / part) * part
      const from = to - windows[window]
      if (window === "hour") open.levels = yield* sources.levels
      const points = window === "hour" ? open.seconds(from) : yield* Effect.promise(() => file.read(from, to))
      return { window, from, to, stepMillis, points: inSteps(points, stepMillis) }
    })
  })
})

/** The second and the minute under way, and the seconds of the last hour. */
class OpenSteps {
  levels: SeriesLevels
  readonly #sources: SeriesSources
  readonly #second: OpenStep
  readonly #minute: OpenStep
  /** Second `n` is at `n % Limits.seriesSecondsKept`. */
  readonly #ring: Array<SeriesPoint> = []

  constructor(sources: SeriesSources, nowMillis: number, levels: SeriesLevels) {
    this.#sources = sources
    this.levels = levels
    sources.tally.clear()
    const gauges = sources.gauges()
    this.#second = new OpenStep(startOf(nowMillis, secondMillis), gauges, sources.tally)
    this.#minute = new OpenStep(startOf(nowMillis, minuteMillis), gauges, new CallTally())
  }

  /** The minute that this closes, if it does. */
  closeSecond(nowMillis: number): SeriesPoint | undefined {
    const second = startOf(nowMillis, secondMillis)
    if (second === this.#second.at) return undefined
    const gauges = this.#sources.gauges()
    const closed = this.#second.point(gauges, second, this.levels)
    this.#ring[(closed.at / secondMillis) % Limits.seriesSecondsKept] = closed
    this.#minute.tally.take(this.#second.tally)
    this.#second.begin(second, gauges)
    const minute = startOf(nowMillis, minuteMillis)
    if (minute === this.#minute.at) return undefined
    const whole = this.#minute.point(gauges, second, this.levels)
    this.#minute.tally.clear()
    this.#minute.begin(minute, gauges)
    return whole
  }

  /** Oldest first; the last has the levels of now. */
  seconds(from: number): ReadonlyArray<SeriesPoint> {
    const points = this.#ring.filter(({ at }) => at >= from).toSorted((one, other) => one.at - other.at)
    const last = points.at(-1)
    return last === undefined ? [] : [...points.slice(0, -1), { ...last, ...this.levels }]
  }
}

class OpenStep {
  at: number
  readonly tally: CallTally
  #before: SeriesGauges

  constructor(at: number, before: SeriesGauges, tally: CallTally) {
    this.at = at
    this.#before = before
    this.tally = tally
  }

  begin(at: number, gauges: SeriesGauges): void {
    this.at = at
    this.#before = gauges
  }

  /** Ended before `until`, which is later by more than one step after the loop was held up. */
  point(gauges: SeriesGauges, until: number, levels: SeriesLevels): SeriesPoint {
    const { calls, errors, latency, refused } = this.tally
    const seconds = Math.max(secondMillis, until - this.at) / secondMillis
    const busy = gauges.processorSeconds - this.#before.processorSeconds
    return {
      at: this.at,
      calls,
      errors,
      refused: refused + gauges.refused - this.#before.refused,
      p50Millis: latency.quantile(0.5) ?? null,
      p99Millis: latency.quantile(0.99) ?? null,
      processors: Math.round((busy / seconds) * 100) / 100,
      ...levels,
      charged: toCredits(gauges.chargedMicro - this.#before.chargedMicro)
    }
  }
}

const startOf = (millis: number, step: number): number => Math.floor(millis / step) * step

/** Calls since a step of the series began: how many, how they ended, how long they took. */
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

const leastMillis = 0.1
const classesPerDoubling = 4
/** The last class holds all from 2^18 * 0.1 ms, 26 seconds, on. */
const classes = 18 * classesPerDoubling + 1

/**
 * Histogram of the durations of calls, in classes whose bounds grow by the fourth root of two from 0.1 ms: a quantile
 * is exact to 19 percent at the price of one logarithm for each call.
 */
class LatencyCounts {
  readonly #counts = new Uint32Array(classes)
  #total = 0

  add(millis: number): void {
    const at = millis <= leastMillis ? 0 : Math.ceil(Math.log2(millis / leastMillis) * classesPerDoubling)
    this.#counts[Math.min(at, classes - 1)]! += 1
    this.#total += 1
  }

  addAll(other: LatencyCounts): void {
    for (let at = 0; at < classes; at++) this.#counts[at]! += other.#counts[at]!
    this.#total += other.#total
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** Upper bound of the class in which the quantile lies, milliseconds; undefined: nothing was counted. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined
    let left = Math.max(1, Math.ceil(this.#total * share))
    const found = this.#counts.findIndex((count) => (left -= count) <= 0)
    return Math.round(leastMillis * 2 ** (found / classesPerDoubling) * 100) / 100
  }
}
