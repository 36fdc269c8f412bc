/**
 * A read of MCP that is no tool (contract: MCP): charged as the same call of REST, and a failure is an error of the
 * protocol whose data say what REST says. A demand for payment has the code 402.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import type { Identity } from "@muniment/domain/Identity"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import type { JsonObject } from "@muniment/domain/Memory"
import type { MicroCredits } from "@muniment/domain/Money"
import type { ChargedCalls } from "../credits/ChargedCalls.ts"
import { rpcCodes, RpcFailure } from "./JsonRpc.ts"
import { creditsMeta, metaCarrier } from "./MetaCarrier.ts"
import { failureJson, metaNames, paymentMeta, type ToolFailure } from "./ToolResult.ts"

export interface PricedRead {
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
  const read = { caller, operation, price, isWrite: false, token: undefined, carrier: () => carrier }
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
