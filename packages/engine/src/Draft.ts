/**
 * The changes that a group of commands is about to commit, and what the namespace will look like
 * with them: later commands of the group see what earlier ones did. Nothing here touches the state;
 * `abandon` gives the slots back.
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
  readonly #state: NamespaceState
  readonly #store: OpenNamespace
  readonly #overlay = new Map<string, Found | undefined>()
  readonly #taken: Array<number> = []
  readonly #units: Array<CommitUnit> = []
  #changes: Array<Change> = []

  constructor(state: NamespaceState, store: OpenNamespace) {
    this.#state = state
    this.#store = store
  }

  get units(): ReadonlyArray<CommitUnit> {
    return this.#units
  }

  get isEmpty(): boolean {
    return this.#units.length === 0 && this.#changes.length === 0
  }

  /** A live memory by id, as the draft would leave it. */
  find(id: string): Effect.Effect<Found | undefined, StoreError> {
    if (this.#overlay.has(id)) return Effect.succeed(this.#overlay.get(id))
    return this.#stored(id, (slot) => this.#state.table.isLive(slot))
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
    this.#taken.push(slot)
    this.#put(slot, record, vector)
    return slot
  }

  replace(slot: number, record: MemoryRecord, vector: MemoryVector | undefined): void {
    this.#put(slot, record, vector)
  }

  patch(slot: number, record: MemoryRecord): void {
    this.#changes.push({ _tag: "Patch", slot, record, columns: memoryColumns(record) })
    this.#overlay.set(record.id, { slot, record })
  }

  remove(slot: number, id: string): void {
    this.#changes.push({ _tag: "Remove", slot })
    this.#overlay.set(id, undefined)
  }

  embed(slot: number, vector: MemoryVector): void {
    this.#changes.push({ _tag: "Embed", slot, vector })
  }

  /** Ends one command's part; its changes and its idempotency key commit together. */
  endUnit(idempotency: StoredResult | undefined): void {
    if (this.#changes.length > 0 || idempotency !== undefined) this.#units.push({ changes: this.#changes, idempotency })
    this.#changes = []
  }

  abandon(): void {
    for (const slot of this.#taken) this.#state.returnSlot(slot)
  }

  #put(slot: number, record: MemoryRecord, vector: MemoryVector | undefined): void {
    this.#changes.push({ _tag: "Put", slot, record, columns: memoryColumns(record), vector })
    this.#overlay.set(record.id, { slot, record })
  }

  #stored(id: string, isWanted: (slot: number) => boolean): Effect.Effect<Found | undefined, StoreError> {
    return Effect.flatMap(this.#store.slotOf(id), (slot) =>
      slot === undefined || !isWanted(slot)
        ? Effect.succeed(undefined)
        : Effect.map(this.#store.record(slot), (record) => (record === undefined ? undefined : { slot, record }))
    )
  }
}
