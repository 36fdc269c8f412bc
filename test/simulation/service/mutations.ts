/** Faults to put into the service on purpose, each as a change of one text in one module while it loads. */

export interface Mutation {
  readonly name: string
  /** Path below the repository's root. */
  readonly file: string
  /** Is there once. */
  readonly from: string
  readonly to: string
  /** Only the whole service has it. */
  readonly isWhole?: boolean
}

export const mutations: ReadonlyArray<Mutation> = [
  {
    name: "the log's sync left out",
    file: "packages/engine/src/log/SegmentWriter.ts",
    from: "if (isSync && this.#open !== undefined) fdatasyncSync(this.#open.file)",
    to: ""
  },
  {
    name: "the directory's sync left out",
    file: "packages/engine/src/log/SegmentWriter.ts",
    from: "renameSync(spare, path)\n      syncDirectory(this.#directory)\n",
    to: "renameSync(spare, path)\n"
  },
  {
    name: "nothing written again when the log opens",
    file: "packages/engine/src/log/LogScan.ts",
    from: "if (newest !== undefined) writeAgain(segmentPath(directory, newest))",
    to: ""
  },
  {
    name: "a sync of the log believed after one that failed",
    file: "packages/engine/src/log/LogScan.ts",
    from: "writeFully(file, bytes.subarray(0, used), 0)",
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
    from: "const filename = join(this.#directory, `${tag}.db`)\n    return this.#openFile(filename",
    to: "const filename = join(this.#directory, `${tag.slice(0, 0)}all.db`)\n    return this.#openFile(filename"
  },
  {
    name: "a record replayed twice",
    file: "packages/engine/src/store/sqlite/CommitTransaction.ts",
    from: "orders.filter((one) => one.ordinal > before.ordinal)",
    to: "orders"
  },
  {
    name: "an erasure not in the log",
    file: "packages/engine/src/log/SegmentWriter.ts",
    from: "writeFully(file, Buffer.alloc(length - headerBytes), offset + headerBytes)",
    to: "undefined",
    isWhole: true
  },
  {
    name: "a charge settled twice",
    file: "packages/control/src/credits/Reservations.ts",
    from: "const transfers = chargesOf(reservation, now)",
    to: "const transfers = chargesOf(reservation, now).flatMap((one) => [one, { ...one, key: `${one.key}:again` }])",
    isWhole: true
  },
  {
    name: "a repetition charged again",
    file: "packages/control/src/credits/Reservations.ts",
    from: "if (earlier?.settledAt !== undefined && earlier.settledAt >= now - Limits.reservationRetentionMillis) {",
    to: "if (false) {",
    isWhole: true
  },
  {
    name: "what a crash cut off is free",
    file: "packages/server/src/credits/OpenCharges.ts",
    from: 'ledger.decide(reservation, happened === "yes")',
    to: "ledger.decide(reservation, false)",
    isWhole: true
  },
  {
    name: "what a crash prevented is charged",
    file: "packages/server/src/credits/OpenCharges.ts",
    from: 'ledger.decide(reservation, happened === "yes")',
    to: "ledger.decide(reservation, true)",
    isWhole: true
  },
  {
    name: "a failed call keeps its hold",
    file: "packages/server/src/credits/ChargedCalls.ts",
    from: "return held === undefined ? Effect.void : this.#parts.ledger.void(held)",
    to: "return Effect.void",
    isWhole: true
  },
  {
    name: "a payment credited twice",
    file: "packages/control/src/payments/PaymentRows.ts",
    from: "yield* postTransfers(this.#sql, [depositOf(payment, now)])",
    to: "yield* postTransfers(this.#sql, [depositOf(payment, now), { ...depositOf(payment, now), key: `again:${id}` }])",
    isWhole: true
  },
  {
    name: "a payment credited before its chain has it",
    file: "packages/payments/src/settlement/PaymentDriver.ts",
    from: 'case "wait":\n          return open',
    to: 'case "wait":\n          return yield* this.#paid(payment, { _tag: "Paid", hash: "0x0", confirmations: 9, isFinal: true })',
    isWhole: true
  },
  {
    name: "a week of six days",
    file: "packages/server/src/jobs/AccountStorage.ts",
    from: "createdBefore: atMillis - retentionDays * dayMillis }",
    to: "createdBefore: atMillis - (retentionDays - 1) * dayMillis }",
    isWhole: true
  },
  {
    name: "two processes in one directory",
    file: "packages/server/src/DataDirectory.ts",
    from: "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE",
    to: "",
    isWhole: true
  },
  {
    name: "a hold that a crash left is never released",
    file: "packages/server/src/credits/OpenCharges.ts",
    from: 'if (happened === "yes" || (happened === "no" && isLate))',
    to: 'if (happened === "yes")',
    isWhole: true
  },
  {
    name: "a conversation that is sent again counts as another",
    file: "packages/server/src/extraction/ConversationMessages.ts",
    from: "{ ...words, occurrence: number, kinds: read }",
    to: "{ ...words, occurrence: number, kinds: read, at: performance.now() }",
    isWhole: true
  }
]
