/** Faults to put into the service on purpose, each as a change of one text in one module while it loads. */

export interface Mutation {
  readonly name: string
  /** Path below the repository's root. */
  readonly file: string
  /** Is there once. */
  readonly from: string
  readonly to: string
}

export const mutations: ReadonlyArray<Mutation> = [
  {
    name: "the log's sync left out",
    file: "packages/engine/src/log/SegmentWriter.ts",
    from: "if (isSync && this.#open !== undefined) fdatasyncSync(this.#open.file)",
    to: ""
  },
  {
    name: "acknowledged before the sync",
    file: "packages/engine/src/store/logged/LoggedNamespace.ts",
    from: "yield* logged(this.#log.whenSynced(entry.ordinal))",
    to: ""
  },
  {
    name: "copy claims a record that it lacks",
    file: "packages/engine/src/store/sqlite/CommitTransaction.ts",
    from: "ordinal = order.ordinal\n",
    to: "ordinal = order.ordinal + 1\n"
  },
  {
    name: "overlay not read by slot",
    file: "packages/engine/src/store/logged/Overlay.ts",
    from: "return this.#slots.get(slot)?.record",
    to: "return undefined"
  },
  {
    name: "overlay not read by id",
    file: "packages/engine/src/store/logged/Overlay.ts",
    from: "return this.#slotOfId.get(id)",
    to: "return undefined"
  },
  {
    name: "overlay not read by idempotency key",
    file: "packages/engine/src/store/logged/Overlay.ts",
    from: "return this.#results.get(key)?.result",
    to: "return undefined"
  },
  {
    name: "idempotency result not in the commit",
    file: "packages/engine/src/store/sqlite/CommitTransaction.ts",
    from: "if (idempotency !== undefined) this.#storeResult(idempotency, atMillis)",
    to: ""
  },
  {
    name: "replay without the last record",
    file: "packages/engine/src/log/FileLog.ts",
    from: ".filter(({ ordinal }) => ordinal <= this.#queue.syncedOrdinal && ",
    to: ".filter(({ ordinal }) => ordinal < this.#queue.syncedOrdinal && "
  },
  {
    name: "overlay forgets what the copy lacks",
    file: "packages/engine/src/store/logged/Overlay.ts",
    from: "this.#slotOfId.set(record.id, slot)",
    to: "this.#slots.delete(slot)"
  },
  {
    name: "torn tail taken for whole",
    file: "packages/engine/src/log/LogScan.ts",
    from: "const isWhole = isBodyWhole(bytes, offset, header)",
    to: "const isWhole = true"
  },
  {
    name: "purge off by a day",
    file: "packages/engine/src/namespace/CommandPlanner.ts",
    from: "table.slotsWhere(({ createdAt }) => createdAt < beforeMillis,",
    to: "table.slotsWhere(({ createdAt }) => createdAt < beforeMillis - 86_400_000,"
  },
  {
    name: "a delete not in the log",
    file: "packages/engine/src/store/sqlite/CommitTransaction.ts",
    from: 'database.prepare("DELETE FROM memory WHERE slot = ?").run(change.slot)',
    to: ""
  },
  {
    name: "namespaces not told apart in the log",
    file: "packages/engine/src/log/LogIndex.ts",
    from: "const found = (lastOrdinal > afterOrdinal ? commits.get(tag) : undefined) ?? []",
    to: "const found = lastOrdinal > afterOrdinal ? [...commits.values()].flat() : []"
  },
  {
    name: "tenant left out of the file's name",
    file: "packages/engine/src/store/logged/LogFirstStore.ts",
    from: "const filename = join(this.#directory, `${tag}.db`)\n      // One log",
    to: "const filename = join(this.#directory, `${tag.slice(0, 0)}all.db`)\n      // One log"
  }
]
