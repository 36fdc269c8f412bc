/**
 * Everything that is measured on one set of vectors, in the order in which it does not disturb
 * itself: building, single writes, searches, filters, cold opens, replacements, churn; memory last,
 * in processes of their own.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ColdRow, coldOpens } from "./coldOpen.ts"
import type { ContenderKind } from "./Contender.ts"
import type { Curve } from "./Curve.ts"
import { type MemoryRow, memoryOf } from "./memory.ts"
import { type Effort, type Entrant, type FilterRow, filteredSearches, searchCurves } from "./search.ts"
import { intrinsicDimension, truthOf } from "./Truth.ts"
import { type AttributeName, filterOf, rowOf, type VectorSet } from "./VectorSet.ts"
import { addOneByOne, churn, type ChurnRow, replaceOneByOne, type WriteRow } from "./writes.ts"

export interface Settings {
  readonly effort: Effort
  /** Vectors added and replaced one by one; at most half of the set, and at most the churn. */
  readonly writes: number
  readonly churnShare: number
  readonly measuresMemory: boolean
  /** Called with a line before each step. */
  readonly say: (line: string) => void
}

export interface SetFigures {
  readonly set: Pick<VectorSet, "name" | "count" | "dims">
  readonly intrinsicDimension: number
  readonly curves: ReadonlyArray<Curve>
  readonly filters: ReadonlyArray<FilterRow>
  readonly adds: ReadonlyArray<WriteRow>
  readonly replacements: ReadonlyArray<WriteRow>
  readonly churns: ReadonlyArray<ChurnRow>
  readonly cold: ReadonlyArray<ColdRow>
  readonly memory: ReadonlyArray<MemoryRow>
  /** Contenders that were left out, and why. */
  readonly notes: ReadonlyArray<string>
}

/** Filters by chance, and one that follows the content: what is near one vector. */
const filters: ReadonlyArray<readonly [AttributeName, number]> = [
  ["chance", 0.5],
  ["chance", 0.1],
  ["chance", 0.01],
  ["chance", 0.001],
  ["near", 0.1]
]

export const measureSet = async (
  set: VectorSet,
  kinds: ReadonlyArray<ContenderKind>,
  settings: Settings
): Promise<SetFigures> => {
  const directory = await mkdtemp(join(tmpdir(), "muniment-bench-index-"))
  const { entrants, notes } = await openAll(set, kinds, directory)
  try {
    const figures = await measureAll(set, entrants, settings)
    for (const { contender } of entrants) await contender.close()
    const memory = settings.measuresMemory ? await memoryOf(namesOf(entrants), set) : []
    return { ...figures, memory, notes }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const measureAll = async (
  set: VectorSet,
  entrants: ReadonlyArray<Entrant>,
  { effort, writes, churnShare, say }: Settings
): Promise<Omit<SetFigures, "memory" | "notes">> => {
  const label = `${set.name} ${set.count.toLocaleString("en-US")}`
  const step = (what: string): void => say(`  ${label}: ${what}`)
  step("truth by brute force")
  const dimension = intrinsicDimension(set)
  const truth = truthOf(set, effort.k)
  const from = set.count - Math.min(writes, Math.floor(set.count / 2))
  for (const entrant of entrants) {
    step(`building ${entrant.name}`)
    await build(entrant, set, from)
  }
  step("adding one by one")
  const adds = await addOneByOne(entrants, set, from)
  step("searches")
  const curves = await searchCurves(entrants, set, truth, effort)
  const filtered: Array<FilterRow> = []
  for (const [attribute, share] of filters) {
    if (share * set.count < effort.k) continue
    step(`filter ${attribute} ${share * 100} %`)
    filtered.push(...(await filteredSearches(entrants, curves, set, filterOf(set, attribute, share), effort)))
  }
  step("cold opens")
  const cold = await coldOpens(entrants, set, truth, effort.k)
  step("replacing one by one")
  const replacements = await replaceOneByOne(entrants, set, Math.min(writes, Math.floor(set.count * churnShare)))
  step(`churn of ${churnShare * 100} %`)
  const churns = await churn(entrants, curves, set, churnShare, effort)
  const { name, count, dims } = set
  return {
    set: { name, count, dims },
    intrinsicDimension: dimension,
    curves,
    filters: filtered,
    adds,
    replacements,
    churns,
    cold
  }
}

const openAll = async (set: VectorSet, kinds: ReadonlyArray<ContenderKind>, directory: string) => {
  const entrants: Array<Entrant> = []
  const notes: Array<string> = []
  const { dims, attributes, count } = set
  for (const { name, countMax, open } of kinds) {
    if (count > countMax) continue
    const own = await mkdtemp(join(directory, "contender-"))
    try {
      entrants.push({ name, contender: await open({ dims, capacity: count, directory: own, attributes }) })
    } catch (cause) {
      notes.push(cause instanceof Error ? cause.message : String(cause))
    }
  }
  return { entrants, notes }
}

const build = async ({ contender }: Entrant, set: VectorSet, count: number): Promise<void> => {
  const vectors = Array.from({ length: count }, (_, at) => rowOf(set, at))
  await contender.add(0, vectors)
  await contender.settle()
}

const namesOf = (entrants: ReadonlyArray<Entrant>): ReadonlyArray<string> => entrants.map(({ name }) => name)
