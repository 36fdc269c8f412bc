/**
 * Result of a tool call (contract: MCP): REST's answer as structured content, and the same as one text item. A failure
 * says the same as REST says; a demand for payment is where paying clients look for it: in `_meta`, in the structured
 * content and in the text.
 */
import { Effect, type Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import type {
  Conflict,
  Forbidden,
  InsufficientStorage,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  PaymentPending,
  PaymentRequired,
  PreconditionFailed,
  RateLimited,
  Unavailable
} from "@muniment/domain/Errors"
import { isJsonObject } from "@muniment/domain/Json"
import { Limits } from "@muniment/domain/Limits"
import type { CreatedMemories, JsonObject, MemoryEntry, MemoryView, SearchHit } from "@muniment/domain/Memory"
import type { SearchResult } from "@muniment/domain/SearchResult"
import { clippedText, isJsonArray } from "@muniment/language/text/VisibleText"
import { type PaymentHeaders, settlementResponse } from "@muniment/payments/wire/PaymentHeader"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import type { Identity } from "@muniment/domain/Identity"
import { type MicroCredits, toCredits } from "@muniment/domain/Money"
import { httpCarrier, type PaymentCarrier, type PaymentNews } from "../credits/PaymentCarrier.ts"
import { noteAgent, RequestAccount } from "../http/RequestLog.ts"
import type { Charged, ChargedCalls } from "../credits/ChargedCalls.ts"
import { rpcCodes, RpcFailure } from "./JsonRpc.ts"

/** Failures of the services behind the tools. */
export type ToolFailure =
  | InvalidRequest
  | NotFound
  | PayloadTooLarge
  | Forbidden
  | Conflict
  | PreconditionFailed
  | PaymentRequired
  | PaymentPending
  | RateLimited
  | InsufficientStorage
  | Unavailable

export const metaNames = {
  payment: "x402/payment",
  paymentError: "x402/error",
  paymentResponse: "x402/payment-response",
  idempotencyKey: "muniment/idempotency-key",
  idempotencyReplayed: "muniment/idempotency-replayed",
  credits: "muniment/credits"
} as const

/** `json` is REST's answer: some hosts show their model the text, others the structured content. */
export const successResult = (json: string, meta: JsonObject): JsonObject => ({
  content: [{ type: "text", text: json }],
  structuredContent: JSON.parse(json),
  ...(Object.keys(meta).length > 0 && { _meta: meta })
})

export const failureResult = (failure: ToolFailure, news: ReadonlyArray<PaymentNews>): JsonObject => {
  const settled = paymentMeta(news)
  const said = failureJson(failure, news)
  if (failure._tag === "PaymentRequired") {
    return { ...errorContent(said), structuredContent: said, _meta: { ...settled, [metaNames.paymentError]: said } }
  }
  return { ...errorContent(said), ...(Object.keys(settled).length > 0 && { _meta: settled }) }
}

/** REST's body of the failure; a demand for payment as paying clients know it. */
const failureJson = (failure: ToolFailure, news: ReadonlyArray<PaymentNews>): JsonObject => {
  if (failure._tag === "PaymentRequired") {
    const { accepts, code, error, x402Version } = failure
    return { x402Version, error, accepts, code }
  }
  const { code, error } = failure
  const later = news.find((told) => told._tag === "Later")
  return {
    success: false,
    error,
    code,
    ...(failure.details !== undefined && { details: failure.details }),
    ...("quota" in failure && failure.quota !== undefined && { quota: failure.quota }),
    ...(later !== undefined && { retryAfterSeconds: later.retryAfterSeconds })
  }
}

/** The settlement, also of a failed call: the payment is credited. */
export const paymentMeta = (news: ReadonlyArray<PaymentNews>): JsonObject => {
  const settled = news.find((told) => told._tag === "Settled")
  return settled === undefined
    ? {}
    : { [metaNames.paymentResponse]: { ...settlementResponse(settled.version, settled.transaction) } }
}

const errorContent = (json: JsonObject): JsonObject => ({
  content: [{ type: "text", text: JSON.stringify(json) }],
  isError: true
})

/**
 * Memories as a model is shown them (contract: MCP), in the text of a tool's answer and in its structure: `metadata` lacks
 * what stands in `data` or `context`, long data are clipped, and a map has no coordinates. It only leaves out: names
 * and shapes are those of REST.
 */
export const shortResult = (result: SearchResult): JsonObject => {
  if ("memoryMap" in result) {
    const { clusters, points: _points, ...map } = result
    return { ...map, clusters: clusters.map(({ position: _position, ...cluster }) => cluster) }
  }
  return {
    ...result,
    memories: result.memories.map(shortHit),
    ...("hits" in result && result.hits !== undefined && { hits: result.hits.map(shortHit) })
  }
}

/** Short answer of a write, whose caller knows the data. */
export const shortCreated = ({ created, existing, updated, ...rest }: CreatedMemories) => ({
  created: created.map(shortMemory),
  updated: updated.map(shortMemory),
  ...(existing !== undefined && { existing: existing.map(shortMemory) }),
  ...rest
})

export const shortHit = (hit: SearchHit): JsonObject => {
  const { confidence: _confidence, contentHash, source: _source, ...metadata } = metadataBeside(hit)
  // The attestation names the hash of a shared memory.
  const kept = hit.source === "own" ? metadata : { ...metadata, ...(contentHash !== undefined && { contentHash }) }
  return { ...clipped(hit), metadata: kept }
}

export const shortMemory = (memory: MemoryEntry | MemoryView): JsonObject => ({
  ...clipped(memory),
  metadata: metadataBeside(memory)
})

export const wholeMemory = (memory: MemoryView): JsonObject => ({ ...memory, metadata: metadataBeside(memory) })

type Shown = MemoryEntry | MemoryView | SearchHit

/** System fields, which win on a name clash in `metadata`. */
const systemFields: ReadonlySet<string> = new Set([
  "agentId",
  "subjectId",
  "threadId",
  "confidence",
  "createdAt",
  "updatedAt",
  "contentHash",
  "expiresAt",
  "supersedes",
  "supersededBy",
  "sourceMessageIds"
])

/** Metadata without what stands beside it. */
const metadataBeside = (memory: Shown): JsonObject => {
  const context = "context" in memory ? memory.context : undefined
  const beside = { ...memory.data, ...context?.metadata }
  const isBeside = (name: string): boolean =>
    name === "tags" ? context !== undefined : !systemFields.has(name) && Object.hasOwn(beside, name)
  return Object.fromEntries(Object.entries(memory.metadata).filter(([name]) => !isBeside(name)))
}

const clipped = (memory: Shown): JsonObject => {
  const { data, isClipped } = clippedData(memory)
  return { ...memory, data, ...(isClipped && { isClipped }) }
}

/** The found passage of a long message; else the beginning of each long text, and of data with many. */
const clippedData = (memory: Shown): { readonly data: JsonObject; readonly isClipped: boolean } => {
  const { data } = memory
  const { text } = data
  const passage = "passage" in memory ? memory.passage : undefined
  if (passage !== undefined && typeof text === "string") {
    const [before, after] = [passage.start > 0, passage.end < text.length].map((isCut) => (isCut ? "…" : ""))
    return { data: { ...data, text: `${before}${text.slice(passage.start, passage.end)}${after}` }, isClipped: true }
  }
  const clipper = new Clipper()
  return { data: clipper.object(data), isClipped: clipper.isClipped }
}

/** Copies a value up to `Limits.shortDataLengthMax` characters of its names and texts, in their order. */
class Clipper {
  isClipped = false
  #room: number = Limits.shortDataLengthMax

  object(value: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => {
        this.#room -= name.length
        return this.#kept(inner).map((kept) => [name, kept] as const)
      })
    )
  }

  /** The value, or nothing where there is no room. */
  #kept(value: Schema.Json): ReadonlyArray<Schema.Json> {
    if (this.#room <= 0) {
      this.isClipped = true
      return []
    }
    if (isJsonObject(value)) return [this.object(value)]
    if (typeof value === "object" && value !== null && isJsonArray(value)) {
      return [value.flatMap((inner) => this.#kept(inner))]
    }
    return [typeof value === "string" ? this.#text(value) : this.#scalar(value)]
  }

  #text(text: string): string {
    const clipped = clippedText(text, Math.min(Limits.passageLengthMax, this.#room))
    this.#room -= clipped.length
    this.isClipped ||= clipped !== text
    return clipped
  }

  #scalar<Value extends Schema.Json>(value: Value): Value {
    this.#room -= String(value).length
    return value
  }
}

/**
 * A read of MCP that is no tool (contract: MCP): charged as the same call of REST, and a failure is an error of the
 * protocol whose data say what REST says. A demand for payment has the code 402.
 */

/**
 * Payments and credits of MCP messages (contract: MCP), which travel in `_meta`: the payment in that of the request,
 * what became of it and what the call cost in that of the result.
 *
 * The payment of a call is in its message; what becomes of it is collected for the result.
 */
export const metaCarrier = (
  request: HttpServerRequest.HttpServerRequest,
  payment: unknown
): { readonly carrier: PaymentCarrier; readonly news: ReadonlyArray<PaymentNews> } => {
  const news: Array<PaymentNews> = []
  const carrier: PaymentCarrier = {
    ...httpCarrier(request),
    carried: paymentHeaders(payment),
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

export const creditsMeta = ({
  charged,
  purses: { allowance, balance, isUnlimited }
}: Charged<unknown>): JsonObject => ({
  [metaNames.credits]: {
    charged: toCredits(charged),
    remaining: isUnlimited ? "unlimited" : toCredits(allowance + balance)
  }
})

interface PricedRead {
  readonly caller: Identity
  readonly params: JsonObject
  /** Name of the same operation of REST in the ledger, and its price. */
  readonly operation: string
  readonly price: MicroCredits
}

/** The result of `act`, with `_meta`. */
export const pricedRead = Effect.fnUntraced(function* (
  calls: ChargedCalls["Service"],
  { caller, operation, params, price }: PricedRead,
  act: (call: PricedCall) => Effect.Effect<JsonObject, ToolFailure>
) {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {}
  const { carrier, news } = metaCarrier(yield* HttpServerRequest.HttpServerRequest, meta[metaNames.payment])
  const onAgent = noteAgent(yield* RequestAccount)
  const read = { caller, operation, price, isWrite: false, token: undefined, carrier: () => carrier, onAgent }
  const charged = yield* Effect.mapError(
    calls.charge(read, act),
    (failure: ToolFailure) =>
      new RpcFailure({ code: codeOf(failure), reason: failure.error, data: failureJson(failure, news) })
  )
  return { ...charged.value, _meta: { ...paymentMeta(news), ...creditsMeta(charged) } }
})

const codeOf = ({ _tag }: ToolFailure): number => {
  switch (_tag) {
    case "NotFound":
      return rpcCodes.resourceNotFound
    case "InvalidRequest":
      return rpcCodes.invalidParams
    case "PaymentRequired":
      return rpcCodes.paymentRequired
    default:
      return rpcCodes.internalError
  }
}
