/**
 * Scanner of raw JSON text for what `JSON.parse` accepts or changes silently: depth, duplicate keys, `__proto__`, lone
 * surrogates, numbers that a double cannot represent. Runs before text is parsed, hashed or signed.
 *
 * Invariants: one pass, no recursion, linear in the text; never throws. For malformed text any answer is correct, because
 * `JSON.parse` refuses it.
 */
import { isUnsafeInteger } from "@muniment/domain/Json"
import { pointerSegment } from "./CanonicalJson.ts"

export type JsonFault =
  | "too_deep"
  | "too_many_keys"
  | "too_many_values"
  | "duplicate_key"
  | "prototype_key"
  | "lone_surrogate"
  | "unsafe_integer"
  | "infinite_number"

interface JsonFinding {
  readonly reason: JsonFault
  /** JSON pointer to the place. */
  readonly path: string
}

interface JsonTextLimits {
  /** Nested containers; `[[1]]` has depth 2. */
  readonly depthMax: number
  /** Keys of one object; default: any number. */
  readonly keysMax?: number
  /** Values in the whole text, containers and what is in them; default: any number. */
  readonly valuesMax?: number
}

/** The first fault in the text, or undefined. */
export const inspectJson = (text: string, limits: JsonTextLimits): JsonFinding | undefined =>
  new JsonScanner(text, limits).scan()

/** One open container; reused for all containers of its depth. */
interface Level {
  isObject: boolean
  /** The next string is a key. */
  expectsKey: boolean
  /** Elements started, for the path. */
  index: number
  /** The key read last, for the path. */
  key: string
  /** Keys seen: the first `keyCount` of the list while they are few, then all in a set. */
  readonly keys: Array<string>
  keyCount: number
  keySet: Set<string> | undefined
}

/** Below this number of keys comparing all is faster than hashing. */
const listedKeysMax = 12

const quote = 0x22
const backslash = 0x5c
const largestInteger = String(Number.MAX_SAFE_INTEGER)

class JsonScanner {
  readonly #text: string
  readonly #depthMax: number
  readonly #keysMax: number
  readonly #valuesMax: number
  readonly #levels: Array<Level> = []
  #at = 0
  #depth = 0
  /** Every value but the first of a container follows a comma, and a container begins its first. */
  #values = 0
  #fault: JsonFault | undefined

  constructor(text: string, { depthMax, keysMax = Infinity, valuesMax = Infinity }: JsonTextLimits) {
    this.#text = text
    this.#depthMax = depthMax
    this.#keysMax = keysMax
    this.#valuesMax = valuesMax
  }

  scan(): JsonFinding | undefined {
    const text = this.#text
    while (this.#at < text.length && this.#fault === undefined) {
      const code = text.charCodeAt(this.#at)
      switch (code) {
        case quote:
          this.#string()
          break
        case 0x7b: // {
        case 0x5b: // [
          this.#open(code === 0x7b)
          break
        case 0x7d: // }
        case 0x5d: // ]
          this.#depth = Math.max(0, this.#depth - 1)
          this.#at++
          break
        case 0x2c: // ,
          this.#comma()
          break
        default:
          if (code === 0x2d || isDigit(code)) this.#number()
          else this.#at++
      }
    }
    return this.#fault === undefined ? undefined : { reason: this.#fault, path: this.#path() }
  }

  #open(isObject: boolean): void {
    this.#at++
    this.#count()
    if (this.#depth === this.#depthMax) {
      this.#fault = "too_deep"
      return
    }
    const level = this.#levels[this.#depth++]
    if (level === undefined) {
      this.#levels.push({ isObject, expectsKey: isObject, index: 0, key: "", keys: [], keyCount: 0, keySet: undefined })
    } else {
      level.isObject = isObject
      level.expectsKey = isObject
      level.index = 0
      level.key = ""
      level.keyCount = 0
      level.keySet = undefined
    }
  }

  #count(): void {
    if (++this.#values > this.#valuesMax) this.#fault = "too_many_values"
  }

  #comma(): void {
    this.#at++
    this.#count()
    const level = this.#levels[this.#depth - 1]
    if (this.#depth === 0 || level === undefined) return
    level.expectsKey = level.isObject
    level.index++
  }

  /** A key or a value; leaves `#at` behind the closing quote. */
  #string(): void {
    const text = this.#text
    const start = ++this.#at
    let isEscaped = false
    let isBroken = false
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) break
      if (code === backslash) {
        isEscaped = true
        const unit = escapedUnit(text, at)
        if (unit === undefined) at++
        else if (isHighSurrogate(unit) && isLowSurrogate(escapedUnit(text, at + 6))) at += 11
        else {
          isBroken ||= isSurrogate(unit)
          at += 5
        }
      } else if (isSurrogate(code)) {
        if (isHighSurrogate(code) && isLowSurrogate(text.charCodeAt(at + 1))) at++
        else isBroken = true
      }
    }
    this.#at = at + 1
    const level = this.#levels[this.#depth - 1]
    const isKey = this.#depth > 0 && level !== undefined && level.expectsKey
    if (isKey) {
      level.expectsKey = false
      const raw = text.slice(start, at)
      this.#key(level, isEscaped ? unescaped(raw) : raw)
    }
    if (isBroken) this.#fault = "lone_surrogate"
  }

  #key(level: Level, key: string): void {
    level.key = key
    if (key === "__proto__") this.#fault = "prototype_key"
    else if ((level.keySet?.size ?? level.keyCount) >= this.#keysMax) this.#fault = "too_many_keys"
    else if (isSeen(level, key)) this.#fault = "duplicate_key"
    else if (level.keySet !== undefined) level.keySet.add(key)
    else {
      level.keys[level.keyCount++] = key
      if (level.keyCount === listedKeysMax) level.keySet = new Set(level.keys)
    }
  }

  #number(): void {
    const text = this.#text
    const start = text.charCodeAt(this.#at) === 0x2d ? this.#at + 1 : this.#at
    let end = start
    while (isDigit(text.charCodeAt(end))) end++
    const digits = end - start
    const next = text.charCodeAt(end)
    const isInteger = next !== 0x2e && next !== 0x45 && next !== 0x65 // . E e
    if (isInteger) {
      const isUnsafe =
        digits > largestInteger.length || (digits === largestInteger.length && text.slice(start, end) > largestInteger)
      if (isUnsafe) this.#fault = "unsafe_integer"
    } else {
      while (isNumberTail(text.charCodeAt(end))) end++
      const value = Number(text.slice(start, end))
      if (value === Infinity) this.#fault = "infinite_number"
      else if (isUnsafeInteger(value)) this.#fault = "unsafe_integer"
    }
    this.#at = Math.max(end, this.#at + 1)
  }

  #path(): string {
    return this.#levels
      .slice(0, this.#depth)
      .map((level) => (level.isObject ? level.key : level.index))
      .map(pointerSegment)
      .join("")
      .toWellFormed()
  }
}

const isSeen = (level: Level, key: string): boolean => {
  if (level.keySet !== undefined) return level.keySet.has(key)
  for (let index = 0; index < level.keyCount; index++) {
    if (level.keys[index] === key) return true
  }
  return false
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isNumberTail = (code: number): boolean =>
  isDigit(code) || code === 0x2e || code === 0x45 || code === 0x65 || code === 0x2b || code === 0x2d
const isSurrogate = (code: number): boolean => (code & 0xf800) === 0xd800
const isHighSurrogate = (code: number): boolean => (code & 0xfc00) === 0xd800
const isLowSurrogate = (code: number | undefined): boolean => code !== undefined && (code & 0xfc00) === 0xdc00

/** The UTF-16 unit of a `\uXXXX` that begins at `at`, or undefined when none does. */
const escapedUnit = (text: string, at: number): number | undefined => {
  if (text.charCodeAt(at) !== backslash || text.charCodeAt(at + 1) !== 0x75) return undefined
  let unit = 0
  for (let index = at + 2; index < at + 6; index++) {
    const digit = hexDigit(text.charCodeAt(index))
    if (digit === undefined) return undefined
    unit = unit * 16 + digit
  }
  return unit
}

const hexDigit = (code: number): number | undefined => {
  if (isDigit(code)) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined
}

/** A key as `JSON.parse` would read it; malformed ones are unchanged. */
const unescaped = (raw: string): string => {
  try {
    return String(JSON.parse(`"${raw}"`))
  } catch {
    return raw
  }
}
