/**
 * One HTTP call of the client: URL, credentials, headers, time limit, retries, reading the answer. It
 * needs `fetch` and nothing else. A wallet signs every attempt, since a signature is valid for two
 * minutes only.
 *
 * Invariant: a call is repeated only if that is safe: reads, and writes that carry an
 * `Idempotency-Key`, whose first answer the service gives again. The key stays the same over retries, and
 * so does a payment.
 */
import { type GrantsInput, grantsHeader } from "./Grant.ts"
import { MunimentError, type MunimentErrorDetail } from "./MunimentError.ts"
import { demandOf, type Pay, type Payment, type PaymentReceipt, receiptOf } from "./Payment.ts"
import { environment, firstOf, webCrypto } from "./Runtime.ts"
import { type Wallet, walletHeaders } from "./Wallet.ts"

/** An API key, or a wallet that signs each request; its first one makes its account. */
export type Credentials =
  | {
      /** `MUNIMENT_API_KEY` by default. */
      readonly apiKey?: string | undefined
      readonly wallet?: undefined
    }
  | {
      readonly wallet: Wallet
      readonly apiKey?: undefined
      /**
       * What signatures name: the service's public URL where `baseUrl` is not it, as behind a proxy. `false` signs the
       * plain text, for a service that does not know the full one; any other of its kind could use the signature too.
       */
      readonly audience?: string | false | undefined
    }

export type TransportOptions = Credentials & TransportSettings

export interface TransportSettings {
  /**
   * Where the service is, with or without its version segment `/v1` and a trailing slash; by default `MUNIMENT_URL`,
   * else `http://127.0.0.1:8787`.
   */
  readonly baseUrl?: string | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Limit of one attempt; 30,000 by default. */
  readonly timeoutMillis?: number | undefined
  /** Attempts after a failure; 2 by default, 0 turns all repeats and generated keys off. */
  readonly retries?: number | undefined
  /**
   * How long a call waits in all for a service that says when to come back (`Retry-After`); 120,000 by default. Such
   * refusals are no failures: nothing was done.
   */
  readonly patienceMillis?: number | undefined
  /** Signs a payment when a call meets empty purses; without it, the call fails with `insufficient_credits`. */
  readonly onPaymentRequired?: Pay | undefined
  /** Waits between attempts; replaced in tests, and by who wants to show the waiting. */
  readonly pause?: ((millis: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
  /** Time of a wallet's signature, in milliseconds; replaced in tests. */
  readonly now?: (() => number) | undefined
}

const urlDefault = "http://127.0.0.1:8787"

const urlOf = (given: string | undefined): string => {
  const name = given === undefined ? "MUNIMENT_URL" : "baseUrl"
  const url = given ?? environment("MUNIMENT_URL") ?? urlDefault
  if (/^https?:\/\/[^\s/?#]+\S*$/i.test(url)) return url
  throw new TypeError(`${name} must begin with http:// or https:// and name a host: ${JSON.stringify(url)}`)
}

/** A key that a header can carry. */
const keyOf = (given: string | undefined): string => {
  const name = given === undefined ? "MUNIMENT_API_KEY" : "apiKey"
  const key = given ?? environment("MUNIMENT_API_KEY")
  if (key === undefined) throw new TypeError("give apiKey or wallet, or set MUNIMENT_API_KEY")
  if (/^[!-~]+$/.test(key)) return key
  throw new TypeError(`${name} is ${key === "" ? "empty" : "no key: it has a blank or a line end"}`)
}

export interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** Below the version prefix, already encoded. */
  readonly path: string
  /** At the origin, outside the version prefix, and without credentials. */
  readonly isPublic?: boolean
  readonly query?: object | undefined
  readonly body?: object | undefined
  /** False for calls that change nothing. */
  readonly isWrite: boolean
  readonly signal?: AbortSignal | undefined
  readonly idempotencyKey?: string | undefined
  readonly ifMatch?: string | undefined
  readonly grants?: GrantsInput | undefined
  /** Instead of `onPaymentRequired`. */
  readonly pay?: Pay | undefined
  /** Signed before this call; nothing else is signed then. */
  readonly payment?: Payment | undefined
}

export interface Answered {
  readonly body: unknown
  readonly receipt: PaymentReceipt | undefined
}

const timeoutMillisDefault = 30_000
const retriesDefault = 2
const patienceMillisDefault = 120_000
const pauseMillisMin = 200
const pauseMillisMax = 30_000
/** Beyond what the service asks for. */
const spreadMillisMax = 10_000
/** The last two are a proxy's. */
const retriedStatuses = new Set([408, 429, 503, 502, 504])
const pendingStatus = 202
/** Repeats while a payment is not confirmed; the service waits up to 10 s in each of them. */
const pendingRepeatsMax = 30

export class Transport {
  readonly #options: TransportOptions
  readonly #origin: string
  readonly #apiKey: string | undefined
  readonly #retries: number

  /** Throws a `TypeError` that names the setting where one cannot be used. */
  constructor(options: TransportOptions) {
    this.#options = options
    this.#origin = urlOf(options.baseUrl).replace(/(?:\/v1)?\/*$/, "")
    this.#apiKey = options.wallet === undefined ? keyOf(options.apiKey) : undefined
    this.#retries = options.retries ?? retriesDefault
  }

  /** The answer; rejects with `MunimentError`, or with the reason of the caller's signal or of who pays. */
  async call(call: Call): Promise<Answered> {
    const idempotencyKey =
      call.idempotencyKey ?? (call.isWrite && this.#retries > 0 ? (await webCrypto()).randomUUID() : undefined)
    const retries = call.isWrite && idempotencyKey === undefined ? 0 : this.#retries
    const prepared = prepare(call, idempotencyKey)
    const pay = call.pay ?? this.#options.onPaymentRequired
    const pause = this.#options.pause ?? pauseFor
    let { payment } = call
    let patienceMillis = this.#options.patienceMillis ?? patienceMillisDefault
    for (let failures = 0, pendings = 0, refusals = 0; ;) {
      try {
        return await this.#attempt(call, prepared, payment)
      } catch (error) {
        if (!(error instanceof MunimentError)) throw error
        const demand = error.paymentRequired
        if (demand !== undefined && demand.accepts.length > 0 && payment === undefined && pay !== undefined) {
          payment = await pay(demand)
          continue
        }
        // A pending payment is no failure: the request was not served, so repeating it is always right.
        const isPending = error.status === pendingStatus
        if (!isPending && (retries === 0 || !isPassing(error))) throw error
        const isRefusal = !isPending && error.retryAfterMillis !== undefined
        const attempt = isPending ? pendings++ : isRefusal ? refusals++ : failures++
        const millis = await pauseMillis(attempt, error.retryAfterMillis)
        if (isRefusal) patienceMillis -= millis
        if (isPending ? attempt >= pendingRepeatsMax : isRefusal ? patienceMillis < 0 : attempt >= retries) throw error
        await pause(millis, call.signal)
      }
    }
  }

  /** One attempt to open a stream; its answer has a body. No time limit holds once it is open. */
  async stream(
    call: Pick<Call, "path" | "query" | "signal">,
    lastEventId: string | undefined
  ): Promise<ReadableStream<Uint8Array>> {
    const { headers, path } = prepare({ ...call, method: "GET", isWrite: false }, undefined)
    const streamHeaders = {
      ...headers,
      accept: "text/event-stream",
      ...(lastEventId !== undefined && { "last-event-id": lastEventId })
    }
    const credentials = await this.#credentials("GET", { body: undefined, headers: streamHeaders, path })
    const send = this.#options.fetch ?? globalThis.fetch
    const sent = {
      headers: { ...streamHeaders, ...credentials },
      ...(call.signal !== undefined && { signal: call.signal })
    }
    const response = await send(`${this.#origin}/v1${path}`, sent).catch((error: unknown) => {
      call.signal?.throwIfAborted()
      throw failure("network_error", `the service at ${this.#origin} could not be reached`, error, undefined)
    })
    if (response.ok && response.body !== null) return response.body
    read(response, await response.text(), undefined)
    throw failure("invalid_response", `the service at ${this.#origin} gave no stream`, undefined, undefined)
  }

  /** Waits as after the attempt of this number, or rejects with the error if it is none to repeat after. */
  async pauseAfter(attempt: number, error: unknown, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (error instanceof MunimentError && !isPassing(error)) throw error
    const askedMillis = error instanceof MunimentError ? error.retryAfterMillis : undefined
    await (this.#options.pause ?? pauseFor)(await pauseMillis(attempt, askedMillis), signal)
  }

  async #attempt(call: Call, { body, headers, path }: Prepared, payment: Payment | undefined): Promise<Answered> {
    call.signal?.throwIfAborted()
    // Outside the time limit: a person may have to approve the signature.
    const credentials = call.isPublic === true ? {} : await this.#credentials(call.method, { body, headers, path })
    const timeout = AbortSignal.timeout(this.#options.timeoutMillis ?? timeoutMillisDefault)
    const send = this.#options.fetch ?? globalThis.fetch
    const ending = firstOf(call.signal === undefined ? [timeout] : [call.signal, timeout])
    try {
      const response = await send(`${this.#origin}${call.isPublic === true ? "" : "/v1"}${path}`, {
        method: call.method,
        headers: { ...headers, ...credentials, ...(payment !== undefined && { [payment.header]: payment.value }) },
        signal: ending.signal,
        ...(body === undefined ? {} : { body })
      })
      return read(response, await response.text(), payment)
    } catch (error) {
      if (error instanceof MunimentError) throw error
      call.signal?.throwIfAborted()
      if (timeout.aborted)
        throw failure("timeout", `the service at ${this.#origin} gave no answer in time`, error, payment)
      throw failure("network_error", `the service at ${this.#origin} could not be reached`, error, payment)
    } finally {
      ending.release()
    }
  }

  async #credentials(method: string, { body, headers, path }: Prepared): Promise<Record<string, string>> {
    const options = this.#options
    if (options.wallet === undefined) return { authorization: `Bearer ${this.#apiKey}` }
    const { audience = this.#origin, now = Date.now, wallet } = options
    const bound = audience === false ? undefined : { audience: new URL(audience).origin, headers }
    return walletHeaders(wallet, { method, path: `/v1${path}`, body, timestampMillis: now(), bound })
  }
}

/** Parts of a request that stay the same over all attempts. */
interface Prepared {
  /** With its query. */
  readonly path: string
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

const prepare = (call: Call, idempotencyKey: string | undefined): Prepared => ({
  path: `${call.path}${queryText(call.query)}`,
  body: call.body === undefined ? undefined : JSON.stringify(call.body),
  headers: {
    accept: "application/json",
    ...(call.body !== undefined && { "content-type": "application/json" }),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    ...(call.ifMatch !== undefined && { "if-match": `"${call.ifMatch}"` }),
    ...(call.grants !== undefined && { "x-grants": grantsHeader(call.grants) })
  }
})

const failure = (code: string, message: string, cause: unknown, payment: Payment | undefined): MunimentError =>
  new MunimentError({ status: 0, code, message, cause, payment })

const queryText = (query: object | undefined): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(name, typeof value === "object" ? JSON.stringify(value) : String(value))
  }
  const text = parameters.toString()
  return text === "" ? "" : `?${text}`
}

/** Characters; servers and proxies refuse longer request lines, many from 8 KiB on. */
const queryTextMax = 2_048

/** A read with these parameters, in the URL if they are short, else in a body. */
export const asked = (path: string, query: object): Pick<Call, "method" | "path" | "query" | "body"> =>
  queryText(query).length <= queryTextMax
    ? { method: "GET", path, query }
    : { method: "POST", path, body: Object.fromEntries(Object.entries(query).map(wellFormed)) }

/** Without halves of surrogate pairs, which a URL does not have either. */
const wellFormed = ([name, value]: readonly [string, unknown]): readonly [string, unknown] => [
  name,
  typeof value === "string"
    ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(value))
    : value
]

const read = (response: Response, text: string, payment: Payment | undefined): Answered => {
  const body = parse(text)
  if (response.ok && response.status !== pendingStatus && body !== undefined) {
    return { body, receipt: receiptOf(response) }
  }
  const fields = body ?? {}
  throw new MunimentError({
    status: response.status,
    code: typeof fields["code"] === "string" ? fields["code"] : "invalid_response",
    message: typeof fields["error"] === "string" ? fields["error"] : `the service answered ${response.status}`,
    details: Array.isArray(fields["details"]) ? (fields["details"] as ReadonlyArray<MunimentErrorDetail>) : undefined,
    retryAfterMillis: retryAfterMillis(response),
    paymentRequired: demandOf(response, fields),
    payment
  })
}

/** The object in `text`; undefined when it is something else, as a proxy's error page is. */
const parse = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    // The caller gets `invalid_response` with the status.
    return undefined
  }
}

const retryAfterMillis = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}

/** Another attempt may meet a service that answers. */
const isPassing = ({ status }: MunimentError): boolean => status === 0 || retriedStatuses.has(status)

/**
 * Doubling from 200 ms, spread over its upper half so that clients do not return in step. Where the service asks for a
 * time, that and a spread which doubles with it: all that are refused at one moment are asked for the same.
 */
const pauseMillis = async (attempt: number, askedMillis: number | undefined): Promise<number> => {
  const [random = 0] = (await webCrypto()).getRandomValues(new Uint32Array(1))
  const share = random / 2 ** 32
  if (askedMillis === undefined) {
    return Math.min(pauseMillisMin * 2 ** attempt * (0.5 + share / 2), pauseMillisMax)
  }
  return askedMillis + share * Math.min(Math.max(askedMillis, pauseMillisMin) * 2 ** attempt, spreadMillisMax)
}

const pauseFor = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, millis)
    signal?.addEventListener("abort", stop, { once: true })
  })

/**
 * Reading a stream of server-sent events (HTML standard, Server-sent events): lines to messages. It needs a body of
 * `fetch` and nothing else.
 */
export interface ServerSentMessage {
  /** Id of the last event of the stream; stays until another one comes. */
  readonly id: string | undefined
  /** Undefined: the message only moves the id. */
  readonly data: string | undefined
}

/** Messages as they come; a message that the end of the stream cuts is none. */
export async function* serverSentMessages(
  body: ReadableStream<Uint8Array>
): AsyncGenerator<ServerSentMessage, void, undefined> {
  let id: string | undefined
  let data: Array<string> = []
  let hasFields = false
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (hasFields) yield { id, data: data.length === 0 ? undefined : data.join("\n") }
      data = []
      hasFields = false
      continue
    }
    const colon = line.indexOf(":")
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (name === "id") id = value
    if (name === "data") data.push(value)
    hasFields ||= name === "id" || name === "data"
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = `${rest}${decoder.decode(value, { stream: true })}`.split(/\r\n|\n/)
      rest = lines.pop()!
      yield* lines
    }
  } finally {
    await reader.cancel()
  }
}
