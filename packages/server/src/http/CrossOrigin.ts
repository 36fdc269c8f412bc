/**
 * CORS (contract: Headers): off unless origins are configured, and only for `/v1` and `/mcp`, whose callers send their
 * credentials in headers of their own. The headers of payments, credits and limits are exposed.
 */
import { Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import { mcpPath, pathOf } from "../paths.ts"
import type { RequestHead } from "../admission/Refusals.ts"
import { requestIdOf } from "./Envelope.ts"

const exposedHeaders = [
  "etag",
  "x-request-id",
  "x-ignored-fields",
  "x-credits-charged",
  "x-credits-remaining",
  "x-next-cursor",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "retry-after",
  "idempotency-replayed",
  "payment-required",
  "payment-response",
  "x-payment-response"
]
const preflightSeconds = 600

const isAllowedBy = (origins: ReadonlyArray<string>, origin: string): boolean =>
  origins.includes("*") || origins.includes(origin)
const isOpen = (path: string): boolean => path.startsWith("/v1/") || path === mcpPath

/** `*` among the origins allows all. */
export const crossOrigin = (origins: ReadonlyArray<string>) => {
  if (origins.length === 0) return Layer.empty
  const isAllowed = (origin: string): boolean => isAllowedBy(origins, origin)
  const cors = HttpMiddleware.cors({ allowedOrigins: isAllowed, exposedHeaders, maxAge: preflightSeconds })
  return HttpRouter.middleware(
    (handler) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => (isOpen(pathOf(url)) ? cors(handler) : handler)),
    { global: true }
  )
}

/** With these a page of an allowed origin can read an answer that is written outside of the router. */
export const crossOriginHeaders = (
  origins: ReadonlyArray<string>,
  origin: string | undefined,
  path: string
): Readonly<Record<string, string>> =>
  origin === undefined || !isOpen(path) || !isAllowedBy(origins, origin)
    ? {}
    : {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": exposedHeaders.join(","),
        vary: "Origin"
      }

/** Headers of refusals, which are written outside of the router: the request's id, and what web pages need. */
export const refusalHeaders =
  (corsOrigins: ReadonlyArray<string>) =>
  ({ headers, url = "" }: RequestHead, randomUUID: () => string): Readonly<Record<string, string>> => ({
    "x-request-id": requestIdOf(headers["x-request-id"], randomUUID),
    ...crossOriginHeaders(corsOrigins, headers.origin, pathOf(url))
  })
