/**
 * Overload of one kind of work: its capacity by a closed loop, then arrivals at multiples of it by one account, while a
 * second account asks at a tenth of its share and health is probed. The flood comes from a process of its own.
 */
import { Generator } from "./Generator.ts"
import { type NextRequest, openLoop, p99, pause, type Tally } from "./Load.ts"
import type { ServiceView } from "./ServiceView.ts"
import { requestBytes, type Target, Wire } from "./Wire.ts"
import { type KindOfWork, workOf } from "./Work.ts"

export interface OverloadOptions {
  readonly target: Target
  readonly view: ServiceView
  /** Keys of two accounts without a rate limit. */
  readonly noisyKey: string
  readonly quietKey: string
  readonly factors: ReadonlyArray<number>
  readonly seconds: number
  /** Of the measurements of the capacity and of the quiet account alone. */
  readonly calmSeconds: number
}

export interface Round {
  readonly factor: number
  readonly noisy: Tally
  readonly quiet: Tally
  readonly healthP99: number
  /** Until the quiet account's requests took at most twice their idle p99 again; NaN if never. */
  readonly recoverySeconds: number
  /** Of the service's event loop; NaN where it cannot be asked. */
  readonly loopDelayMillis: number
  /** Served a second, of both accounts, by the capacity. */
  readonly goodput: number
  /** Share of the time in which the service's main thread was ready and had no processor; NaN if not known. */
  readonly starved: number
  /** Processor time of a refusal on the service's main thread, once what was served is taken off; NaN if not known. */
  readonly refusalMicros: number
}

export interface OverloadResult {
  readonly kind: KindOfWork
  /** Requests a second, closed loop. */
  readonly capacity: number
  /** Processor time of a request on the service's main thread; NaN if not known. */
  readonly servedMicros: number
  readonly idleP99: number
  readonly rounds: ReadonlyArray<Round>
}

/**
 * Each a measurement, the best of which is the capacity: few callers leave the service idle where it commits in groups,
 * or where an answer waits for something else, as those of conversations do.
 */
const capacityCallers = [16, 64, 256, 64, 256] as const
const healthPerSecond = 10
const settleMillis = 1_500
const warmupSeconds = 3
/** Of one processor. */
const idleShare = 0.1
const idleRoundsMax = 20
const quietRateMin = 2
const noisyConnections = 3_600
const quietConnections = 64
const calmRequests = 5
const recoveryMillisMax = 30_000

export const overload = async (kind: KindOfWork, options: OverloadOptions): Promise<OverloadResult> => {
  const { calmSeconds, factors, quietKey, target, view } = options
  const generator = new Generator({ target, connectionsMax: noisyConnections })
  const wire = new Wire(target, quietConnections)
  const quiet = workOf(kind, target, quietKey)
  const { capacity, servedMicros } = await capacityOf(kind, generator, options)
  await untilIdle(view)
  const quietRate = Math.max(quietRateMin, capacity / 2 / 10)
  await openLoop(wire, quiet, quietRate, 1)
  const idleP99 = p99((await openLoop(wire, quiet, quietRate, calmSeconds)).servedMillis)
  const plan: RoundPlan = { kind, capacity, servedMicros, idleP99, quiet, quietRate, wire, generator }
  const rounds: Array<Round> = []
  for (const factor of factors) {
    rounds.push(await oneRound(plan, factor, options))
    await pause(settleMillis)
  }
  wire.close()
  await generator.close()
  return { kind, capacity, servedMicros, idleP99, rounds }
}

interface Capacity {
  readonly capacity: number
  readonly servedMicros: number
}

/** The best of several closed loops, taken warm: a capacity found too low would make every goal easy. */
const capacityOf = async (
  kind: KindOfWork,
  generator: Generator,
  { calmSeconds, noisyKey: key, view }: OverloadOptions
): Promise<Capacity> => {
  await generator.run({ kind, key, seconds: warmupSeconds, arrivals: { callers: capacityCallers[0] } })
  const found: Array<Capacity> = []
  for (const callers of capacityCallers) {
    await untilIdle(view)
    const before = view.mainThreadMillis()
    const { goodput, servedMillis } = await generator.run({
      kind,
      key,
      seconds: calmSeconds / 2,
      arrivals: { callers }
    })
    const spentMillis = view.mainThreadMillis() - before
    found.push({ capacity: goodput, servedMicros: (spentMillis * 1_000) / servedMillis.length })
  }
  return found.reduce((best, other) => (other.capacity > best.capacity ? other : best))
}

/** Until vectors and readings that earlier requests have left behind are made. */
const untilIdle = async (view: ServiceView): Promise<void> => {
  for (let round = 0; round < idleRoundsMax; round += 1) {
    const before = view.processorMillis()
    await pause(settleMillis)
    // False for a service that cannot be seen, which gets one round.
    if (!(view.processorMillis() - before > settleMillis * idleShare)) return
  }
}

interface RoundPlan {
  readonly kind: KindOfWork
  readonly capacity: number
  readonly servedMicros: number
  readonly idleP99: number
  readonly quiet: NextRequest
  readonly quietRate: number
  readonly wire: Wire
  readonly generator: Generator
}

const oneRound = async (plan: RoundPlan, factor: number, options: OverloadOptions): Promise<Round> => {
  const { capacity, generator, idleP99, kind, quiet, quietRate, servedMicros, wire } = plan
  const { noisyKey: key, seconds, target, view } = options
  const health = new Wire(target, quietConnections)
  const live = requestBytes(target, "GET", "/health/live")
  await view.loopDelayMillis()
  const before = view.mainThreadMillis()
  const starvedBefore = view.starvedMillis()
  const startedMillis = performance.now()
  const [noisy, beside, probes] = await Promise.all([
    generator.run({ kind, key, seconds, arrivals: { perSecond: capacity * factor } }),
    openLoop(wire, quiet, quietRate, seconds),
    openLoop(health, () => live, healthPerSecond, seconds)
  ])
  const spentMicros = (view.mainThreadMillis() - before) * 1_000
  const starved = (view.starvedMillis() - starvedBefore) / (performance.now() - startedMillis)
  const recoverySeconds = await untilNormal(wire, quiet, idleP99)
  health.close()
  const served = noisy.servedMillis.length + beside.servedMillis.length
  return {
    factor,
    noisy,
    quiet: beside,
    goodput: (noisy.goodput + beside.goodput) / capacity,
    healthP99: p99(probes.servedMillis),
    recoverySeconds,
    starved,
    loopDelayMillis: await view.loopDelayMillis(),
    refusalMicros: (spentMicros - served * servedMicros) / noisy.refusedMillis.length
  }
}

/** `calmRequests` one after the other have to be quick. */
const untilNormal = async (wire: Wire, next: NextRequest, idleP99: number): Promise<number> => {
  const startedMillis = performance.now()
  let calm = 0
  for (;;) {
    const sinceMillis = performance.now() - startedMillis
    const { millis, status } = await wire.send(next())
    calm = status >= 200 && status < 300 && millis <= 2 * idleP99 ? calm + 1 : 0
    if (calm === calmRequests) return sinceMillis / 1_000
    if (sinceMillis > recoveryMillisMax) return Number.NaN
  }
}
