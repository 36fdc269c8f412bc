/**
 * From files to the first answer, in a fresh instance of a process that runs already: the pages are
 * in the system's cache, the libraries are loaded. Ours opens its segments from an SQLite file.
 */
import { median, timed } from "../kit/Measure.ts"
import type { ColdStart } from "./Contender.ts"
import type { Entrant } from "./search.ts"
import type { Truth } from "./Truth.ts"
import { queriesOf, type VectorSet } from "./VectorSet.ts"

export interface ColdRow {
  readonly name: string
  readonly millis: number
  readonly bytes: number
}

const rounds = 7
/** Of ten: an instance that opened nothing would find none, and its setting is its own matter. */
const foundMin = 5

export const coldOpens = async (
  entrants: ReadonlyArray<Entrant>,
  set: VectorSet,
  truth: Truth,
  k: number
): Promise<ReadonlyArray<ColdRow>> => {
  const query = queriesOf(set)[0]!
  const starts: Array<{ readonly name: string; readonly start: ColdStart; readonly times: Array<number> }> = []
  for (const { name, contender } of entrants) {
    if (contender.persist === undefined) continue
    const start = await contender.persist()
    const answer = new Set(Array.from(await start.firstAnswer(query, k)))
    const found = Array.from(truth[0]!).filter((slot) => answer.has(slot)).length
    if (found < foundMin) throw new Error(`${name} finds ${found} of ${k} after it was opened again`)
    starts.push({ name, start, times: [] })
  }
  for (let round = 0; round < rounds; round++) {
    for (const { start, times } of starts) times.push((await timed(() => start.firstAnswer(query, k))).millis)
  }
  return starts.map(({ name, start, times }) => ({ name, millis: median(times), bytes: start.bytes }))
}
