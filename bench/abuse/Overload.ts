/**
 * Overload of one kind of work: its capacity by a closed loop, then arrivals at multiples of it by one account, while a
 * second account asks at a tenth of its share and health is probed.
 */
import { closedLoop, type NextRequest, openLoop, p99, pause, type Tally } from "./Load.ts"
import { requestBytes, Wire, type Target } from "./Wire.ts"
import { type KindOfWork, workOf } from "./Work.ts"

export interface OverloadOptions {
  readonly target: Target
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
}

export interface OverloadResult {
  readonly kind: KindOfWork
  /** Requests a second, closed loop. */
  readonly capacity: number
  readonly idleP99: number
  readonly rounds: ReadonlyArray<Round>
}

const capacityCallers = 16
const healthPerSecond = 10
const settleMillis = 1_500

export const overload = async (kind: KindOfWork, options: OverloadOptions): Promise<OverloadResult> => {
  const { calmSeconds, factors, noisyKey, quietKey, target } = options
  const noisy = workOf(kind, target, noisyKey)
  const quiet = workOf(kind, target, quietKey)
  const wires = { noisy: new Wire(target, noisyConnections), quiet: new Wire(target, quietConnections) }
  await closedLoop(wires.noisy, noisy, capacityCallers, warmupSeconds)
  const { goodput: capacity } = await closedLoop(wires.noisy, noisy, capacityCallers, calmSeconds)
  await pause(settleMillis)
  const quietRate = Math.max(quietRateMin, capacity / 2 / 10)
  await openLoop(wires.quiet, quiet, quietRate, 1)
  const idleP99 = p99((await openLoop(wires.quiet, quiet, quietRate, calmSeconds)).servedMillis)
  const rounds: Array<Round> = []
  for (const factor of factors) {
    rounds.push(await oneRound({ capacity, factor, idleP99, noisy, quiet, quietRate, wires }, options))
    await pause(settleMillis)
  }
  wires.noisy.close()
  wires.quiet.close()
  return { kind, capacity, idleP99, rounds }
}

const warmupSeconds = 1
const quietRateMin = 2
/** Below the service's bound of connections from one address. */
const noisyConnections = 900
const quietConnections = 64

interface RoundPlan {
  readonly factor: number
  readonly capacity: number
  readonly idleP99: number
  readonly quietRate: number
  readonly noisy: NextRequest
  readonly quiet: NextRequest
  readonly wires: { readonly noisy: Wire; readonly quiet: Wire }
}

const oneRound = async (plan: RoundPlan, { seconds, target }: OverloadOptions): Promise<Round> => {
  const { capacity, factor, idleP99, noisy, quiet, quietRate, wires } = plan
  const health = new Wire(target, quietConnections)
  const live = requestBytes(target, "GET", "/health/live")
  const [flood, beside, probes] = await Promise.all([
    openLoop(wires.noisy, noisy, capacity * factor, seconds),
    openLoop(wires.quiet, quiet, quietRate, seconds),
    openLoop(health, () => live, healthPerSecond, seconds)
  ])
  const recoverySeconds = await untilNormal(wires.quiet, quiet, idleP99)
  health.close()
  return { factor, noisy: flood, quiet: beside, healthP99: p99(probes.servedMillis), recoverySeconds }
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

const calmRequests = 5
const recoveryMillisMax = 30_000
