/**
 * What the operator routes do beyond accounts and keys: the state of the service, and moving
 * memories in and out with their ids.
 */
import { statfsSync } from "node:fs"
import { Context, Effect, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import {
  type Conflict,
  InvalidRequest,
  NotFound,
  type InsufficientStorage,
  type Unavailable
} from "@muniment/domain/Errors"
import { namespaceTagOf } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import type { ExportedMemory, MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import type { HnswlibModule } from "@muniment/engine/index/Hnswlib"
import type { IndexPin } from "@muniment/engine/index/Planner"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { Accounts } from "@muniment/ledger/Accounts"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { SchemaRegistry } from "@muniment/ledger/SchemaRegistry"
import { Embedder } from "@muniment/models/Embedder"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { DataDirectory } from "../DataDirectory.ts"
import { Reembed } from "../jobs/Reembed.ts"
import { QueryEmbedding } from "../memories/QueryEmbedding.ts"
import { serviceVersion } from "../version.ts"

export interface ExportPage {
  readonly account: Account
  readonly schemas: ReadonlyArray<MemorySchema>
  readonly memories: ReadonlyArray<MemoryVersion>
  readonly next: ExportPosition | undefined
  readonly total: number
}

/** The namespace to go on with, and the last insertion that was exported of it. */
export interface ExportPosition {
  readonly namespace: string
  readonly afterSeq: number
}

type MoveFailure = InvalidRequest | NotFound | Conflict | InsufficientStorage | Unavailable

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
      records: ReadonlyArray<ExportedMemory>
    ) => Effect.Effect<{ readonly imported: number; readonly skipped: number }, MoveFailure>
  }
>()("muniment/server/OperatorService") {
  static readonly layer = (options: { readonly hnswlib: HnswlibModule | undefined; readonly index: IndexPin }) =>
    Layer.effect(this, make(options))
}

const make = Effect.fnUntraced(function* (options: {
  readonly hnswlib: HnswlibModule | undefined
  readonly index: IndexPin
}) {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const accounts = yield* Accounts
  const registry = yield* SchemaRegistry
  const embedder = yield* Embedder
  const embedding = yield* QueryEmbedding
  const reembed = yield* Reembed
  const extractor = yield* Extractor
  const { path } = yield* DataDirectory

  const account = Effect.fnUntraced(function* (name: string) {
    const found = (yield* accounts.byName(name)) ?? (yield* accounts.byId(name))
    return found ?? (yield* new NotFound({ code: "account_not_found", error: `there is no account "${name}"` }))
  })

  const isHnswMissing = options.index === "hnsw" && options.hnswlib === undefined
  const status = Effect.gen(function* () {
    const { state, reason, defaultModel } = yield* embedder.status
    const { open, quarantined, ballastBytes } = yield* host.status
    const { pending } = yield* reembed.progress
    const { bavail, bsize } = statfsSync(path)
    const freeBytes = bavail * bsize
    const warnings: Array<string> = []
    if (state === "unavailable")
      warnings.push(`search is by words alone: ${reason ?? "no embedding model"}; mend it with: npm run setup`)
    if (isHnswMissing)
      warnings.push(
        "MUNIMENT_INDEX is hnsw, but hnswlib-node is not built, so every search is an exact scan; leave the variable out, or mend it with a C++ compiler and: npm rebuild hnswlib-node"
      )
    if (quarantined.length > 0)
      warnings.push(`${quarantined.length} damaged namespace file(s) are set aside; restore them from a backup`)
    if (freeBytes < Limits.filesystemBallastBytes * 4) warnings.push("the disk is nearly full")
    return {
      ready: true,
      version: serviceVersion,
      node: process.version,
      dataDirectory: path,
      embedding: { model: defaultModel ?? null, ready: state === "ready", detail: reason ?? state, pending },
      extraction: { reader: extractor.name },
      index: {
        engine: options.index,
        isAvailable: !isHnswMissing,
        detail: isHnswMissing ? "exact scans only" : indexDetails[options.index]
      },
      namespaces: { total: directory.all().length, open },
      quarantined,
      disk: { freeBytes, ballastBytes },
      warnings
    } satisfies ServiceStatus
  })

  const exportPage = Effect.fn("OperatorService.exportPage")(function* (
    accountName: string,
    from: ExportPosition | undefined
  ) {
    const owner = yield* account(accountName)
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
    for (const key of keys) total += yield* host.read(key, (reader, now) => reader.counts(now).live)
    for (let at = first; at < keys.length && next === undefined; at++) {
      const key = keys[at]!
      const afterSeq = from !== undefined && key.tag === from.namespace ? from.afterSeq : -1
      const room = Limits.listPageMax - memories.length
      const { versions, lastSeq } = yield* host.readRecords(key, (reader, now) => reader.inserted(afterSeq, room, now))
      memories.push(...versions)
      if (versions.length >= room && lastSeq !== undefined) next = { namespace: key.tag, afterSeq: lastSeq }
    }
    return { account: owner, schemas: from === undefined ? yield* registry.list(owner.id) : [], memories, next, total }
  })

  const importSchemas = Effect.fnUntraced(function* (owner: Account, schemas: ReadonlyArray<MemorySchema>) {
    for (const { name, description, schema, uniqueOn } of schemas) {
      yield* registry
        .register(owner.id, { name, description, schema, ...(uniqueOn !== undefined && { uniqueOn }) })
        .pipe(Effect.catchTag("Conflict", () => Effect.void))
    }
  })

  /** The namespace of an agent, reachable under the tags that the imported ids carry. */
  const namespaceFor = Effect.fnUntraced(function* (
    owner: Account,
    agentId: string,
    records: ReadonlyArray<ExportedMemory>
  ) {
    const own = yield* directory.ensure(owner.id, agentId)
    for (const { id } of records) {
      const tag = namespaceTagOf(id)
      if (tag === undefined)
        return yield* new InvalidRequest({ code: "invalid_request", error: `"${id}" is not a memory id` })
      if (tag !== own) yield* directory.addAlias(tag, own)
    }
    return directory.byTag(own)! satisfies NamespaceKey
  })

  const importRecords = Effect.fn("OperatorService.importRecords")(function* (
    accountName: string,
    schemas: ReadonlyArray<MemorySchema>,
    records: ReadonlyArray<ExportedMemory>
  ) {
    const owner = yield* account(accountName)
    yield* importSchemas(owner, schemas)
    let imported = 0
    for (const [agentId, batch] of Map.groupBy(records, (record) => record.agentId)) {
      const key = yield* namespaceFor(owner, agentId, batch)
      const whole = batch.map((record): MemoryRecord => ({ ...record, contentHash: contentHash(record) }))
      const vectors = yield* embedding.passages(whole)
      imported += yield* host.ask(key, {
        _tag: "ImportRecords",
        records: whole.map((record, at) => ({ record, vector: vectors[at] }))
      })
    }
    return { imported, skipped: records.length - imported }
  })

  return { status, account, exportPage, importRecords }
})

/** What serves under each setting of `MUNIMENT_INDEX`. */
const indexDetails: Readonly<Record<IndexPin, string>> = {
  auto: "exact scans and quantised lists, by estimated cost",
  exact: "exact scans only",
  quantized: "quantised lists",
  hnsw: "HNSW graphs"
}
