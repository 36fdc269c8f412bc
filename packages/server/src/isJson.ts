/** Tells whether a request says that its body is JSON, whatever the parameters of its media type. */
import type { Headers } from "effect/http"

export const isJson = (headers: Headers.Headers): boolean =>
  (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase() === "application/json"
