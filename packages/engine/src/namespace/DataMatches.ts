/**
 * Memories whose data has certain values (contract: Search, `data` and `where`). Data is in the file, not in the image: where the other
 * filters leave many, the file leaves out those whose text cannot have the values, and the rest is read in pages, between
 * which other fibers run.
 *
 * Invariants: verdicts hang on rows of the image, which every change of a memory replaces; what was found is kept until the
 * next change, so that one search looks once.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryFilter } from "@muniment/domain/Search"
import { type Condition, conditionOf, conditionOfData, isMatch } from "@muniment/domain/Where"
import { Bitmap } from "../bitmap/Bitmap.ts"
import type { MemoryRow } from "../store/MemoryRow.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import type { StoreError } from "../store/StoreError.ts"
import type { NamespaceState } from "./NamespaceState.ts"

type Verdicts = WeakMap<MemoryRow, boolean>

export class DataMatches {
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  /** By filter, of the state after `#seq`. */
  readonly #known = new Map<string, Bitmap>()
  #seq = 0
  /** By condition, of the rows that were looked at for it. */
  readonly #verdicts = new Map<string, Verdicts>()

  constructor(store: OpenNamespace, state: NamespaceState) {
    this.#store = store
    this.#state = state
  }

  /** Slots of the memories and of their passages; live ones only, and maybe more than the other filters leave later. */
  of(filter: MemoryFilter): Effect.Effect<Bitmap, StoreError> {
    const { data: _data, where: _where, ...others } = filter
    const condition = dataConditionOf(filter)
    return Effect.gen({ self: this }, function* () {
      if (this.#seq !== this.#state.lastSeq) this.#known.clear()
      const seq = (this.#seq = this.#state.lastSeq)
      const key = JSON.stringify([others, condition])
      const known = this.#known.get(key)
      if (known !== undefined) return known
      const found = yield* this.#find(others, condition)
      if (this.#seq === seq && this.#state.lastSeq === seq) {
        if (this.#known.size >= Limits.dataMatchesKept) this.#known.clear()
        this.#known.set(key, found)
      }
      return found
    })
  }

  #find(others: MemoryFilter, condition: Condition): Effect.Effect<Bitmap, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const verdicts = this.#verdictsOf(condition)
      const found: Array<MemoryRow> = []
      for (const slots of slotsByTurn(table.allowed(others))) {
        const unknown: Array<MemoryRow> = []
        for (const slot of slots) {
          const row = table.row(slot)
          if (row === undefined) continue
          const verdict = verdicts.get(row)
          if (verdict === true) found.push(row)
          else if (verdict === undefined) unknown.push(row)
        }
        const unread = yield* this.#withText(unknown, condition, verdicts)
        found.push(...(yield* this.#read(unread, condition, verdicts)))
        yield* Effect.yieldNow
      }
      const matching = new Bitmap()
      for (const { id, slot } of found) {
        // A slot may have been given to another memory meanwhile.
        if (table.row(slot)?.id !== id) continue
        matching.set(slot)
        for (const passage of table.passagesOf(slot)) matching.set(passage.slot)
      }
      return matching
    })
  }

  /** -> The rows whose stored text may have the values; all of them where a look at the text would not pay. */
  #withText(
    unknown: ReadonlyArray<MemoryRow>,
    condition: Condition,
    verdicts: Verdicts
  ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError> {
    if (unknown.length < Limits.dataTextRowsMin) return Effect.succeed(unknown)
    const range = { from: unknown[0]!.slot, to: unknown.at(-1)!.slot + 1 }
    return Effect.map(this.#store.slotsOfData(range, condition), (slots) => {
      const mayHave = new Set(slots)
      for (const row of unknown) if (!mayHave.has(row.slot)) verdicts.set(row, false)
      return unknown.filter(({ slot }) => mayHave.has(slot))
    })
  }

  /** -> The rows whose data has the values. */
  #read(
    unread: ReadonlyArray<MemoryRow>,
    condition: Condition,
    verdicts: Verdicts
  ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const found: Array<MemoryRow> = []
      for (let at = 0; at < unread.length; at += Limits.dataPageMemories) {
        const page = new Map(unread.slice(at, at + Limits.dataPageMemories).map((row) => [row.slot, row]))
        for (const { record, slot } of yield* this.#store.records([...page.keys()])) {
          const row = page.get(slot)
          if (row?.id !== record.id) continue
          const verdict = isMatch(condition, record)
          verdicts.set(row, verdict)
          if (verdict) found.push(row)
        }
        yield* Effect.yieldNow
      }
      return found
    })
  }

  #verdictsOf(condition: Condition): Verdicts {
    const key = JSON.stringify(condition)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    if (this.#verdicts.size >= Limits.dataMatchesKept) this.#verdicts.clear()
    const verdicts: Verdicts = new WeakMap()
    this.#verdicts.set(key, verdicts)
    return verdicts
  }
}

/** The slots of each turn's range, ascending; none is empty. */
const slotsByTurn = (allowed: Bitmap): ReadonlyArray<ReadonlyArray<number>> => {
  const turns = new Map<number, Array<number>>()
  allowed.forEach((slot) => {
    const turn = Math.floor(slot / Limits.dataSlotsPerTurn)
    const slots = turns.get(turn)
    if (slots === undefined) turns.set(turn, [slot])
    else slots.push(slot)
  })
  return [...turns.values()]
}

/** Whether a filter needs data, which is in the file. */
export const readsData = ({ data, where }: MemoryFilter): boolean => data !== undefined || where !== undefined

const dataConditionOf = ({ data, where }: MemoryFilter): Condition => {
  const of = [
    ...(data === undefined ? [] : [conditionOfData(data)]),
    ...(where === undefined ? [] : [conditionOf(where)])
  ]
  return of.length === 1 ? of[0]! : { _tag: "All", of }
}
