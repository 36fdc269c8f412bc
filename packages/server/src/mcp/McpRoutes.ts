/**
 * `/mcp`: streamable HTTP without sessions (contract: MCP). One JSON body in, one JSON answer out; GET and DELETE
 * answer 405. The middleware of REST applies: size, credentials, rate limits.
 *
 * Pages of foreign origins are refused, also after DNS rebinding: the `Host` header of a request counts only if
 * it is a name that cannot be rebound.
 */
import { Effect, Layer, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { Authorization, BodyLimit, Caller, RateLimiting } from "@muniment/domain/api/Middleware"
import type { RateLimited } from "@muniment/domain/Errors"
import { RateLimits } from "../http/RateLimits.ts"
import { readBody } from "../http/Validation.ts"
import { isFixedName } from "../identity/LocalCaller.ts"
import { mcpPath } from "../paths.ts"
import {
  errorAnswer,
  readMessage,
  type RpcAnswer,
  rpcCodes,
  type RpcMessage,
  hasBatches,
  supportedVersions
} from "./JsonRpc.ts"
import { answerMessage, answerStateless, type McpContext } from "./McpProtocol.ts"
import { McpPrompts } from "./McpPrompts.ts"
import { McpResources } from "./McpResources.ts"
import { McpTools } from "./McpTools.ts"
import { isStateless } from "./StatelessRequest.ts"

const batchMessagesMax = 10

class OriginCheck extends HttpApiMiddleware.Service<OriginCheck>()("muniment/server/McpOriginCheck") {}

class McpGroup extends HttpApiGroup.make("mcp")
  .add(HttpApiEndpoint.post("message", mcpPath))
  .middleware(RateLimiting)
  .middleware(Authorization)
  .middleware(BodyLimit)
  .middleware(OriginCheck) {}

class McpApi extends HttpApi.make("mcp").add(McpGroup) {}

export interface McpPages {
  /** `*` for pages of every origin. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Public address of this service. */
  readonly publicUrl: Option.Option<string>
}

export const mcpRoutes = ({ corsOrigins, publicUrl }: McpPages) => {
  const own = Option.toArray(publicUrl).filter((url) => URL.canParse(url))
  const pages = [...corsOrigins, ...own.map((url) => new URL(url).origin)]
  return HttpApiBuilder.layer(McpApi).pipe(
    Layer.provide(handlers.pipe(Layer.provide([McpTools.layer, McpResources.layer, McpPrompts.layer]))),
    Layer.provide(originCheck(pages))
  )
}

const handlers = HttpApiBuilder.group(
  McpApi,
  "mcp",
  Effect.fnUntraced(function* (unhandled) {
    const services = { tools: yield* McpTools, resources: yield* McpResources, prompts: yield* McpPrompts }
    const limits = yield* RateLimits
    return unhandled.handleRaw("message", () => answerBody(services, limits))
  })
)

const answerBody = Effect.fnUntraced(function* (
  services: Omit<McpContext, "caller" | "headers">,
  limits: RateLimits["Service"]
) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { headers } = request
  const version = headers["mcp-protocol-version"]
  const body = readBody(yield* Effect.orDie(request.arrayBuffer))
  if (body._tag === "Failure") return refusal(400, rpcCodes.parseError, body.failure.error)
  const context = { caller: yield* Caller, headers, ...services }
  if (Array.isArray(body.success)) return yield* answerBatch(body.success, context, version, limits)
  const message = readMessage(body.success)
  if (isStateless(message, headers)) {
    const { answer, status } = yield* answerStateless(message, context)
    return HttpServerResponse.jsonUnsafe(answer, { status })
  }
  if (version !== undefined && !supportedVersions.includes(version)) return unknownVersion
  const told = yield* answerMessage(message, context)
  if (told === undefined) return accepted
  return HttpServerResponse.jsonUnsafe(told, { status: told.id === null ? 400 : 200 })
})

/** One after the other, in the order of the batch: later calls see what earlier ones did. */
const answerBatch = Effect.fnUntraced(function* (
  batch: ReadonlyArray<unknown>,
  context: McpContext,
  version: string | undefined,
  limits: RateLimits["Service"]
) {
  if (version !== undefined && !supportedVersions.includes(version)) return unknownVersion
  if (!hasBatches(version)) return refusal(400, rpcCodes.invalidRequest, "this protocol version has no batches")
  if (batch.length === 0 || batch.length > batchMessagesMax) {
    return refusal(400, rpcCodes.invalidRequest, `a batch has 1 to ${batchMessagesMax} messages`)
  }
  const answers: Array<RpcAnswer> = []
  for (const [at, json] of batch.entries()) {
    const message = outOfHandshake(readMessage(json))
    // The request has taken the token of the first message.
    const told = yield* Effect.matchEffect(at === 0 ? Effect.void : limits.take, {
      onSuccess: () => answerMessage(message, context),
      onFailure: (refusal) => Effect.succeed(refusedAnswer(message, refusal))
    })
    if (told !== undefined) answers.push(told)
  }
  return answers.length === 0 ? accepted : HttpServerResponse.jsonUnsafe(answers)
})

/** Answer to a message beyond the rate limit; only requests are answered. */
const refusedAnswer = (message: RpcMessage, { code, details = [], error }: RateLimited): RpcAnswer | undefined =>
  message._tag === "Request" ? errorAnswer(message.id, rpcCodes.refused, error, { code, details }) : undefined

/** The handshake negotiates the version and cannot be part of a batch. */
const outOfHandshake = (message: RpcMessage): RpcMessage =>
  message._tag === "Request" && message.method === "initialize"
    ? {
        _tag: "Malformed",
        answer: errorAnswer(message.id, rpcCodes.invalidRequest, "`initialize` cannot be part of a batch")
      }
    : message

const originCheck = (origins: ReadonlyArray<string>) =>
  Layer.succeed(OriginCheck, (handler) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      const { host, origin } = headers
      return origin === undefined || isTrusted(origin, host, origins)
        ? handler
        : Effect.succeed(refusal(403, rpcCodes.refused, "pages of this origin may not call"))
    })
  )

const isTrusted = (origin: string, host: string | undefined, origins: ReadonlyArray<string>): boolean => {
  if (origins.includes("*") || origins.includes(origin)) return true
  if (host === undefined || !URL.canParse(origin)) return false
  const page = new URL(origin)
  return page.host === host.toLowerCase() && isFixedName(page.hostname)
}

const accepted = HttpServerResponse.empty({ status: 202 })

const refusal = (status: number, code: number, message: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorAnswer(null, code, message), { status })

const unknownVersion = refusal(400, rpcCodes.refused, `mcp-protocol-version is one of ${supportedVersions.join(", ")}`)
