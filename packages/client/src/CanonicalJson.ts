/**
 * Canonical JSON (RFC 8785): keys sorted by UTF-16 code unit at every level, no spaces, scalars as `JSON.stringify`
 * prints them.
 *
 * Invariant: values that JSON cannot represent, or that another parser would alter, are refused, as the service does: a
 * signature over such a text would mean different things to different readers.
 */
import { MunimentError } from "./MunimentError.ts"

/** The depth that the service accepts. */
const depthMax = 64
/** Integers from here on are printed with an exponent, and every parser reads them as doubles. */
const exponentFrom = 1e21
/** As `isWellFormed` of strings finds it, which Node 18 lacks. */
const loneSurrogate = /\p{Surrogate}/u

/** Throws a `MunimentError` with code `not_canonical`. Undefined members are left out. */
export const canonicalJson = (value: unknown): string => textOf(value, 1)

/** The UTF-8 of a text, in memory of its own, as WebCrypto wants it. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text))

const textOf = (value: unknown, depth: number): string => {
  switch (typeof value) {
    case "string":
      if (loneSurrogate.test(value)) throw refused("a lone surrogate")
      return JSON.stringify(value)
    case "number":
      return numberText(value)
    case "boolean":
      return String(value)
    case "object":
      if (value === null) return "null"
      if (depth > depthMax) throw refused(`nested deeper than ${depthMax}`)
      return Array.isArray(value) ? arrayText(value, depth) : objectText(value, depth)
    default:
      throw refused(`no JSON form of ${typeof value}`)
  }
}

const numberText = (value: number): string => {
  if (!Number.isFinite(value)) throw refused("not a finite number")
  const isUnsafe = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < exponentFrom
  if (isUnsafe) throw refused("an integer beyond 2^53")
  return JSON.stringify(value)
}

// `Array.from` also visits holes, which `map` would skip.
const arrayText = (items: ReadonlyArray<unknown>, depth: number): string =>
  `[${Array.from(items, (item) => textOf(item, depth + 1)).join(",")}]`

const objectText = (value: object, depth: number): string => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw refused("not a plain object")
  if (Object.hasOwn(value, "__proto__")) throw refused("the key __proto__")
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, member]) => `${textOf(key, depth)}:${textOf(member, depth + 1)}`)
  return `{${members.join(",")}}`
}

const refused = (reason: string): MunimentError =>
  new MunimentError({ status: 0, code: "not_canonical", message: `no canonical JSON: ${reason}` })
