/**
 * Writes at the size of the set: the last vectors one by one, replacements one by one, then the
 * churn of a share of all; and what the churn left of recall and latency.
 *
 * A contender's time includes what it has to do until its searches are as good as before (`settle`).
 */
import { timed } from "../kit/Measure.ts"
import { crossingAt, type Curve } from "./Curve.ts"
import { type Effort, type Entrant, recallGoal, searchCurves } from "./search.ts"
import { truthOf } from "./Truth.ts"
import { rowOf, type VectorSet } from "./VectorSet.ts"

export interface WriteRow {
  readonly name: string
  /** Vectors a second, median of the rounds; by round for ratios. */
  readonly perSecond: number
  readonly roundMicros: ReadonlyArray<number>
}

export interface ChurnRow {
  readonly name: string
  readonly share: number
  readonly recallBefore: number
  readonly recallAfter: number
  readonly microsBefore: number
  readonly microsAfter: number
}

const writeRounds = 9
const churnBatch = 1_000

/** Adds slots from `from` to the end of the set one by one; contenders take turns. */
export const addOneByOne = (entrants: ReadonlyArray<Entrant>, set: VectorSet, from: number) =>
  writeInTurns(entrants, set.count - from, ({ contender }, at, length) =>
    contender.add(from + at, rowsFrom(set, from + at, length))
  )

/** Replaces the first slots one by one with the first of the spare rows. */
export const replaceOneByOne = (entrants: ReadonlyArray<Entrant>, set: VectorSet, writes: number) =>
  writeInTurns(entrants, writes, ({ contender }, at, length) =>
    contender.replace(
      Array.from({ length }, (_, i) => at + i),
      rowsFrom(set, set.count + at, length)
    )
  )

/** Replaces the first `share` of the slots, in batches where a contender knows batches. */
export const churn = async (
  entrants: ReadonlyArray<Entrant>,
  curves: ReadonlyArray<Curve>,
  set: VectorSet,
  share: number,
  effort: Effort
): Promise<ReadonlyArray<ChurnRow>> => {
  const replaced = Math.floor(set.count * share)
  for (const { contender } of entrants) {
    for (let from = 0; from < replaced; from += churnBatch) {
      const slots = Array.from({ length: Math.min(churnBatch, replaced - from) }, (_, at) => from + at)
      await contender.replace(
        slots,
        slots.map((slot) => rowOf(set, set.count + slot))
      )
    }
    await contender.settle()
  }
  const slotRow = Int32Array.from({ length: set.count }, (_, slot) => (slot < replaced ? set.count + slot : slot))
  const after = await searchCurves(entrants, set, truthOf(set, effort.k, undefined, slotRow), effort)
  return entrants.map(({ name }, at) => {
    const width = crossingAt(curves[at]!, recallGoal)?.width ?? curves[at]!.points.at(-1)!.width
    const pointOf = ({ points }: Curve) => points.find((point) => point.width === width) ?? points.at(-1)!
    const [before, now] = [pointOf(curves[at]!), pointOf(after[at]!)]
    return {
      name,
      share,
      recallBefore: before.recall,
      recallAfter: now.recall,
      microsBefore: before.p50Micros,
      microsAfter: now.p50Micros
    }
  })
}

const rowsFrom = (set: VectorSet, from: number, length: number): ReadonlyArray<Float32Array> =>
  Array.from({ length }, (_, at) => rowOf(set, from + at))

const writeInTurns = async (
  entrants: ReadonlyArray<Entrant>,
  writes: number,
  write: (entrant: Entrant, at: number, length: number) => void | Promise<void>
): Promise<ReadonlyArray<WriteRow>> => {
  const micros = entrants.map((): Array<number> => [])
  const perRound = Math.floor(writes / writeRounds)
  for (let round = 0; round < writeRounds; round++) {
    // The last round takes what the division left over.
    const end = round === writeRounds - 1 ? writes : (round + 1) * perRound
    for (const [i, entrant] of entrants.entries()) {
      const { millis } = await timed(async () => {
        const batch = entrant.contender.writeBatch ?? 1
        for (let at = round * perRound; at < end; at += batch) await write(entrant, at, Math.min(batch, end - at))
        await entrant.contender.settle()
      })
      micros[i]!.push((millis * 1_000) / (end - round * perRound))
    }
  }
  return entrants.map(({ name }, i) => {
    const roundMicros = micros[i]!
    const middle = roundMicros.toSorted((left, right) => left - right)[writeRounds >> 1]!
    return { name, perSecond: 1_000_000 / middle, roundMicros }
  })
}
