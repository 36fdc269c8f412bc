/**
 * Memories whose data has certain values (contract: Search, `data`). Data is in the file, not in the image: the memories
 * that the other filters leave are read, in pages between which other fibers run, and their slots become a bitmap.
 *
 * Invariant: what was found is kept until the next change, so that the rounds of one search read once.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"
import type { DataFilter, MemoryFilter } from "@muniment/domain/Search"
import { Bitmap } from "../bitmap/Bitmap.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import type { StoreError } from "../store/StoreError.ts"
import type { NamespaceState } from "./NamespaceState.ts"

export class DataMatches {
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  /** By filter, of the state after `#seq`. */
  readonly #known = new Map<string, Bitmap>()
  #seq = 0

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
      const found = yield* this.#read(others, data)
      if (this.#seq === seq && this.#state.lastSeq === seq) {
        if (this.#known.size >= Limits.dataMatchesKept) this.#known.clear()
        this.#known.set(key, found)
      }
      return found
    })
  }

  #read(others: MemoryFilter, data: DataFilter): Effect.Effect<Bitmap, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const { table } = this.#state
      const candidates: Array<number> = []
      table.allowed(others).forEach((slot) => candidates.push(slot))
      const found = new Map<number, string>()
      for (let at = 0; at < candidates.length; at += Limits.dataPageMemories) {
        const page = yield* this.#store.records(candidates.slice(at, at + Limits.dataPageMemories))
        for (const { record, slot } of page) if (hasValues(record.data, data)) found.set(slot, record.id)
        yield* Effect.yieldNow
      }
      const matching = new Bitmap()
      for (const [slot, id] of found) {
        // A slot may have been given to another memory meanwhile.
        if (table.row(slot)?.id !== id) continue
        matching.set(slot)
        for (const passage of table.passagesOf(slot)) matching.set(passage.slot)
      }
      return matching
    })
  }
}

/** Each named field has the value, or is a list that has it. */
export const hasValues = (data: JsonObject, wanted: DataFilter): boolean =>
  Object.entries(wanted).every(([name, value]) => {
    const own = Object.hasOwn(data, name) ? data[name] : undefined
    return Array.isArray(own) ? own.includes(value) : own === value
  })
