/**
 * Encodings of grants: the `X-Grants` header, Base64 of a JSON array (contract: Grants), and share codes between clients,
 * `mshare_` and the same array in url-safe Base64.
 *
 * Invariants: decoding never throws; decoded JSON reads the same in every reader (`inspectJson`) and keeps unknown
 * members, so that a signature covers them.
 */
import { Result, Schema } from "effect"
import { Grant } from "@muniment/domain/Grant"
import { Limits } from "@muniment/domain/Limits"
import { canonicalJson } from "./CanonicalJson.ts"
import { inspectJson } from "./JsonText.ts"

export const grantsPerRequestMax = 10
/** Node accepts 16 KiB of headers in all. */
export const grantsTextLengthMax = 16_384
const shareCodePrefix = "mshare_"

/** 400. `code` and `error` are those of the answer. */
class InvalidGrants extends Schema.TaggedError<InvalidGrants>()("InvalidGrants", {
  code: Schema.Literals(["invalid_grants_header", "too_many_grants"]),
  error: Schema.String
}) {
  override get message(): string {
    return this.error
  }
}

/** Elements of an `X-Grants` header, in standard or url-safe Base64; none of an empty one. Undefined: it is no grant. */
export const decodeGrantsHeader = (text: string): Result.Result<ReadonlyArray<Grant | undefined>, InvalidGrants> => {
  const trimmed = text.trim()
  if (trimmed === "") return Result.succeed([])
  if (trimmed.length > grantsTextLengthMax) return malformed("is too long")
  if (!base64Pattern.test(trimmed)) return malformed("is not Base64")
  return grantsOf(Buffer.from(trimmed, "base64"))
}

export const encodeGrantsHeader = (grants: ReadonlyArray<Grant>): string =>
  Buffer.from(canonicalJson(grants)).toString("base64")

export const decodeShareCode = (code: string): Result.Result<ReadonlyArray<Grant>, InvalidGrants> => {
  const trimmed = code.trim()
  if (!trimmed.startsWith(shareCodePrefix)) {
    return malformed(`is no share code; those begin with ${shareCodePrefix}`)
  }
  return Result.flatMap(decodeGrantsHeader(trimmed.slice(shareCodePrefix.length)), (grants) =>
    grants.every((grant) => grant !== undefined)
      ? Result.succeed(grants)
      : malformed("holds an element that is not {p: {f, g, e, a?, u?, o?, h?}, s, c}")
  )
}

export const encodeShareCode = (grants: ReadonlyArray<Grant>): string =>
  shareCodePrefix + Buffer.from(canonicalJson(grants)).toString("base64url")

const base64Pattern = /^[A-Za-z0-9+/_-]+={0,2}$/
const isGrant = Schema.is(Grant)

const grantsOf = (bytes: Uint8Array): Result.Result<ReadonlyArray<Grant | undefined>, InvalidGrants> => {
  const elements = elementsOf(bytes)
  if (elements === undefined) return malformed("is not a JSON array")
  if (elements.length > grantsPerRequestMax) {
    return Result.fail(
      new InvalidGrants({ code: "too_many_grants", error: `at most ${grantsPerRequestMax} grants per request` })
    )
  }
  return Result.succeed(elements.map((element) => (isGrant(element) ? element : undefined)))
}

/** Undefined: no JSON array. An element that `JSON.parse` would change, by a number beyond 2^53 for one, is undefined. */
const elementsOf = (bytes: Uint8Array): ReadonlyArray<unknown> | undefined => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value)) return undefined
    const texts = elementTexts(text)
    const isSame = (at: number): boolean =>
      inspectJson(texts[at] ?? "", { depthMax: Limits.jsonDepthMax }) === undefined
    return value.map((element: unknown, at) => (isSame(at) ? element : undefined))
  } catch {
    return undefined
  }
}

/** The texts of the elements of a JSON array, which is well formed. */
const elementTexts = (array: string): ReadonlyArray<string> => {
  const texts: Array<string> = []
  let [depth, from] = [0, 0]
  for (const { 0: token, index } of array.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/gsu)) {
    if ("[{".includes(token) && depth++ === 0) from = index + 1
    const isEnd = "]}".includes(token) && --depth === 0
    if (!isEnd && !(token === "," && depth === 1)) continue
    texts.push(array.slice(from, index))
    from = index + 1
  }
  return texts
}

const malformed = (what: string) =>
  Result.fail(new InvalidGrants({ code: "invalid_grants_header", error: `the list of grants ${what}` }))
