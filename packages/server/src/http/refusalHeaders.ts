/** Headers of refusals, which are written outside of the router: the request's id, and what web pages need. */
import type { RequestHead } from "../admission/Refusals.ts"
import { pathOf } from "../paths.ts"
import { crossOriginHeaders } from "./CrossOrigin.ts"
import { requestIdOf } from "./Envelope.ts"

export const refusalHeaders =
  (corsOrigins: ReadonlyArray<string>) =>
  ({ headers, url = "" }: RequestHead, randomUUID: () => string): Readonly<Record<string, string>> => ({
    "x-request-id": requestIdOf(headers["x-request-id"], randomUUID),
    ...crossOriginHeaders(corsOrigins, headers.origin, pathOf(url))
  })
