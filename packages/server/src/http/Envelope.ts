/**
 * Outermost layer of every request: its id, its metrics, and an answer in the shape of the contract where no handler
 * gives one: 404, 405 and defects. Logs name routes and ids, metrics name routes, neither any content.
 */
import { Cause, Clock, Context, Effect, Exit, Metric, Option, References, Schema, type Types } from "effect"
import { WebCrypto } from "effect/crypto"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse, HttpTraceContext } from "effect/http"
import {
  InsufficientStorage,
  InternalError,
  MethodNotAllowed,
  NotFound,
  PayloadTooLarge,
  Unavailable
} from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { clientLeft } from "@muniment/domain/Operations"
import { SpentTimes, type StageMillis } from "@muniment/domain/StageTimes"
import type { CallTally } from "../operator/series/ServiceSeries.ts"
import { pathOf } from "../paths.ts"
import { type KnownRequest, logRequest, RequestAccount } from "./RequestLog.ts"
import type { PendingRequests } from "../operator/requests/RequestHistory.ts"
import { allowedMethods, routePattern } from "./Routes.ts"
import { receivedBody } from "../admission/RequestBody.ts"

const requestIdPattern = /^[\w.:-]{1,128}$/

/** The caller's own if it is well formed. */
export const requestIdOf = (given: string | ReadonlyArray<string> | undefined, randomUUID: () => string): string =>
  typeof given === "string" && requestIdPattern.test(given) ? given : randomUUID()

export interface EnvelopeOptions {
  readonly logsRequests: boolean
  /** Each request is a span, named by its route. */
  readonly isTraced: boolean
  readonly records: PendingRequests
  readonly tally: CallTally
}

export const envelope = (options: EnvelopeOptions) =>
  HttpRouter.middleware((handler) => enveloped(handler, options), { global: true })

// Nothing fails after `answerFor`; the types of the router want its mark of the unhandled.
const enveloped = <E, R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  { isTraced, logsRequests, records, tally }: EnvelopeOptions
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, R | HttpServerRequest.HttpServerRequest> =>
  Effect.withFiber((fiber) => {
    const request = received(Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest))
    const clock = fiber.getRef(Clock.Clock)
    const webCrypto = fiber.getRef(WebCrypto.WebCrypto)
    const { method } = request
    const path = pathOf(request.url)
    const requestId = requestIdOf(request.headers["x-request-id"], () => webCrypto.randomUUID())
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    const known: KnownRequest = {}
    const stages: StageMillis = {}
    const route = routePattern(method, path)
    const answered = (isAlias(path) ? Effect.succeed(noSuchRoute(method, path)) : handler).pipe(
      Effect.catchCause((cause) => answerFor(cause, method, path, requestId)),
      Effect.updateContext((context: Context.Context<R>) =>
        context.pipe(
          Context.add(RequestAccount, known),
          Context.add(SpentTimes, stages),
          Context.add(References.CurrentLogAnnotations, {
            ...Context.get(context, References.CurrentLogAnnotations),
            requestId
          })
        )
      )
    )
    const counted = (status: number, code?: string): Effect.Effect<void> => {
      const millis = Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e6
      requestCounts(route)(String(status)).updateUnsafe(1, fiber.context)
      // How long an answer took that nobody waited for says nothing.
      if (status !== clientLeft) requestTimes(route).updateUnsafe(millis / 1_000, fiber.context)
      if (known.operation !== undefined) {
        const { accountId: account, agentId, caller, deleted, operation } = known
        records.add({
          at: clock.currentTimeMillisUnsafe(),
          method,
          operation,
          status,
          millis,
          account,
          caller,
          agentId,
          code,
          deleted,
          // What goes on behind the answer is no time of this call.
          stages: { ...stages }
        })
        tally.add(status, millis)
      }
      return logsRequests ? logRequest({ method, route, status, millis, account: known.accountId }) : Effect.void
    }
    const ended = (exit: Exit.Exit<unknown>) => {
      if (Exit.isSuccess(exit) || !Cause.hasInterruptsOnly(exit.cause)) return Effect.void
      if (isByClient(exit.cause)) return counted(clientLeft)
      // Instead of the bare 503 of an interrupted handler.
      return Effect.die(HttpServerResponse.setHeaders(lost, envelopeHeaders(lost, requestId)))
    }
    return Effect.flatMap(Effect.onExit(isTraced ? traced(answered, request, route) : answered, ended), (response) =>
      Effect.as(
        counted(response.status, codeOf(response)),
        HttpServerResponse.setHeaders(response, envelopeHeaders(response, requestId))
      )
    )
  })

const envelopeHeaders = (
  { headers, status }: HttpServerResponse.HttpServerResponse,
  requestId: string
): Readonly<Record<string, string>> => ({
  "x-request-id": requestId,
  "x-content-type-options": "nosniff",
  ...(status === 401 && { "www-authenticate": "Bearer" }),
  ...(status === 503 && headers["retry-after"] === undefined && { "retry-after": "1" })
})

/** Code that the body of a refusal or a failure has for programs. */
const codeOf = ({ body, status }: HttpServerResponse.HttpServerResponse): string | undefined => {
  if (status < 400 || body._tag !== "Uint8Array") return undefined
  return /"code":"(\w{1,64})"/.exec(new TextDecoder().decode(body.body))?.[1]
}

/** Below the caller's span, if the request names one. */
const traced = <E, R>(
  answered: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  { headers, method }: HttpServerRequest.HttpServerRequest,
  route: string
) =>
  answered.pipe(
    Effect.tap(({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
    Effect.withSpan(`${method} ${route}`, {
      kind: "server",
      ...Option.match(HttpTraceContext.fromHeaders(headers), {
        onNone: () => ({ root: true }),
        onSome: (parent) => ({ parent })
      }),
      attributes: { "http.request.method": method, "http.route": route }
    })
  )

/** A spelling that the router would take for another path: what follows a semicolon, escapes in names of routes. */
const isAlias = (path: string): boolean =>
  path.includes(";") || needlessEscape.test(path) || allowedMethods(path).length === 0

/** Escape of a letter, a digit, or one of - . _ ~, which no client escapes (RFC 3986, 2.3). */
const needlessEscape = /%(?:2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/i

const answerFor = (
  cause: Cause.Cause<unknown>,
  method: string,
  path: string,
  requestId: string
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  // By its client, or what the handler called was ended.
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed(isByClient(cause) ? unread : lost)
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError.HttpServerError) {
    if (error.reason._tag === "RouteNotFound") return Effect.succeed(noSuchRoute(method, path))
    if (error.reason._tag === "RequestParseError") {
      return Effect.succeed(
        wire(
          PayloadTooLarge,
          new PayloadTooLarge({
            code: "payload_too_large",
            error: `request body could not be read: incomplete, or larger than ${Limits.requestBodyBytesMax} bytes`
          }),
          413
        )
      )
    }
  }
  const route = routePattern(method, path)
  // Met where nothing else could be answered, as by a read of `control.db`, which has logged it.
  if (error instanceof Unavailable) return Effect.succeed(wire(Unavailable, error, 503))
  if (error instanceof InsufficientStorage) return Effect.succeed(wire(InsufficientStorage, error, 507))
  return Effect.as(
    Effect.logError("request failed with a defect", { route, cause: nameOf(error) }),
    wire(
      InternalError,
      new InternalError({
        code: "internal_error",
        error: `the service failed; its log has the cause under request id ${requestId}`
      }),
      500
    )
  )
}

const noSuchRoute = (method: string, path: string): HttpServerResponse.HttpServerResponse => {
  const allowed = allowedMethods(path)
  // A known path with an allowed method: its escapes cannot be decoded.
  if (allowed.length === 0 || allowed.includes(method)) {
    return wire(
      NotFound,
      new NotFound({ code: "route_not_found", error: "there is no such path; /docs lists them" }),
      404
    )
  }
  const error = `this path takes ${allowed.join(", ")}`
  return HttpServerResponse.setHeader(
    wire(MethodNotAllowed, new MethodNotAllowed({ code: "method_not_allowed", error }), 405),
    "allow",
    allowed.join(", ")
  )
}

const wire = <S extends Schema.Encoder<unknown>>(schema: S, error: S["Type"], status: number) =>
  HttpServerResponse.jsonUnsafe(Schema.encodeUnknownSync(schema)(error), { status })

/** Its client has left, and reads no answer. */
const isByClient = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some(({ annotations }) => annotations.has(HttpServerError.ClientAbort.key))

const unread = HttpServerResponse.empty({ status: clientLeft })

/** Contract: Errors. */
const lost = wire(
  Unavailable,
  new Unavailable({
    code: "namespace_unavailable",
    error:
      "the service ended this request before its answer; whether it was carried out is unknown: repeat a write with the same Idempotency-Key"
  }),
  503
)

/** Name and stack of a defect without its message, which may quote content. */
const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error
  const frames = (error.stack ?? "").split("\n").filter((line) => line.trimStart().startsWith("at "))
  return [error.name, ...frames].join("\n")
}

/** Seconds, 0.1 ms to about 13 s. */
const latencyBoundaries = Metric.exponentialBoundaries({ start: 0.0001, factor: 2, count: 18 })

/** Makes one of each label: a metric with attributes given at each update is found by a text of all of them. */
const byLabel = <M extends object>(make: (label: string) => M): ((label: string) => M) => {
  const made = new Map<string, M>()
  return (label) => {
    const known = made.get(label)
    if (known !== undefined) return known
    const metric = make(label)
    made.set(label, metric)
    return metric
  }
}

/** Counts by route, then by status. */
const requestCounts = byLabel((route) =>
  byLabel((status) =>
    Metric.counter("http_requests_total", {
      description: "Requests by route and status.",
      incremental: true,
      attributes: { route, status }
    })
  )
)
const requestTimes = byLabel((route) =>
  Metric.histogram("http_request_seconds", {
    description:
      "Time from the start of work on a request to its answer, by route; without receiving its body and the wait for its turn.",
    boundaries: latencyBoundaries,
    attributes: { route }
  })
)

/** `route` is the pattern of the route, never the path of the request. */
export const countRequests = (route: string, status: number, count: number): Effect.Effect<void> =>
  Metric.update(requestCounts(route)(String(status)), count)

type Request = HttpServerRequest.HttpServerRequest

/**
 * A request whose body the gate has received (`admission/RequestBody.ts`) gives it from memory: a stream would take
 * turns of the event loop, and listeners, to say again what is known.
 */
const received = (request: Request): Request => {
  const body = receivedBody(request.source)
  return body === undefined ? request : withBody(request, body)
}

const decoder = new TextDecoder()

/** Set on the request itself: V8 is slow with an object that becomes the prototype of another. */
const withBody = (request: Request, body: Buffer): Request => {
  let text: string | undefined
  const modify = request.modify.bind(request)
  return Object.defineProperties(request, {
    arrayBuffer: { value: Effect.succeed(bytesOf(body)) },
    text: { value: Effect.sync(() => (text ??= decoder.decode(body))) },
    modify: { value: (changes: Parameters<Request["modify"]>[0]) => withBody(modify(changes), body) }
  })
}

const bytesOf = ({ buffer, byteLength, byteOffset }: Buffer): ArrayBuffer =>
  byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
    ? buffer
    : Uint8Array.from(new Uint8Array(buffer, byteOffset, byteLength)).buffer
