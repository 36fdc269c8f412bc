/**
 * Times of contestants that take turns, so that a machine that slows down slows all of them.
 *
 * A round lets every contestant run all its operations. Each round has another order, so that no
 * contestant always runs after the same one, which may leave the caches cold; each operation is timed
 * by itself. A ratio is taken within a round and its spread is over the rounds.
 * What is run here was verified before: nothing is checked while the clock runs.
 */

export interface Contestant {
  readonly name: string
  /** One operation; `turn` counts from 0 within a round. A promise is awaited within its time. */
  readonly run: (turn: number) => unknown
  /** Operations in a round, where one that is slow may do fewer. */
  readonly operations?: number
}

export interface Rounds {
  readonly rounds: number
  /** Operations of each contestant in a round. */
  readonly operations: number
  /** Operations before the first round that are not counted. */
  readonly warmup: number
}

export interface Timing {
  readonly name: string
  readonly p50Micros: number
  readonly p99Micros: number
  /** Medians of the single rounds, for ratios within a round. */
  readonly roundMicros: ReadonlyArray<number>
}

export interface Ratio {
  /** Median over the rounds of the slower's time by the faster's: above 1 the second is faster. */
  readonly median: number
  readonly low: number
  readonly high: number
}

/** In the order of the contestants. */
export const interleaved = async (
  contestants: ReadonlyArray<Contestant>,
  { rounds, operations, warmup }: Rounds
): Promise<ReadonlyArray<Timing>> => {
  for (const contestant of contestants) await timesOf(contestant, warmup)
  const all = contestants.map((): Array<Float64Array> => [])
  const strides = stridesOf(contestants.length)
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < contestants.length; i++) {
      const at = (round + i * strides[round % strides.length]!) % contestants.length
      const contestant = contestants[at]!
      all[at]!.push(await timesOf(contestant, contestant.operations ?? operations))
    }
  }
  return contestants.map(({ name }, i) => timingOf(name, all[i]!))
}

/** Steps that lead round a circle of `count` over all of them: those without a common divisor. */
const stridesOf = (count: number): ReadonlyArray<number> => {
  const divisor = (left: number, right: number): number => (right === 0 ? left : divisor(right, left % right))
  return Array.from({ length: count }, (_, at) => at + 1).filter((stride) => divisor(stride, count) === 1)
}

/** How many times faster `faster` is than `slower`, and how that varied over the rounds. */
export const ratioOf = (slower: Timing, faster: Timing): Ratio => {
  const ratios = slower.roundMicros.map((micros, round) => micros / (faster.roundMicros[round] ?? Number.NaN))
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) }
}

/** One sample of work too long to repeat many times; its seconds and its result. */
export const timed = async <Result>(
  work: () => Result | Promise<Result>
): Promise<{ readonly millis: number; readonly result: Result }> => {
  const from = performance.now()
  const result = await work()
  return { millis: performance.now() - from, result }
}

export const median = (values: ReadonlyArray<number> | Float64Array): number => quantile(values, 0.5)

/** The value below which `share` of the values lie; NaN of none. */
export const quantile = (values: ReadonlyArray<number> | Float64Array, share: number): number => {
  const sorted = Float64Array.from(values).sort()
  if (sorted.length === 0) return Number.NaN
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at))
}

const microsPerMilli = 1_000

/** Sink of results, so that the compiler does not remove unused work. */
let consumed: unknown
const consume = (result: unknown): void => void (consumed = result)
export const lastConsumed = (): unknown => consumed

const timesOf = async ({ run }: Contestant, operations: number): Promise<Float64Array> => {
  const micros = new Float64Array(operations)
  for (let turn = 0; turn < operations; turn++) {
    const from = performance.now()
    const result = run(turn)
    // Awaiting what is no promise would charge the synchronous contestants for a turn of the queue.
    if (result instanceof Promise) consume(await result)
    else consume(result)
    micros[turn] = (performance.now() - from) * microsPerMilli
  }
  return micros
}

const timingOf = (name: string, rounds: ReadonlyArray<Float64Array>): Timing => {
  const all = Float64Array.from(rounds.flatMap((round) => [...round]))
  return {
    name,
    p50Micros: quantile(all, 0.5),
    p99Micros: quantile(all, 0.99),
    roundMicros: rounds.map(median)
  }
}
