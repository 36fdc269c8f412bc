/**
 * The tools of an account, listed and called (interface.md section 15). Looked up anew for every request:
 * a schema that was registered a moment ago is a tool now. A call passes what a request of REST passes,
 * `Idempotency-Key` and charge, with both keys and payments in the message's `_meta`.
 */
import { Context, Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Identity } from "@muniment/domain/Account"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { JsonObject } from "@muniment/domain/Memory"
import { toCredits } from "@muniment/domain/Money"
import { IdempotencyStore } from "@muniment/ledger/IdempotencyStore"
import { SchemaRegistry } from "@muniment/ledger/SchemaRegistry"
import type { PaymentHeaders } from "@muniment/payments/wire/PaymentHeader"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import { ChargedCalls, type Charged } from "../credits/ChargedCalls.ts"
import { CurrentPaymentCarrier, type PaymentCarrier, type PaymentNews } from "../credits/PaymentCarrier.ts"
import { once } from "../http/Idempotency.ts"
import { MemoryCreation } from "../memories/MemoryCreation.ts"
import { MemoryService } from "../memories/MemoryService.ts"
import { SearchModes } from "../sharing/SearchModes.ts"
import { isJsonObject, rpcCodes, RpcFailure } from "./JsonRpc.ts"
import { type MemoryTool, type ToolCall, toolListing } from "./MemoryTool.ts"
import { memoryTools } from "./MemoryTools.ts"
import { scopeDefaults, withDefaults } from "./ScopeDefaults.ts"
import { toolNameLengthMax, writeToolNames } from "./ToolNames.ts"
import { failureResult, metaNames, paymentMeta, successResult, type ToolFailure } from "./ToolResult.ts"
import { writeTool } from "./WriteTool.ts"

type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Characters of schemas that one page lists: what is parsed and written on the event loop at a time. */
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
    /** Failures of the tool are results; what fails is a call of no tool. */
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

const make = Effect.gen(function* () {
  const registry = yield* SchemaRegistry
  const store = yield* IdempotencyStore
  const calls = yield* ChargedCalls
  const creation = yield* MemoryCreation
  const fixed = memoryTools({ memories: yield* MemoryService, creation, modes: yield* SearchModes })

  /** Those that write: what the account can store now, by the names of the tools. */
  const kindsOf = (account: string) =>
    Effect.map(registry.list(account), (registered) => writeToolNames([...builtinKinds, ...registered]))

  const find = Effect.fnUntraced(function* (account: string, name: string) {
    const known = fixed.find((tool) => tool.name === name)
    if (known !== undefined) return known
    const kind = (yield* kindsOf(account)).get(name)
    return kind === undefined ? undefined : writeTool(name, kind, creation)
  })

  const list = Effect.fn("McpTools.list")(function* (caller: Identity, params: JsonObject, headers: RequestHeaders) {
    const writing = Array.from(yield* kindsOf(caller.account.id), ([name, kind]) => ({
      tool: writeTool(name, kind, creation),
      schemaLength: kind.schema.length
    }))
    const all = [...fixed.map((tool) => ({ tool, schemaLength: 0 })), ...writing]
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
  const charged = (tool: MemoryTool, call: ToolCall) =>
    calls.charge(
      {
        account: call.caller.account,
        operation: tool.operation,
        price: tool.price,
        isWrite: !tool.hints.isReadOnly
      },
      Effect.map(tool.run(call), (answer) => JSON.stringify({ success: true, ...answer }))
    )

  const run = Effect.fnUntraced(function* (tool: MemoryTool, call: ToolCall, clientKey: unknown) {
    const act = charged(tool, call)
    if (clientKey === undefined || tool.hints.isReadOnly) return { _tag: "First", value: yield* act } as const
    if (typeof clientKey !== "string") {
      return yield* new InvalidRequest({
        code: "invalid_request",
        error: `${metaNames.idempotencyKey} must be a string`
      })
    }
    const contentHash = sha256Hex(canonicalJson(call.arguments))
    const repeatable = {
      account: call.caller.account.id,
      route: `tools/call ${tool.name}`,
      clientKey,
      contentHash,
      fingerprint: sha256Hex(`${tool.name}\n${contentHash}`)
    }
    return yield* once(store, repeatable, act, ({ value }) => ({ status: 200, text: value }))
  })

  const call = Effect.fn("McpTools.call")(function* (caller: Identity, params: JsonObject, headers: RequestHeaders) {
    const { _meta, arguments: given = {}, name } = params
    if (typeof name !== "string" || !isJsonObject(given)) {
      return yield* invalidParams("a call has the `name` of a tool and its `arguments`, an object")
    }
    const tool = yield* find(caller.account.id, name)
    if (tool === undefined)
      return yield* invalidParams(`there is no tool ${shown(name)}; tools/list names those there are`)
    const meta = isJsonObject(_meta) ? _meta : {}
    const { carrier, news } = metaCarrier(meta[metaNames.payment])
    const toolCall = {
      caller,
      arguments: withDefaults(given, scopeDefaults(headers)),
      chosen: Object.keys(given).filter((argument) => given[argument] !== null),
      grants: headers["x-grants"]
    }
    return yield* run(tool, toolCall, meta[metaNames.idempotencyKey]).pipe(
      Effect.provideService(CurrentPaymentCarrier, carrier),
      Effect.match({
        onFailure: (failure: ToolFailure) => failureResult(failure, news),
        onSuccess: (outcome) =>
          outcome._tag === "First"
            ? successResult(outcome.value.value, { ...paymentMeta(news), ...creditsMeta(outcome.value) })
            : successResult(outcome.answer.text, { [metaNames.idempotencyReplayed]: true })
      })
    )
  })

  return { list, call }
})

const pageStart = (cursor: unknown, count: number): Effect.Effect<number, RpcFailure> => {
  if (cursor === undefined) return Effect.succeed(0)
  const start = typeof cursor === "string" && /^[1-9][0-9]{0,5}$/.test(cursor) ? Number(cursor) : count
  return start < count ? Effect.succeed(start) : invalidParams("the cursor is not one of ours, or its tools are gone")
}

/** The payment of a call stands in its message; what becomes of it is noted for the result. */
const metaCarrier = (
  payment: unknown
): { readonly carrier: PaymentCarrier; readonly news: ReadonlyArray<PaymentNews> } => {
  const news: Array<PaymentNews> = []
  const carrier: PaymentCarrier = {
    carried: Effect.sync(() => paymentHeaders(payment)),
    tell: (told) => Effect.sync(() => void news.push(told))
  }
  return { carrier, news }
}

/** Base64 as in the header, or the JSON itself, which is then held to the bounds of the header. */
const paymentHeaders = (payment: unknown): PaymentHeaders => {
  if (payment === undefined) return {}
  const text = typeof payment === "string" ? payment : Buffer.from(JSON.stringify(payment)).toString("base64")
  return { "x-payment": text }
}

const creditsMeta = ({ charged, purses: { allowance, balance, isUnlimited } }: Charged<unknown>): JsonObject => ({
  [metaNames.credits]: {
    charged: toCredits(charged),
    remaining: isUnlimited ? "unlimited" : toCredits(allowance + balance)
  }
})

const invalidParams = (reason: string): Effect.Effect<never, RpcFailure> =>
  Effect.fail(new RpcFailure({ code: rpcCodes.invalidParams, reason }))

const shown = (name: string): string => JSON.stringify(name.slice(0, toolNameLengthMax))
