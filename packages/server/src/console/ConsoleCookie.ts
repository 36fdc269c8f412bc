/**
 * The cookie of a console's session (contract: Console): HttpOnly, so that no script reads it; SameSite=Strict, so that
 * no other site's page sends it. A change needs the session's token in a header besides, which only the console's own
 * page can read.
 *
 * Browsers keep the cookies of all ports of a host together, so its name ends with the port by which the browser came:
 * two services on one machine do not sign each other out.
 */
import { HttpServerRequest } from "effect/http"
import { Effect } from "effect"
import { Forbidden } from "@muniment/domain/Errors"
import type { ConsoleSession } from "./ConsoleSessions.ts"

type Headers = Readonly<Record<string, string | undefined>>

const cookieName = ({ host = "" }: Headers): string => {
  const port = /:(\d{1,5})$/.exec(host)?.[1]
  return port === undefined ? "muniment_session" : `muniment_session_${port}`
}

/** Secret of the session that the browser sends; undefined: none. */
export const sessionSecretOf = (headers: Headers): string | undefined => {
  const start = `${cookieName(headers)}=`
  const held = headers["cookie"]?.split(";").find((one) => one.trimStart().startsWith(start))
  const secret = held?.trim().slice(start.length)
  return secret !== undefined && /^[\w-]{1,128}$/.test(secret) ? secret : undefined
}

/** `secondsMax` 0 removes it. A cookie for TLS only where the service is reached so. */
export const sessionCookieText = (headers: Headers, secret: string, secondsMax: number, isSecure: boolean): string =>
  [
    `${cookieName(headers)}=${secret}`,
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
