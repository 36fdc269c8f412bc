/**
 * A read of MCP that is no tool (contract: MCP): charged as the same call of REST, and a failure is an error of the
 * protocol whose data say what REST says. A demand for payment has the code 402.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import type { Identity } from "@muniment/domain/Identity"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"
import { type MicroCredits, toCredits } from "@muniment/domain/Money"
import type { PaymentHeaders } from "@muniment/payments/wire/PaymentHeader"
import { noteAgent, RequestAccount } from "../http/RequestLog.ts"
import type { ChargedCalls, Charged } from "../credits/ChargedCalls.ts"
import { rpcCodes, RpcFailure } from "./JsonRpc.ts"
import { failureJson, metaNames, paymentMeta, type ToolFailure } from "./ToolResult.ts"
import { httpCarrier, type PaymentCarrier, type PaymentNews } from "../credits/PaymentCarrier.ts"

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
