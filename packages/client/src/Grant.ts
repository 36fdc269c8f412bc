/**
 * Grants (contract: Grants) as a client handles them: the text that a grantor's wallet signs, the
 * `X-Grants` header, and share codes, `mshare_` and the grants in url-safe Base64, which stay between
 * clients. Only the service decides whether a grant is valid.
 */
import { canonicalJson, utf8 } from "./CanonicalJson.ts"
import type { Grant, GrantPayload } from "./Endpoints.ts"
import { MunimentError } from "./MunimentError.ts"

/** Grants, or the share code that holds them. */
export type GrantsInput = ReadonlyArray<Grant> | string

const grantsMax = 10
/** As much as the service reads of the header. */
const textLengthMax = 16_384
const shareCodePrefix = "mshare_"

/** `<service>:grant:v1:` */
export const grantPrefix = (service: string): string => `${service}:grant:v1:`

/**
 * What the wallet of `payload.f` signs: EVM as a personal message (EIP-191), Solana as UTF-8 bytes. The
 * grant is then `{ p: payload, s: signature, c: "evm" | "sol" }`, `s` in hex or in Base64.
 */
export const grantMessage = (prefix: string, payload: GrantPayload): string => prefix + base64Of(canonicalJson(payload))

export const encodeShareCode = (grants: ReadonlyArray<Grant>): string =>
  shareCodePrefix + base64Of(canonicalJson(grants)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** Throws a `MunimentError` with code `invalid_grants_header` or `too_many_grants`. */
export const decodeShareCode = (code: string): ReadonlyArray<Grant> => {
  const trimmed = code.trim()
  if (!trimmed.startsWith(shareCodePrefix)) throw malformed(`is no share code; those begin with ${shareCodePrefix}`)
  if (trimmed.length > textLengthMax) throw malformed("is too long")
  return checked(jsonOf(trimmed.slice(shareCodePrefix.length)))
}

/** Value of the `X-Grants` header. */
export const grantsHeader = (grants: GrantsInput): string =>
  base64Of(canonicalJson(typeof grants === "string" ? decodeShareCode(grants) : checked(grants)))

const checked = (value: unknown): ReadonlyArray<Grant> => {
  if (!Array.isArray(value)) throw malformed("is not a JSON array")
  if (value.length > grantsMax) {
    throw new MunimentError({ status: 0, code: "too_many_grants", message: `at most ${grantsMax} grants per request` })
  }
  if (!value.every(isGrant)) throw malformed("holds an element that is not {p: {f, g, e, a?, u?, o?, h?}, s, c}")
  return value
}

const isGrant = (value: unknown): value is Grant => {
  if (!isObject(value) || !isObject(value["p"])) return false
  const { f, g, e, a, u, o, h } = value["p"]
  const isScope = (name: unknown) => name === undefined || isName(name)
  return (
    isName(f) &&
    isName(g) &&
    Number.isSafeInteger(e) &&
    isScope(a) &&
    isScope(u) &&
    isScope(o) &&
    (h === undefined || typeof h === "boolean") &&
    isText(value["s"]) &&
    isText(value["c"])
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null
const isText = (value: unknown): value is string => typeof value === "string"
const isName = (value: unknown): value is string => isText(value) && value !== ""

/** Undefined, which is not a JSON value, for everything that cannot be read. */
const jsonOf = (base64: string): unknown => {
  try {
    const binary = atob(base64.replaceAll("-", "+").replaceAll("_", "/"))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

const base64Of = (text: string): string => btoa(Array.from(utf8(text), (byte) => String.fromCharCode(byte)).join(""))

const malformed = (what: string): MunimentError =>
  new MunimentError({ status: 0, code: "invalid_grants_header", message: `the list of grants ${what}` })
