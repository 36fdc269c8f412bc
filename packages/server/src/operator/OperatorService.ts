/**
 * Operator routes beyond accounts and keys (contract: Operator routes): the state of the service, and export and
 * import of memories with their ids.
 */
import { statfsSync } from "node:fs"
import { Clock, Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import {
  type Conflict,
  InvalidRequest,
  NotFound,
  type InsufficientStorage,
  type PayloadTooLarge,
  type Unavailable
} from "@muniment/domain/Errors"
import { namespaceTagOf } from "@muniment/domain/Ids"
import type { ClockStep } from "@muniment/domain/Operations"
import { Limits } from "@muniment/domain/Limits"
import type { ExportedMemory, MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import type { HnswlibModule } from "@muniment/engine/vectors/planner/PlannedIndex"
import type { IndexPin } from "@muniment/engine/vectors/planner/Planner"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { Embedder } from "@muniment/models/Embedder"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { type Comparison, ControlDatabase } from "@muniment/control/database/ControlDatabase"
import type { Ledger } from "@muniment/control/credits/Ledger"
import type { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { Payments } from "@muniment/payments/Payments"
import { RoundBook } from "@muniment/worker/RoundBook"
import { type PaymentHealth, paymentHealth } from "../credits/PaymentHealth.ts"
import { DataDirectory } from "../DataDirectory.ts"
import { CallsUnderWay } from "../identity/CallsUnderWay.ts"
import { clockStepText, JobClock } from "../jobs/JobClock.ts"
import { PendingConversations } from "../jobs/PendingConversations.ts"
import { Scrubber } from "../jobs/Scrubber.ts"
import { VectorBacklog } from "../jobs/VectorBacklog.ts"
import { HookDeliveries } from "../webhooks/HookDeliveries.ts"
import { WebhookDeliveries } from "../webhooks/WebhookDeliveries.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import { LastBackup } from "./LastBackup.ts"
import { serviceVersion } from "../version.ts"

interface ExportPage {
  readonly account: Account
  readonly schemas: ReadonlyArray<MemorySchema>
  readonly memories: ReadonlyArray<MemoryVersion>
  readonly next: ExportPosition | undefined
  readonly total: number
}

/** The namespace to continue with, and its last exported insertion. */
interface ExportPosition {
  readonly namespace: string
  readonly afterSeq: number
}

type MoveFailure = InvalidRequest | NotFound | PayloadTooLarge | Conflict | InsufficientStorage | Unavailable

export class OperatorService extends Context.Service<
  OperatorService,
  {
    readonly status: Effect.Effect<ServiceStatus>
    readonly account: (name: string) => Effect.Effect<Account, NotFound>
    readonly exportPage: (
      accountName: string,
      from: ExportPosition | undefined
    ) => Effect.Effect<ExportPage, NotFound | InsufficientStorage | Unavailable>
    readonly importRecords: (
      accountName: string,
      schemas: ReadonlyArray<MemorySchema>,
      records: ReadonlyArray<ExportedMemory>,
      /** Records whose data is stored under another id are skipped. */
      skipsDuplicates: boolean
    ) => Effect.Effect<{ readonly imported: number; readonly skipped: number }, MoveFailure>
  }
>()("muniment/server/OperatorService") {
  static readonly layer = (options: { readonly hnswlib: HnswlibModule | undefined; readonly index: IndexPin }) =>
    Layer.effect(this, make(options))
}

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly accounts: Accounts["Service"]
  readonly calls: CallsUnderWay["Service"]
  readonly registry: SchemaRegistry["Service"]
  readonly embedder: Embedder["Service"]
  readonly embedding: TextEmbedding["Service"]
  readonly backlog: VectorBacklog["Service"]
  readonly extractor: Extractor["Service"]
  readonly conversations: PendingConversations["Service"]
  readonly payments: Effect.Effect<PaymentHealth>
  readonly webhooks: WebhookDeliveries["Service"]
  readonly hooks: HookDeliveries["Service"]
  readonly clock: JobClock["Service"]
  readonly backup: LastBackup["Service"]
  readonly scrubber: Scrubber["Service"]
  readonly comparison: Comparison
  readonly rounds: RoundBook
  /** Data directory. */
  readonly path: string
  readonly index: IndexPin
  readonly isHnswMissing: boolean
}

const make = Effect.fnUntraced(function* (options: {
  readonly hnswlib: HnswlibModule | undefined
  readonly index: IndexPin
}) {
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    accounts: yield* Accounts,
    calls: yield* CallsUnderWay,
    registry: yield* SchemaRegistry,
    embedder: yield* Embedder,
    embedding: yield* TextEmbedding,
    backlog: yield* VectorBacklog,
    extractor: yield* Extractor,
    conversations: yield* PendingConversations,
    payments: Effect.provide(paymentHealth, yield* Effect.context<Ledger | PaymentJournal | Payments>()),
    webhooks: yield* WebhookDeliveries,
    hooks: yield* HookDeliveries,
    clock: yield* JobClock,
    backup: yield* LastBackup,
    scrubber: yield* Scrubber,
    comparison: (yield* ControlDatabase).comparison,
    rounds: yield* RoundBook.current,
    path: (yield* DataDirectory).path,
    index: options.index,
    isHnswMissing: options.index === "hnsw" && options.hnswlib === undefined
  }
  return {
    status: statusOf(parts),
    account: (name: string) => accountNamed(parts, name),
    exportPage: (accountName: string, from: ExportPosition | undefined) => exportPage(parts, accountName, from),
    importRecords: (
      accountName: string,
      schemas: ReadonlyArray<MemorySchema>,
      records: ReadonlyArray<ExportedMemory>,
      skipsDuplicates: boolean
    ) =>
      Effect.flatMap(accountNamed(parts, accountName), (owner) =>
        parts.calls.acting(owner.id, importRecords(parts, owner, schemas, records, skipsDuplicates))
      )
  }
})

const accountNamed = Effect.fnUntraced(function* ({ accounts }: Parts, name: string) {
  const found = (yield* accounts.byName(name)) ?? (yield* accounts.byId(name))
  return found ?? (yield* new NotFound({ code: "account_not_found", error: `there is no account "${name}"` }))
})

const statusOf = Effect.fnUntraced(function* (parts: Parts) {
  const { directory, embedder, extractor, host, index, isHnswMissing, path, backlog } = parts
  const { state, reason, defaultModel } = yield* embedder.status
  const { open, quarantined, ballastBytes, log } = yield* host.status
  const { pending } = yield* backlog.progress
  const waiting = yield* parts.conversations.total
  const clockStep = yield* parts.clock.step
  const backupAge = yield* parts.backup.ageMillis
  const scrub = yield* parts.scrubber.note
  const control = yield* parts.comparison.status
  const nowMillis = yield* Clock.currentTimeMillis
  const { bavail, bsize } = statfsSync(path)
  const freeBytes = bavail * bsize
  return {
    ready: true,
    version: serviceVersion,
    node: process.version,
    dataDirectory: path,
    embedding: { model: defaultModel ?? null, ready: state === "ready", detail: reason ?? state, pending },
    extraction: {
      reader: extractor.name,
      problem: (yield* extractor.problem) ?? null,
      pending: waiting.count,
      oldestSeconds: secondsOf(waiting.ageMillis)
    },
    index: {
      engine: index,
      isAvailable: !isHnswMissing,
      detail: isHnswMissing ? "exact scans only" : indexDetails[index]
    },
    namespaces: { total: directory.all().length, open },
    quarantined,
    payments: yield* parts.payments,
    webhooks: yield* parts.webhooks.health,
    hooks: yield* parts.hooks.health,
    clockStep: clockStep ?? null,
    backup: { ageSeconds: backupAge === undefined ? null : secondsOf(backupAge) },
    commitLog: log ?? null,
    control: {
      behind: control.behind,
      checkedSeconds: control.checkedAt === null ? null : secondsOf(Math.max(0, nowMillis - control.checkedAt))
    },
    scrub: {
      ageSeconds: scrub.finishedAt === null ? null : secondsOf(Math.max(0, nowMillis - scrub.finishedAt)),
      isRunning: scrub.startedAt !== null,
      files: scrub.files,
      damaged: scrub.damaged
    },
    rounds: parts.rounds.states.map((state) => ({ ...state, lastFailure: state.lastFailure ?? null })),
    disk: { freeBytes, ballastBytes },
    warnings: warningsOf({
      wordsOnly: state === "unavailable" ? (reason ?? "no embedding model") : undefined,
      isHnswMissing,
      quarantined: quarantined.length,
      freeBytes,
      clockStep
    })
  } satisfies ServiceStatus
})

const secondsOf = (millis: number): number => Math.round(millis / 1_000)

/** Warnings for the operator, each with the way to mend it. */
const warningsOf = (state: {
  /** Why there are no vectors. */
  readonly wordsOnly: string | undefined
  readonly isHnswMissing: boolean
  readonly quarantined: number
  readonly freeBytes: number
  readonly clockStep: ClockStep | undefined
}): ReadonlyArray<string> => [
  ...(state.clockStep === undefined ? [] : [clockStepText(state.clockStep)]),
  ...(state.wordsOnly === undefined
    ? []
    : [`search is by words alone: ${state.wordsOnly}; mend it with: npm run setup`]),
  ...(state.isHnswMissing ? [hnswMissing] : []),
  ...(state.quarantined === 0
    ? []
    : [`${state.quarantined} damaged namespace file(s) are set aside; restore them from a backup`]),
  ...(state.freeBytes < Limits.filesystemBallastBytes * 4
    ? ["the disk is nearly full: writes are refused until there is room; reads and deletes work"]
    : [])
]

const hnswMissing =
  "MUNIMENT_INDEX is hnsw, but hnswlib-node is not built, so every search is an exact scan; leave the variable out, or mend it with a C++ compiler and: npm rebuild hnswlib-node"

const exportPage = Effect.fn("OperatorService.exportPage")(function* (
  parts: Parts,
  accountName: string,
  from: ExportPosition | undefined
) {
  const { directory, host, registry } = parts
  const owner = yield* accountNamed(parts, accountName)
  const keys = directory.list(owner.id)
  const first =
    from === undefined
      ? 0
      : Math.max(
          0,
          keys.findIndex(({ tag }) => tag === from.namespace)
        )
  const memories: Array<MemoryVersion> = []
  let next: ExportPosition | undefined
  let total = 0
  for (const key of keys) total += (yield* host.answer(key, { _tag: "Counts" })).live
  for (let at = first; at < keys.length && next === undefined; at++) {
    const key = keys[at]!
    const afterSeq = from !== undefined && key.tag === from.namespace ? from.afterSeq : -1
    const room = Limits.listPageMax - memories.length
    const { versions, lastSeq } = yield* host.answer(key, { _tag: "Inserted", afterSeq, limit: room })
    memories.push(...versions)
    if (versions.length >= room && lastSeq !== undefined) next = { namespace: key.tag, afterSeq: lastSeq }
  }
  return { account: owner, schemas: from === undefined ? yield* registry.list(owner.id) : [], memories, next, total }
})

const importSchemas = Effect.fnUntraced(function* (
  { registry }: Parts,
  owner: Account,
  schemas: ReadonlyArray<MemorySchema>
) {
  for (const { name, description, schema, uniqueOn } of schemas) {
    yield* registry
      .register(owner.id, { name, description, schema, ...(uniqueOn !== undefined && { uniqueOn }) })
      .pipe(Effect.catchTag("Conflict", () => Effect.void))
  }
})

/** The namespace of an agent, reachable under the tags that the imported ids carry. */
const namespaceFor = Effect.fnUntraced(function* (
  { directory }: Parts,
  owner: Account,
  agentId: string,
  records: ReadonlyArray<ExportedMemory>
) {
  const own = yield* directory.ensure(owner.id, agentId)
  for (const { id } of records) {
    const tag = namespaceTagOf(id)
    if (tag === undefined)
      return yield* new InvalidRequest({ code: "invalid_request", error: `"${id}" is not a memory id` })
    if (tag !== own.tag) yield* directory.addAlias(tag, own.tag)
  }
  return own satisfies NamespaceKey
})

const importRecords = Effect.fn("OperatorService.importRecords")(function* (
  parts: Parts,
  owner: Account,
  schemas: ReadonlyArray<MemorySchema>,
  records: ReadonlyArray<ExportedMemory>,
  skipsDuplicates: boolean
) {
  yield* importSchemas(parts, owner, schemas)
  let imported = 0
  for (const [agentId, batch] of Map.groupBy(records, (record) => record.agentId)) {
    const key = yield* namespaceFor(parts, owner, agentId, batch)
    const whole = batch.map((record): MemoryRecord => ({ ...record, contentHash: contentHash(record) }))
    imported += yield* parts.embedding.storing(key, whole, "never", (vectors) =>
      parts.host.ask(key, {
        _tag: "ImportRecords",
        skipsDuplicates,
        records: whole.map((record, at) => ({ record, vector: vectors[at] }))
      })
    )
  }
  return { imported, skipped: records.length - imported }
})

/** Index behind each setting of `MUNIMENT_INDEX`. */
const indexDetails: Readonly<Record<IndexPin, string>> = {
  auto: "exact scans and quantised lists, by estimated cost",
  exact: "exact scans only",
  quantized: "quantised lists",
  hnsw: "HNSW graphs"
}
