/**
 * The cookie of a console's session (contract: Console): HttpOnly, so that no script reads it; SameSite=Strict, so that
 * no other site's page sends it. A change needs the session's token in a header besides, which only the console's own
 * page can read.
 */
import { HttpServerRequest } from "effect/http"
import { Effect } from "effect"
import { Forbidden } from "@muniment/domain/Errors"
import type { ConsoleSession } from "./ConsoleSessions.ts"

const sessionCookie = "muniment_session"

const pattern = new RegExp(`(?:^|;\\s*)${sessionCookie}=([\\w-]{1,128})(?:;|$)`)

/** What the browser keeps of its session; undefined: nothing. */
export const sessionSecretOf = (cookies: string | undefined): string | undefined =>
  cookies === undefined ? undefined : pattern.exec(cookies)?.[1]

/** `secondsMax` 0 removes it. A cookie for TLS only where the service is reached so. */
export const sessionCookieText = (secret: string, secondsMax: number, isSecure: boolean): string =>
  [
    `${sessionCookie}=${secret}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${secondsMax}`,
    ...(isSecure ? ["Secure"] : [])
  ].join("; ")

/** A request that changes something has to show that it comes from the console's own page. */
export const requireOwnPage = Effect.fnUntraced(function* ({ own }: ConsoleSession) {
  const { headers, method } = yield* HttpServerRequest.HttpServerRequest
  if (method === "GET" || method === "HEAD") return
  if (headers["x-csrf-token"] === own.csrf) return
  return yield* new Forbidden({ code: "csrf", error: "a change by a signed-in browser needs the header x-csrf-token" })
})
