/** What a writer over the commit log was told before it ended, and what its files have afterwards. */
import { Effect } from "effect"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { namespaceKey } from "../support/EngineFixtures.ts"

/** `agent:number` of each memory. */
export interface Told {
  readonly stored: Set<string>
  readonly removing: Set<string>
  readonly removed: Set<string>
}

export interface AgentState {
  /** Numbers of the memories in the order of their insertion. */
  readonly numbers: ReadonlyArray<number>
  /** Whether vectors and words agree with the rows. */
  readonly isWhole: boolean
}

export const nothingTold = (): Told => ({ stored: new Set(), removing: new Set(), removed: new Set() })

/** Notes a line of `LogWriter`. */
export const toldBy =
  (told: Told) =>
  (line: string): void => {
    const sets = new Map([
      ["+", told.stored],
      ["?", told.removing],
      ["-", told.removed]
    ])
    sets.get(line[0] ?? "")?.add(line.slice(1))
  }

/** Opens an agent's file. */
export const stateOf = (agent: string) =>
  Effect.gen(function* () {
    const file = yield* NamespaceStore.use(({ open }) => open(namespaceKey(agent)))
    const rows: Array<{ readonly slot: number; readonly createdSeq: number; readonly number: number }> = []
    yield* file.whole((all) =>
      all.eachRow(({ createdSeq, id, slot }) =>
        rows.push({ slot, createdSeq, number: Number(id.slice("mem_".length)) })
      )
    )
    const vectors: Array<number> = []
    yield* file.whole((all) => all.eachVector(({ slot }) => vectors.push(slot)))
    const slots = rows.map(({ slot }) => slot)
    const words = file.postings.occurrences("narwhal").map(({ slot }) => slot)
    const isWhole = [vectors, words].every((found) => JSON.stringify(found) === JSON.stringify(slots))
    const numbers = rows.toSorted((a, b) => a.createdSeq - b.createdSeq).map(({ number }) => number)
    return { numbers, isWhole } satisfies AgentState
  }).pipe(Effect.scoped)

/** What `faultsOf` finds in a state without fault. */
export const noFaults = { isWhole: true, lost: [], back: [], doubled: 0, outOfOrder: 0 }

export const faultsOf = (agent: string, { isWhole, numbers }: AgentState, { removed, removing, stored }: Told) => {
  const there = new Set(numbers)
  const isTold = (set: ReadonlySet<string>, number: number) => set.has(`${agent}:${number}`)
  const mine = [...stored].filter((one) => one.startsWith(`${agent}:`)).map((one) => Number(one.split(":")[1]))
  const byWriter = [0, 1].map((writer) => numbers.filter((number) => number % 2 === writer))
  return {
    isWhole,
    lost: mine.filter((number) => !there.has(number) && !isTold(removing, number)),
    back: mine.filter((number) => there.has(number) && isTold(removed, number)),
    doubled: numbers.length - there.size,
    outOfOrder: byWriter.filter((list) => list.some((number, at) => at > 0 && number < list[at - 1]!)).length
  }
}
