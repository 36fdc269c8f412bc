/**
 * The tools of an account, listed and called (contract: MCP). They are looked up for every request: a schema that
 * was registered a moment ago is a tool now. A call is repeated and charged as a request of REST is, with
 * the idempotency key and the payment in the message's `_meta`.
 */
import { noteAgent, RequestAccount } from "../http/RequestLog.ts"
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Identity } from "@muniment/domain/Identity"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import { traced } from "@muniment/domain/traced"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { IdempotencyStore } from "@muniment/control/requests/IdempotencyStore"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { factKinds } from "@muniment/schemas/BuiltinKinds"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import { ChargedCalls } from "../credits/ChargedCalls.ts"
import type { PaymentCarrier } from "../credits/PaymentCarrier.ts"
import { MemoryContext } from "../context/MemoryContext.ts"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import { once } from "../http/Middleware.ts"
import { keptAnswersOf } from "../identity/KeyScopes.ts"
import { hasTool } from "../memories/KnownKinds.ts"
import { MemoryService } from "../memories/MemoryService.ts"
import { CallerSearch } from "../search/CallerSearch.ts"
import { rpcCodes, RpcFailure } from "./JsonRpc.ts"
import { type MemoryTool, scopeDefaults, type ToolInput, toolListing, withDefaults, writeTool } from "./MemoryTool.ts"
import { memoryTools } from "./MemoryTools.ts"
import {
  creditsMeta,
  failureResult,
  metaCarrier,
  metaNames,
  paymentMeta,
  successResult,
  type ToolFailure
} from "./ToolResult.ts"

type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Characters of schemas on one page of a listing: parsed and serialised on the event loop at once. */
const pageSchemaLengthMax = 524_288

export class McpTools extends Context.Service<
  McpTools,
  {
    /** A page of the account's tools; all of them unless their schemas are large. */
    readonly list: (
      caller: Identity,
      params: JsonObject,
      headers: RequestHeaders
    ) => Effect.Effect<JsonObject, RpcFailure>
    /** Failures of a tool are results; an unknown tool or malformed parameters fail. */
    readonly call: (
      caller: Identity,
      params: JsonObject,
      headers: RequestHeaders
    ) => Effect.Effect<JsonObject, RpcFailure, HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/McpTools") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

interface Parts {
  readonly registry: SchemaRegistry["Service"]
  readonly store: IdempotencyStore["Service"]
  readonly calls: ChargedCalls["Service"]
  readonly memories: MemoryService["Service"]
  /** Tools that every account has. */
  readonly fixed: ReadonlyArray<MemoryTool>
}

const make = Effect.gen(function* () {
  const memories = yield* MemoryService
  const parts: Parts = {
    registry: yield* SchemaRegistry,
    store: yield* IdempotencyStore,
    calls: yield* ChargedCalls,
    memories,
    fixed: memoryTools({
      memories,
      extraction: yield* ConversationExtraction,
      searches: yield* CallerSearch,
      contexts: yield* MemoryContext
    })
  }
  return {
    list: (caller: Identity, params: JsonObject, headers: RequestHeaders) => list(parts, caller, params, headers),
    call: (caller: Identity, params: JsonObject, headers: RequestHeaders) => call(parts, caller, params, headers)
  }
})

/** Kinds that the account can store now and that are for agents, by the names of their tools. */
const kindsOf = ({ registry }: Parts, account: string) =>
  Effect.map(
    registry.list(account),
    (registered) => new Map([...writeToolNames([...factKinds, ...registered])].filter(([, kind]) => hasTool(kind)))
  )

const find = Effect.fnUntraced(function* (parts: Parts, account: string, name: string) {
  const known = parts.fixed.find((tool) => tool.name === name)
  if (known !== undefined) return known
  const kind = (yield* kindsOf(parts, account)).get(name)
  return kind === undefined ? undefined : writeTool(name, kind, parts.memories)
})

const list = traced("McpTools.list")(function* (
  parts: Parts,
  caller: Identity,
  params: JsonObject,
  headers: RequestHeaders
) {
  const writing = Array.from(yield* kindsOf(parts, caller.account.id), ([name, kind]) => ({
    tool: writeTool(name, kind, parts.memories),
    schemaLength: kind.schema.length
  }))
  const all = [...parts.fixed.map((tool) => ({ tool, schemaLength: 0 })), ...writing]
  const from = yield* pageStart(params["cursor"], all.length)
  let end = from
  for (let length = 0; end < all.length; end++) {
    length += all[end]!.schemaLength
    if (end > from && length > pageSchemaLengthMax) break
  }
  const defaults = scopeDefaults(headers)
  return {
    tools: all.slice(from, end).map(({ tool }) => toolListing(tool, defaults)),
    ...(end < all.length && { nextCursor: String(end) })
  }
})

/** The text of the answer, charged. */
const charged = (
  { calls }: Parts,
  tool: MemoryTool,
  caller: Identity,
  input: ToolInput,
  carrier: PaymentCarrier,
  token: IdempotencyToken | undefined
) =>
  Effect.flatMap(RequestAccount, (known) =>
    calls.charge(
      {
        caller,
        operation: tool.operation,
        price: tool.price,
        isWrite: !tool.hints.isReadOnly,
        token,
        carrier: () => carrier,
        onAgent: noteAgent(known)
      },
      (call) => Effect.map(tool.run(call, input), (answer) => JSON.stringify({ success: true, ...answer }))
    )
  )

const run = Effect.fnUntraced(function* (
  parts: Parts,
  tool: MemoryTool,
  caller: Identity,
  input: ToolInput,
  carrier: PaymentCarrier,
  clientKey: unknown
) {
  const act = (token: IdempotencyToken | undefined) => charged(parts, tool, caller, input, carrier, token)
  if (clientKey === undefined || tool.hints.isReadOnly) {
    return { _tag: "First", value: yield* act(undefined) } as const
  }
  if (typeof clientKey !== "string") {
    return yield* new InvalidRequest({
      code: "invalid_request",
      error: `${metaNames.idempotencyKey} must be a string`
    })
  }
  const contentHash = sha256Hex(canonicalJson(input.arguments))
  const repeatable = {
    account: caller.account.id,
    route: `tools/call ${tool.name}${keptAnswersOf(caller)}`,
    clientKey,
    contentHash,
    fingerprint: sha256Hex(`${tool.name}\n${contentHash}`)
  }
  return yield* once(parts.store, repeatable, act, ({ value }) => ({ status: 200, text: value }))
})

const call = traced("McpTools.call")(function* (
  parts: Parts,
  caller: Identity,
  params: JsonObject,
  headers: RequestHeaders
) {
  const { _meta, arguments: given = {}, name } = params
  if (typeof name !== "string" || !isJsonObject(given)) {
    return yield* invalidParams("a call has the `name` of a tool and its `arguments`, an object")
  }
  const tool = yield* find(parts, caller.account.id, name)
  if (tool === undefined)
    return yield* invalidParams(`there is no tool ${shown(name)}; tools/list names those there are`)
  const meta = isJsonObject(_meta) ? _meta : {}
  const request = yield* HttpServerRequest.HttpServerRequest
  const { carrier, news } = metaCarrier(request, meta[metaNames.payment])
  const input = {
    arguments: withDefaults(given, scopeDefaults(headers)),
    chosen: Object.keys(given).filter((argument) => given[argument] !== null),
    grants: headers["x-grants"]
  }
  return yield* run(parts, tool, caller, input, carrier, meta[metaNames.idempotencyKey]).pipe(
    Effect.match({
      onFailure: (failure: ToolFailure) => failureResult(failure, news),
      onSuccess: (outcome) =>
        outcome._tag === "First"
          ? successResult(outcome.value.value, { ...paymentMeta(news), ...creditsMeta(outcome.value) })
          : successResult(outcome.answer.text, { [metaNames.idempotencyReplayed]: true })
    })
  )
})

const pageStart = (cursor: unknown, count: number): Effect.Effect<number, RpcFailure> => {
  if (cursor === undefined) return Effect.succeed(0)
  const start = typeof cursor === "string" && /^[1-9][0-9]{0,5}$/.test(cursor) ? Number(cursor) : count
  return start < count
    ? Effect.succeed(start)
    : invalidParams("the cursor is not one of this service, or its tools are gone")
}

const invalidParams = (reason: string): Effect.Effect<never, RpcFailure> =>
  Effect.fail(new RpcFailure({ code: rpcCodes.invalidParams, reason }))

const shown = (name: string): string => JSON.stringify(name.slice(0, toolNameLengthMax))

/**
 * Names of the tools that write one kind each (contract: MCP): `write_` and the kind's name in snake case.
 * Deterministic: built-in kinds first, then by age. The first kind has the plain name, later ones with the
 * same name carry a hash of their kind's name: registering a schema never renames an existing tool.
 *
 * What clients and model providers take.
 */
export const toolNameLengthMax = 64

const prefix = "write_"
const hashLength = 8

/** Schemas by the name of their tool, in the order of the names' making. */
export const writeToolNames = (kinds: ReadonlyArray<MemorySchema>): ReadonlyMap<string, MemorySchema> => {
  const named = new Map<string, MemorySchema>()
  for (const kind of kinds.toSorted(byAge)) {
    const plain = toolName(kind.name)
    let name = plain
    // A kind can be named after another's hash; then it hashes again.
    for (let round = 0; named.has(name); round++) {
      const hash = sha256Hex(`${kind.name}${"#".repeat(round)}`).slice(0, hashLength)
      name = `${plain.slice(0, toolNameLengthMax - hashLength - 1)}_${hash}`
    }
    named.set(name, kind)
  }
  return named
}

/** `BillPayment` -> `write_bill_payment`; what is neither letter nor digit becomes `_`. */
export const toolName = (kind: string): string => {
  const snake = kind
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]/g, "_")
    .toLowerCase()
  return `${prefix}${snake}`.slice(0, toolNameLengthMax)
}

const byAge = (left: MemorySchema, right: MemorySchema): number =>
  (left.createdAt ?? 0) - (right.createdAt ?? 0) || (left.name < right.name ? -1 : 1)
