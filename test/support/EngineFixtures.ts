/**
 * Fixtures of the engine: keys, records, commands, the host over a real directory, and a probe between actor and store
 * that records calls and fails them on demand.
 */
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind, type MemoryRecord } from "@muniment/domain/Memory"
import type {
  ConversationCommit,
  PatchMemories,
  PreparedMemory,
  StoreMemories
} from "@muniment/engine/namespace/Commands"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { loadKernels } from "@muniment/engine/vectors/arena/Kernels"
import { SlabPool } from "@muniment/engine/vectors/arena/Slab"
import type { IndexSettings } from "@muniment/engine/namespace/NamespaceVectors"
import type { ConversationTurn } from "@muniment/engine/store/Conversations"
import {
  NamespaceStore,
  type Pace,
  type CensusOptions,
  type NamespaceKey,
  type OpenNamespace
} from "@muniment/engine/store/NamespaceStore"
import type { CommandChanges, MemoryVector } from "@muniment/engine/store/Commit"
import type { StoreError } from "@muniment/engine/store/StoreError"
import { contentHash, sha256Hex } from "@muniment/trust/CanonicalJson"
import { liveClock } from "./liveClock.ts"
import { logFirst } from "./SharedLog.ts"

/** WebAssembly memory of all indexes of a test file. */
export const slabs = new SlabPool(loadKernels())
export const exactOnly: IndexSettings = { hnswlib: undefined, pin: "exact", slabs }

export const namespaceKey = (agentId = "agent", account = "acc_test"): NamespaceKey => ({
  tag: sha256Hex(`${account}\0${agentId}`).slice(0, 12),
  account,
  agentId
})

/** A record with the fact `text`; its id contains the number. */
export const memoryRecord = (number: number, text: string, fields: Partial<MemoryRecord> = {}): MemoryRecord => {
  const agentId = fields.agentId ?? "agent"
  const kind = fields.kind ?? "factual_memory"
  const data = fields.data ?? { fact: text }
  return {
    id: `mem_${String(number).padStart(26, "0")}`,
    agentId,
    kind,
    data,
    tags: [],
    mentions: [],
    confidence: 1,
    contentHash: contentHash({ agentId, data, kind }),
    createdAt: 1_000 + number,
    updatedAt: 1_000 + number,
    origin: "direct",
    ...fields
  }
}

export const newMemory = (record: MemoryRecord, vector?: MemoryVector): PreparedMemory => ({
  record,
  vector,
  isReplacement: false,
  setsExpiry: record.expiresAt !== undefined
})

export const replacementOf = (record: MemoryRecord, vector?: MemoryVector): PreparedMemory => ({
  ...newMemory(record, vector),
  isReplacement: true
})

export const creating = (memories: ReadonlyArray<PreparedMemory>, key?: string, fingerprint = "f"): StoreMemories => ({
  _tag: "StoreMemories",
  memories,
  idempotency: key === undefined ? undefined : { key, fingerprint }
})

/** The message of this number as a memory. */
export const messageRecord = (number: number, text: string, fields: Partial<MemoryRecord> = {}): MemoryRecord =>
  memoryRecord(number, text, {
    kind: conversationMessageKind,
    data: { role: turnOf(number).role, text },
    origin: "conversation",
    sources: [{ key: turnOf(number).key }],
    ...fields
  })

/** A kept turn of a conversation; its key is hex. */
export const turnOf = (number: number, content = `message ${number}`): ConversationTurn => ({
  key: number.toString(16).padStart(4, "0"),
  role: number % 2 === 0 ? "assistant" : "user",
  content
})

/** An extraction from the messages of these numbers; default scope: no subject and no thread. */
export const extracting = (
  numbers: ReadonlyArray<number>,
  memories: ReadonlyArray<MemoryRecord> = [],
  conversation: Partial<ConversationCommit> = {}
): StoreMemories => {
  const turns = numbers.map((number) => turnOf(number))
  const processed = turns.map(({ key }) => key)
  return {
    ...creating(memories.map((record) => newMemory(record))),
    skipsDuplicates: true,
    conversation: { scope: {}, processed, isForced: false, turns, summary: undefined, ...conversation }
  }
}

/** Unit vector[dims] along axis `at`, slightly towards the next axis. */
export const axisVector = (at: number, dims = 8, model = "test-model"): MemoryVector => {
  const values = new Float32Array(dims)
  values[at % dims] = Math.cos(at / 100)
  values[(at + 1) % dims] = Math.sin(at / 100)
  return { model, values }
}

const pauseMillis = 10

/** Asks until it is so: what a round of the test's clock begins ends on threads, in real time. */
export const until = <A, E, R>(ask: Effect.Effect<A, E, R>, isSo: (answer: A) => boolean): Effect.Effect<void, E, R> =>
  Effect.flatMap(ask, (answer) =>
    isSo(answer)
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => pause(pauseMillis)),
          until(ask, isSo)
        )
  )

/** The same while time goes on: a round sleeps from where the one before it has ended. */
export const untilLater = <A, E, R>(
  ask: Effect.Effect<A, E, R>,
  isSo: (answer: A) => boolean,
  stepMillis = Limits.expirySweepMillis / 10
) =>
  until(
    Effect.tap(ask, (answer) => (isSo(answer) ? Effect.void : TestClock.adjust(stepMillis))),
    isSo
  )

/** A call of the store, as a probe sees it. */
export type StoreCall =
  | { readonly name: "open" | "census" | "check" | "events"; readonly key: NamespaceKey }
  | { readonly name: "commit"; readonly key: NamespaceKey; readonly group: ReadonlyArray<CommandChanges> }
  | { readonly name: "record" | "records" | "slotOf" | "checkpoint" | "storedResult"; readonly key: NamespaceKey }

export class StoreProbe {
  readonly calls: Array<StoreCall> = []
  /** Runs before a call, and may fail it: then the call does not happen. */
  before: (call: StoreCall) => Effect.Effect<void, StoreError> = () => Effect.void
  /** Runs after a call that succeeded, and may fail it: then the call has happened and the caller does not know. */
  after: (call: StoreCall) => Effect.Effect<void, StoreError> = () => Effect.void

  /** What the next checks of files find, and what no log makes again; empty: what is there. */
  faults: ReadonlyArray<string> = []

  count(name: StoreCall["name"]): number {
    return this.calls.filter((call) => call.name === name).length
  }

  /** Fails the next call of this name with `error`. */
  failNext(name: StoreCall["name"], error: StoreError, when: "before" | "after" = "before"): void {
    this[when] = (call) => {
      if (call.name !== name) return Effect.void
      this[when] = () => Effect.void
      return Effect.fail(error)
    }
  }

  around<A, R>(call: StoreCall, effect: Effect.Effect<A, StoreError, R>): Effect.Effect<A, StoreError, R> {
    return Effect.suspend(() => {
      this.calls.push(call)
      return Effect.andThen(
        this.before(call),
        Effect.tap(effect, () => this.after(call))
      )
    })
  }
}

/** The store of the service with a probe in front of it. */
export const probedStore = (directory: string, probe: StoreProbe): Layer.Layer<NamespaceStore> =>
  Layer.effect(
    NamespaceStore,
    Effect.map(NamespaceStore, (store) => ({
      open: (key: NamespaceKey) =>
        Effect.map(probe.around({ name: "open", key }, store.open(key)), (file) => probedFile(file, probe)),
      census: (key: NamespaceKey, options: CensusOptions) =>
        probe.around({ name: "census", key }, store.census(key, options)),
      check: (key: NamespaceKey, pace: Pace) =>
        probe.around(
          { name: "check", key },
          probe.faults.length > 0 ? Effect.succeed({ bytes: 0, faults: probe.faults }) : store.check(key, pace)
        ),
      checkFile: store.checkFile,
      storedBytes: store.storedBytes,
      events: (key: NamespaceKey, after: number, limit: number) =>
        probe.around({ name: "events", key }, store.events(key, after, limit)),
      remake: (key: NamespaceKey) => (probe.faults.length > 0 ? Effect.succeed(false) : store.remake(key)),
      settleAll: store.settleAll,
      releaseRoom: store.releaseRoom,
      archive: store.archive,
      logStatus: store.logStatus,
      files: store.files,
      remove: store.remove
    }))
  ).pipe(Layer.provide(logFirst(directory)), Layer.provide(liveClock))

const probedFile = (file: OpenNamespace, probe: StoreProbe): OpenNamespace => {
  const { key } = file
  return {
    key,
    lastSeq: file.lastSeq,
    bytes: () => file.bytes(),
    postings: file.postings,
    conversations: file.conversations,
    snapshotPath: file.snapshotPath,
    whole: (use) => file.whole(use),
    sweepConversations: (now) => file.sweepConversations(now),
    slotsOfData: (range, wanted) => file.slotsOfData(range, wanted),
    segments: file.segments,
    commit: (seq, group, at) => probe.around({ name: "commit", key, group }, file.commit(seq, group, at)),
    storedResult: (token, since) => probe.around({ name: "storedResult", key }, file.storedResult(token, since)),
    record: (slot) => probe.around({ name: "record", key }, file.record(slot)),
    records: (slots) => probe.around({ name: "records", key }, file.records(slots)),
    slotOf: (id) => probe.around({ name: "slotOf", key }, file.slotOf(id)),
    slotsTakenFrom: (scope, keys) => file.slotsTakenFrom(scope, keys),
    slotsOfContent: (hash, subject) => file.slotsOfContent(hash, subject),
    discardCopies: file.discardCopies,
    checkpoint: (mode) => probe.around({ name: "checkpoint", key }, file.checkpoint(mode))
  }
}

export interface EngineOptions {
  readonly probe?: StoreProbe
  readonly index?: IndexSettings
  readonly openMax?: number
  readonly expiresBy?: Effect.Effect<number>
  readonly maintainMillis?: number
}

/** Host and search over a directory; providing it again is a restart. */
export const engineOf = (directory: string, options: EngineOptions = {}) =>
  MemorySearch.layer.pipe(
    Layer.provideMerge(
      NamespaceHost.layer({
        dataDirectory: directory,
        index: options.index ?? exactOnly,
        ...(options.openMax !== undefined && { openMax: options.openMax }),
        ...(options.expiresBy !== undefined && { expiresBy: options.expiresBy }),
        ...(options.maintainMillis !== undefined && { maintainMillis: options.maintainMillis })
      })
    ),
    Layer.provide(probedStore(directory, options.probe ?? new StoreProbe())),
    Layer.fresh
  )

/** A change in place of these memories. */
export const patching = (
  ids: ReadonlyArray<string>,
  patch: PatchMemories["patch"],
  atMillis: number
): PatchMemories => ({ _tag: "PatchMemories", ids, patch, atMillis, idempotency: undefined })

/** Every live memory of a namespace by id, superseded versions included. */
export const allOf = Effect.fnUntraced(function* (key: NamespaceKey) {
  const search = yield* MemorySearch
  const { memories } = yield* search.list([key], { includeSuperseded: true }, { after: undefined, limit: 10_000 })
  return new Map(memories.map((memory) => [memory.id, memory]))
})
