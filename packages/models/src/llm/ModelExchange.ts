/**
 * One HTTP exchange with the model's server. It learns the server's dialect: a request refused with 400 or 422 is sent
 * again in a simpler dialect, and the one that was accepted is used until the process ends. A server that takes a schema
 * and answers in prose does not impose it: later requests say it in a simpler way. One that fails with 500 and has never
 * imposed a schema is asked in the simpler way next, and from then on where that helped twice.
 *
 * Bodies are bounded, and redirects are not followed, because the key must not reach another server. Traces and errors
 * never contain a key, a prompt, an answer or the server's text.
 */
import { ByteSize, Clock, Duration, Effect, Stream } from "effect"
import { AiError } from "effect/ai"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { LanguageModelConfig } from "./LanguageModelConfig.ts"
import { type Dialect, firstDialect, type WireAnswer, type WireFormat, type WireRequest } from "./WireFormat.ts"

export type ModelExchange = (request: WireRequest) => Effect.Effect<Exchanged, AiError.AiError>

export interface Exchanged extends WireAnswer {
  /** In which it was asked. */
  readonly dialect: Dialect
}

/** An answer of 4,000 tokens is about 16 KB; reasoning added by the server can be many times that. */
const responseBytesMax = 512 * 1024
/** Bytes read of a refusal's body, which only names the fields that were not understood. */
const refusalBytesMax = 16 * 1024
/** More than there are dialects. */
const dialectsTriedMax = 9
const doubtsConfirmedMin = 2

export const makeModelExchange = (
  client: HttpClient.HttpClient,
  config: LanguageModelConfig,
  wire: WireFormat,
  first: Dialect = firstDialect
): ModelExchange => {
  let known = first
  let isSchemaImposed = false
  /** A 500 may be due to the schema: the next request is without it. */
  let isDoubted = false
  let doubtsConfirmed = 0

  const send = (request: WireRequest, dialect: Dialect) =>
    client
      .execute(
        HttpClientRequest.post(wire.urlOf(config.baseUrl), { headers: wire.headersOf(config.apiKey) }).pipe(
          HttpClientRequest.acceptJson,
          HttpClientRequest.bodyJsonUnsafe(wire.encode(request, dialect))
        )
      )
      .pipe(
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
        Effect.mapError(transportError)
      )

  return Effect.fnUntraced(function* (request) {
    const doubted = isDoubted && request.answer !== undefined ? wire.simpler(known, "response_format") : undefined
    let dialect = doubted ?? known
    for (let tried = 0; tried < dialectsTriedMax; tried += 1) {
      const response = yield* send(request, dialect)
      if (response.status >= 200 && response.status < 300) {
        const answer = yield* readAnswer(response, wire)
        if (request.answer !== undefined) {
          isDoubted = false
          isSchemaImposed ||= dialect.schemaBy === "json_schema"
        }
        // The first time the server may only have failed for a moment.
        if (dialect === doubted && ++doubtsConfirmed < doubtsConfirmedMin) return { ...answer, dialect }
        known = request.answer !== undefined && isProse(answer) ? dialectAfterProse(dialect) : dialect
        return { ...answer, dialect }
      }
      const refusal = yield* readRefusal(response)
      const next = isOfDialect(response.status, refusal) ? wire.simpler(dialect, refusal) : undefined
      if (next === undefined) {
        const isDoubtful = response.status === 500 && dialect.schemaBy === "json_schema" && !isSchemaImposed
        if (request.answer !== undefined) isDoubted = isDoubtful
        return yield* statusError(response, yield* Clock.currentTimeMillis)
      }
      dialect = next
    }
    return yield* failed(new AiError.InvalidRequestError({ description: "the server accepts no known request format" }))
  })
}

/** Valid HTTP, but not a valid request; FastAPI servers answer 422, older llama.cpp ones 500 to a schema. */
const isOfDialect = (status: number, refusal: string): boolean =>
  ((status === 400 || status === 422) && !noSuchModel.test(refusal)) ||
  (status === 500 && /schema|grammar|response_format/i.test(refusal))

/** As LiteLLM, OpenRouter and others say it with 400. */
const noSuchModel =
  /model_not_found|(?:invalid|unknown|no such) model\b|not a valid model|\bmodel\b[^.]{0,80}(?:not found|not exist|is not known)/i

/** A complete answer in words: a schema that is imposed allows none. */
const isProse = ({ finish, text }: WireAnswer): boolean =>
  finish === "stop" && text !== "" && !/^\s*[[{]/.test(text) && !holdsJson(text)

const dialectAfterProse = (dialect: Dialect): Dialect => ({
  ...dialect,
  schemaBy: dialect.schemaBy === "json_schema" ? "json_object" : "prompt"
})

const failed = (reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "ModelExchange", method: "generateText", reason })

const readAnswer = Effect.fnUntraced(function* (
  response: HttpClientResponse.HttpClientResponse,
  wire: WireFormat
): Effect.fn.Return<WireAnswer, AiError.AiError> {
  const bytes = Stream.mapError(response.stream, () => answerCut)
  const bounded = Stream.limitBytes(bytes, ByteSize.bytes(responseBytesMax), () => Stream.fail(tooLarge))
  const text = Buffer.concat([...(yield* Stream.runCollect(bounded))]).toString("utf8")
  const type = response.headers["content-type"] ?? ""
  const body = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => (/html/i.test(type) ? webPage : /event-stream/i.test(type) ? streamed : notJson)
  })
  return wire.decode(body) ?? (yield* notAnAnswer)
})

/** Read to its end or bound, which also frees the connection; an unreadable body counts as empty. */
const readRefusal = ({ stream }: HttpClientResponse.HttpClientResponse): Effect.Effect<string> =>
  Stream.limitBytes(stream, ByteSize.bytes(refusalBytesMax), () => Stream.empty).pipe(
    Stream.runCollect,
    Effect.map((chunks) => Buffer.concat([...chunks]).toString("utf8")),
    Effect.orElseSucceed(() => "")
  )

const invalid = (description: string) => failed(new AiError.InvalidResponseError({ description }))
const tooLarge = invalid(`the answer is larger than ${responseBytesMax} bytes`)
const notJson = invalid("the answer is not JSON")
const streamed = invalid("the server streams it, though it is asked not to")
/** Answer of a proxy, or of another service: no model has written it. */
const webPage = failed(new AiError.InvalidRequestError({ description: "a web page is at its address" }))
const notAnAnswer = invalid("the answer does not have the provider's format")

/** Without the cause, which may quote the request. */
const transportError = ({ reason }: HttpClientError.HttpClientError): AiError.AiError =>
  reason._tag === "InvalidUrlError" || reason._tag === "EncodeError"
    ? failed(new AiError.InvalidRequestError({ description: "the base URL or the request cannot be sent" }))
    : networkError(faultOf(reason))

/** By the code of the socket's error, which names neither the address nor the request. */
const faultOf = ({ cause }: { readonly cause?: unknown }): string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
  if (code === "ECONNREFUSED") return "the connection was refused"
  if (code === "ECONNRESET") return "the server closed the connection"
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "its host name is unknown"
  return /CERT|SIGNATURE|ERR_TLS/.test(code) ? "its certificate is not trusted" : "the connection failed"
}

const networkError = (description: string): AiError.AiError =>
  failed(new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "", description }))

/** The server had begun to answer: worth a retry, but it may bill the first one. */
export const answerCut = failed(
  new AiError.InternalProviderError({ description: "the connection ended before the answer was complete" })
)

const statusError = (
  { headers, status }: HttpClientResponse.HttpClientResponse,
  nowMillis: number
): AiError.AiError => {
  const retryAfter = retryAfterMillis(headers["retry-after"], nowMillis)
  const description = `the server answered ${status}`
  if (status === 429 || status === statusOverloaded) {
    return failed(
      new AiError.RateLimitError({
        retryAfter: retryAfter === undefined ? undefined : Duration.millis(retryAfter),
        metadata: { status }
      })
    )
  }
  if (status === 401 || status === 403) {
    return failed(new AiError.AuthenticationError({ kind: "Unknown", description, metadata: { status } }))
  }
  if (status === 408 || status >= 500) {
    const metadata = { status, ...(retryAfter !== undefined && { retryAfterMillis: retryAfter }) }
    return failed(new AiError.InternalProviderError({ description, metadata }))
  }
  const cause = status === 402 ? `${description}: the credit of the key is used up` : description
  return failed(new AiError.InvalidRequestError({ description: cause, metadata: { status } }))
}

/** Anthropic: overloaded. */
const statusOverloaded = 529

/** Seconds or a date (RFC 9110, section 10.2.3); an invalid value counts as absent. */
const retryAfterMillis = (header: string | undefined, nowMillis: number): number | undefined => {
  if (header === undefined) return undefined
  const seconds = Number(header)
  const millis = Number.isNaN(seconds) ? Date.parse(header) - nowMillis : seconds * 1_000
  return Number.isFinite(millis) ? Math.max(0, Math.ceil(millis)) : undefined
}

/** Values in braces that are tried; prose may contain braces too. */
const startsTriedMax = 8

/** Some templates write the opening tag into the prompt, so that the text begins inside of the thoughts. */
const thought = /^\s*(?:<think(?:ing)?>|(?![\s{[`]))[\s\S]*?<\/think(?:ing)?>/
const fence = "```"

/**
 * Finds the JSON value in a model's text: alone, in a code fence, after its reasoning or between sentences. Repairs
 * nothing: without a value that parses, the text is returned unchanged.
 */
export const jsonIn = (written: string): string => {
  const text = written.replace(thought, "").trim()
  if (isJson(text)) return text
  const fenced = insideFence(text)
  if (fenced !== undefined && isJson(fenced)) return fenced
  let from = 0
  for (let tried = 0; tried < startsTriedMax; tried += 1) {
    const start = text.slice(from).search(/[[{]/)
    if (start < 0) return text
    const end = endOfValue(text, from + start)
    // An unclosed value was cut off: a complete value inside it is not the answer.
    if (end === undefined) return text
    const value = text.slice(from + start, end)
    if (isJson(value)) return value
    from = end
  }
  return text
}

/** Whether a JSON value can be found in the text. */
const holdsJson = (written: string): boolean => isJson(jsonIn(written))

/** Thoughts before the answer, or in its place; an empty pair of tags holds none. */
export const beginsWithThought = (written: string): boolean => {
  const [thoughts = ""] = thought.exec(written) ?? /^\s*<think[\s\S]*/.exec(written) ?? []
  return thoughts.replaceAll(/<\/?think(?:ing)?>/g, "").trim() !== ""
}

/** Searched without a regular expression: some models write blank lines until they are cut off. */
const insideFence = (text: string): string | undefined => {
  const open = text.indexOf(fence)
  const start = open < 0 ? -1 : text.indexOf("\n", open)
  const end = start < 0 ? -1 : text.indexOf(fence, start)
  return end < 0 ? undefined : text.slice(start, end).trim()
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Index after the bracket that closes the one at `start`; brackets within strings do not count. */
const endOfValue = (text: string, start: number): number | undefined => {
  let depth = 0
  let isInString = false
  for (let index = start; index < text.length; index += 1) {
    const character = text[index]
    if (isInString) {
      if (character === "\\") index += 1
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (character === "{" || character === "[") depth += 1
    else if (character === "}" || character === "]") {
      depth -= 1
      if (depth === 0) return index + 1
    }
  }
  return undefined
}
