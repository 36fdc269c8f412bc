/**
 * Calls of the service by the page it serves: same origin, the session's cookie. An operator's call of `/v1` names the
 * account that it acts for; a change carries the session's token.
 */
import type { MunimentApi } from "@muniment/domain/api/MunimentApi"
import type { OwnSession } from "@muniment/domain/Console"
import { newKey } from "./browser.ts"
import { parsed } from "./json.ts"
import { account } from "./route.ts"
import { endSession, isSuspended, session } from "./session.ts"

interface Failure {
  readonly success: false
  readonly error: string
  readonly code: string
  readonly details?: ReadonlyArray<{ readonly path?: string; readonly index?: number; readonly message: string }>
}

/** A refusal as the service said it; `status` 0: the service did not answer. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: ReadonlyArray<string>
  /** Seconds; undefined: not said. */
  readonly retryAfter: number | undefined
  readonly requestId: string | undefined

  constructor(status: number, failure: Pick<Failure, "error" | "code" | "details">, headers?: Headers) {
    super(failure.error)
    this.status = status
    this.code = failure.code
    this.details = (failure.details ?? []).map(({ message, path }) =>
      path === undefined ? message : `${path}: ${message}`
    )
    const seconds = Number(headers?.get("retry-after") ?? Number.NaN)
    this.retryAfter = Number.isFinite(seconds) ? seconds : undefined
    this.requestId = headers?.get("x-request-id") ?? undefined
  }
}

export type QueryValue = string | number | boolean | undefined

export interface CallOptions {
  readonly query?: Readonly<Record<string, QueryValue>>
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** Instead of the chosen account: of work that began when another one may have been chosen. */
  readonly account?: string
  readonly headers?: Readonly<Record<string, string>>
}

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE"

type Groups = (typeof MunimentApi)["groups"]
type EndpointsOf<Group> = Group extends { readonly endpoints: infer Endpoints } ? Endpoints[keyof Endpoints] : never
type Endpoint = EndpointsOf<Groups[keyof Groups]>

/** A path of the contract with any text for each of its parameters. */
type Filled<Path extends string> = Path extends `${infer Before}/:${infer Rest}`
  ? Rest extends `${string}/${infer After}`
    ? Filled<`${Before}/${string}/${After}`>
    : `${Before}/${string}`
  : Path

/** Answers of the contract's endpoints, and of the routes of the console and of health, which it does not have. */
type Answers = {
  readonly [Each in Endpoint as `${Each["method"]} ${Filled<Each["path"]>}`]: Each["~Success"]["Type"]
} & {
  readonly "GET /console/session": {
    readonly session: OwnSession | null
    readonly openId: boolean
    readonly languageModel: boolean
  }
  readonly "POST /console/session": { readonly session: OwnSession | null }
  readonly "GET /health/ready": { readonly checks: { readonly embedding: { readonly state: string } } }
}

/** Unknown of a path that is known only when it runs. */
export type Answer<Route extends string> = Route extends keyof Answers ? Answers[Route] : unknown

export const call = async <M extends Method, P extends string>(
  method: M,
  path: P,
  options: CallOptions = {}
): Promise<Answer<`${M} ${P}`>> => {
  const response = await send(method, path, options)
  const text = await response.text()
  if (!response.ok) {
    if (response.status === 401 && session.value !== null) endSession()
    const failure = failureIn(text)
    if (failure.code === "account_suspended" && session.value?.role === "account") isSuspended.value = true
    throw new ApiError(response.status, failure, response.headers)
  }
  return (text === "" ? {} : parsed(text)) as Answer<`${M} ${P}`>
}

/** The answer as text, such as CSV or metrics. */
export const callText = async (path: string, options: CallOptions = {}): Promise<string> => {
  const response = await send("GET", path, options)
  if (response.ok) return response.text()
  throw new ApiError(response.status, { error: await response.text(), code: "unknown" }, response.headers)
}

/** The answer as it arrives: a stream of events. */
export const callStream = async (path: string, options: CallOptions): Promise<Response> => {
  const response = await send("GET", path, options)
  if (response.ok) return response
  if (response.status === 401 && session.value !== null) endSession()
  throw new ApiError(response.status, failureIn(await response.text()), response.headers)
}

/** All pages of a text that leads on by its header `x-next-cursor`. */
export const callPages = async (
  path: string,
  query: Readonly<Record<string, QueryValue>>
): Promise<ReadonlyArray<string>> => {
  const pages: Array<string> = []
  const chosen = account.value
  let cursor: string | undefined
  do {
    const response = await send("GET", path, { query: { ...query, cursor }, account: chosen })
    const text = await response.text()
    if (!response.ok) throw new ApiError(response.status, failureIn(text), response.headers)
    pages.push(text)
    cursor = response.headers.get("x-next-cursor") ?? undefined
  } while (cursor !== undefined)
  return pages
}

const send = async (method: Method, path: string, options: CallOptions): Promise<Response> => {
  const { body, query = {}, signal } = options
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]]
  )
  const search = parameters.length === 0 ? "" : `?${new URLSearchParams(parameters)}`
  const isChange = method !== "GET"
  const actsFor =
    path.startsWith("/v1/") && session.value?.role === "operator" ? (options.account ?? account.value) : undefined
  try {
    return await fetch(`${path}${search}`, {
      method,
      credentials: "same-origin",
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(isChange && session.value && { "x-csrf-token": session.value.csrf }),
        ...(isChange && path.startsWith("/v1/") && method !== "DELETE" && { "idempotency-key": newKey() }),
        ...(actsFor !== undefined && actsFor !== "" && { "x-account": actsFor }),
        ...options.headers
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal })
    })
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    throw new ApiError(0, { error: "The service does not answer.", code: "no_answer" })
  }
}

const failureIn = (text: string): Pick<Failure, "error" | "code" | "details"> => {
  const json: unknown = parsed(text)
  return isFailure(json) ? json : { error: text.slice(0, 500), code: "unknown" }
}

const isFailure = (json: unknown): json is Failure =>
  typeof json === "object" && json !== null && "error" in json && "code" in json
