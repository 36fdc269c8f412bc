/**
 * Memories whose data has certain values (contract: Search, `data`). Data is in the file, not in the image: what the other
 * filters leave is read in pages, between which other fibers run. Of each memory that was read a mark stays, by which most
 * of those without the values are left out the next time.
 *
 * Invariants: a mark never leaves out a memory that has the values; marks and verdicts hang on rows of the image, which
 * every change of a memory replaces; what was found is kept until the next change, so that one search looks once.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"
import type { DataFilter, MemoryFilter } from "@muniment/domain/Search"
import { Bitmap } from "../bitmap/Bitmap.ts"
import type { MemoryRow } from "../store/MemoryRow.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import type { StoreError } from "../store/StoreError.ts"
import { dataMark, mayHave } from "./dataMark.ts"
import type { NamespaceState } from "./NamespaceState.ts"

type Verdicts = WeakMap<MemoryRow, boolean>

export class DataMatches {
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  /** By filter, of the state after `#seq`. */
  readonly #known = new Map<string, Bitmap>()
  #seq = 0
  readonly #marks = new WeakMap<MemoryRow, number>()
  /** By values, of the rows that were read for them. */
  readonly #verdicts = new Map<string, Verdicts>()

  constructor(store: OpenNamespace, state: NamespaceState) {
    this.#store = store
    this.#state = state
  }

  /** Slots of the memories and of their passages; live ones only, and maybe more than the other filters leave later. */
  of({ data, ...others }: MemoryFilter & { readonly data: DataFilter }): Effect.Effect<Bitmap, StoreError> {
    return Effect.gen({ self: this }, function* () {
      if (this.#seq !== this.#state.lastSeq) this.#known.clear()
      const seq = (this.#seq = this.#state.lastSeq)
      const key = JSON.stringify([others, data])
      const known = this.#known.get(key)
      if (known !== undefined) return known
      const found = yield* this.#find(others, data)
      if (this.#seq === seq && this.#state.lastSeq === seq) {
        if (this.#known.size >= Limits.dataMatchesKept) this.#known.clear()
        this.#known.set(key, found)
      }
      return found
    })
  }

  #find(others: MemoryFilter, data: DataFilter): Effect.Effect<Bitmap, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const verdicts = this.#verdictsOf(data)
      const candidates: Array<number> = []
      table.allowed(others).forEach((slot) => candidates.push(slot))
      const found: Array<MemoryRow> = []
      const wanted = dataMark(data)
      for (let at = 0; at < candidates.length; at += Limits.dataRowsPerTurn) {
        const unread: Array<MemoryRow> = []
        for (const slot of candidates.slice(at, at + Limits.dataRowsPerTurn)) {
          const row = table.row(slot)
          if (row === undefined) continue
          const verdict = verdicts.get(row)
          if (verdict === true) found.push(row)
          else if (verdict === undefined && mayHave(this.#marks.get(row), wanted)) unread.push(row)
        }
        found.push(...(yield* this.#read(unread, data, verdicts)))
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

  /** -> The rows whose data has the values. */
  #read(
    unread: ReadonlyArray<MemoryRow>,
    data: DataFilter,
    verdicts: Verdicts
  ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const found: Array<MemoryRow> = []
      for (let at = 0; at < unread.length; at += Limits.dataPageMemories) {
        const page = new Map(unread.slice(at, at + Limits.dataPageMemories).map((row) => [row.slot, row]))
        for (const { record, slot } of yield* this.#store.records([...page.keys()])) {
          const row = page.get(slot)
          if (row?.id !== record.id) continue
          const isMatch = hasValues(record.data, data)
          this.#marks.set(row, dataMark(record.data))
          verdicts.set(row, isMatch)
          if (isMatch) found.push(row)
        }
        yield* Effect.yieldNow
      }
      return found
    })
  }

  #verdictsOf(data: DataFilter): Verdicts {
    const key = JSON.stringify(data)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    if (this.#verdicts.size >= Limits.dataMatchesKept) this.#verdicts.clear()
    const verdicts: Verdicts = new WeakMap()
    this.#verdicts.set(key, verdicts)
    return verdicts
  }
}

/** Each named field has the value, or is a list that has it. */
export const hasValues = (data: JsonObject, wanted: DataFilter): boolean =>
  Object.entries(wanted).every(([name, value]) => {
    const own = Object.hasOwn(data, name) ? data[name] : undefined
    return Array.isArray(own) ? own.includes(value) : own === value
  })
