/**
 * The changes that a group of commands is about to commit, and what the namespace will look like
 * with them: later commands of the group see what earlier ones did. Of the state only slots are taken:
 * a draft that cannot be committed ends the state too.
 */
import { Effect } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { NamespaceState } from "./NamespaceState.ts"
import { memoryColumns } from "./recall/MemoryText.ts"
import type {
  Change,
  CommitUnit,
  MemoryVector,
  OpenNamespace,
  StoredResult,
  StoreError
} from "./store/NamespaceStore.ts"

export interface Found {
  readonly slot: number
  readonly record: MemoryRecord
}

export class Draft {
  /** When the group is served: who has expired by then cannot be found. */
  readonly nowMillis: number
  readonly #state: NamespaceState
  readonly #store: OpenNamespace
  readonly #overlay = new Map<string, Found | undefined>()
  readonly #units: Array<CommitUnit> = []
  #changes: Array<Change> = []
  #changeCount = 0
  #erases = false
  #replacesTags = false

  constructor(state: NamespaceState, store: OpenNamespace, nowMillis: number) {
    this.#state = state
    this.#store = store
    this.nowMillis = nowMillis
  }

  get changeCount(): number {
    return this.#changeCount
  }

  /** Whether a text or a vector goes that was committed before. */
  get erases(): boolean {
    return this.#erases
  }

  /** Whether what was committed before leaves a trace in the log: like `erases`, and tags that were replaced. */
  get tracesInLog(): boolean {
    return this.#erases || this.#replacesTags
  }

  get units(): ReadonlyArray<CommitUnit> {
    return this.#units
  }

  get isEmpty(): boolean {
    return this.#units.length === 0 && this.#changes.length === 0
  }

  /** A live memory by id, as the draft would leave it. */
  find(id: string): Effect.Effect<Found | undefined, StoreError> {
    if (!this.#overlay.has(id)) return this.#stored(id)
    const drafted = this.#overlay.get(id)
    const expiresAt = drafted?.record.expiresAt
    return Effect.succeed(expiresAt !== undefined && expiresAt <= this.nowMillis ? undefined : drafted)
  }

  /** Whether any row has the id, live or expired. */
  has(id: string): Effect.Effect<boolean, StoreError> {
    if (this.#overlay.has(id)) return Effect.succeed(this.#overlay.get(id) !== undefined)
    return Effect.map(this.#store.slotOf(id), (slot) => slot !== undefined)
  }

  /** Result that a command with this key left in the group or in the file. */
  storedResult(key: string): Effect.Effect<StoredResult | undefined, StoreError> {
    const drafted = this.#units.find((unit) => unit.idempotency?.key === key)?.idempotency
    return drafted === undefined ? this.#store.storedResult(key) : Effect.succeed(drafted)
  }

  insert(record: MemoryRecord, vector: MemoryVector | undefined): number {
    const slot = this.#state.takeSlot()
    this.#add({ _tag: "Put", slot, record, columns: memoryColumns(record), vector })
    this.#overlay.set(record.id, { slot, record })
    return slot
  }

  replace(slot: number, record: MemoryRecord, vector: MemoryVector | undefined): void {
    this.#erases = true
    this.#add({ _tag: "Put", slot, record, columns: memoryColumns(record), vector })
    this.#overlay.set(record.id, { slot, record })
  }

  patch(slot: number, record: MemoryRecord): void {
    this.#replacesTags = true
    this.#add({ _tag: "Patch", slot, record, columns: memoryColumns(record) })
    this.#overlay.set(record.id, { slot, record })
  }

  remove(slot: number, id: string): void {
    this.#erases = true
    this.#add({ _tag: "Remove", slot })
    this.#overlay.set(id, undefined)
  }

  embed(slot: number, vector: MemoryVector): void {
    this.#erases ||= this.#state.modelOf(slot) !== undefined
    this.#add({ _tag: "Embed", slot, vector })
  }

  /** Ends one command's part; its changes and its idempotency key commit together. */
  endUnit(idempotency: StoredResult | undefined): void {
    if (this.#changes.length > 0 || idempotency !== undefined) this.#units.push({ changes: this.#changes, idempotency })
    this.#changes = []
  }

  #add(change: Change): void {
    this.#changes.push(change)
    this.#changeCount++
  }

  #stored(id: string): Effect.Effect<Found | undefined, StoreError> {
    return Effect.flatMap(this.#store.slotOf(id), (slot) =>
      slot === undefined || !this.#state.table.isLive(slot)
        ? Effect.succeed(undefined)
        : Effect.map(this.#store.record(slot), (record) => (record === undefined ? undefined : { slot, record }))
    )
  }
}
