/**
 * Canonical JSON (RFC 8785) and hashes of it.
 *
 * Invariant: hashed text reads back as the same value in every reader. A value that JSON cannot represent, or that another
 * reader may change silently, is refused with its path; the output passes `inspectJson`. The serialiser is the
 * `canonicalize` package by an author of the RFC.
 */
import canonicalize from "canonicalize"
import { Schema } from "effect"
import { hash } from "node:crypto"
import { Limits } from "@muniment/domain/Limits"
import { isUnsafeInteger } from "@muniment/domain/Json"

export class NotCanonical extends Schema.TaggedError<NotCanonical>()("NotCanonical", {
  /** JSON pointer. */
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `no canonical JSON at "${this.path}": ${this.reason}`
  }
}

/** The three inputs of `contentHash`; tags, expiry, subject and thread are not covered. */
interface HashedContent {
  readonly agentId: string
  readonly data: unknown
  readonly kind: string
}

/** The canonical text of a plain value; throws `NotCanonical`. Undefined members are left out. */
export const canonicalJson = (value: unknown): string => {
  refuseUncarried(value)
  const text = canonicalize(value)
  if (text === undefined) throw new NotCanonical({ path: "", reason: "not a JSON value" })
  return text
}

/** Lower-case hex SHA-256 of bytes, or of a text's UTF-8. */
export const sha256Hex = (input: string | Uint8Array): string => hash("sha256", input, "hex")

/** `0x` and the hex SHA-256 of canonical `{agentId, data, kind}` (contract: Attestations). */
export const contentHash = ({ agentId, data, kind }: HashedContent): string =>
  `0x${sha256Hex(canonicalJson({ agentId, data, kind }))}`

/** The same of content that JSON text was parsed into: nothing in it has to be refused, at less than half the cost. */
export const storedContentHash = ({ agentId, data, kind }: HashedContent): string =>
  `0x${sha256Hex(canonicalize({ agentId, data, kind }) ?? "")}`

/** One segment of a JSON pointer (RFC 6901), including its slash. */
export const pointerSegment = (key: string | number): string =>
  `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`

interface Place {
  readonly value: unknown
  readonly path: string
  readonly depth: number
}

// A stack instead of recursion, because the sender chooses the depth; a cycle ends at the depth limit.
const refuseUncarried = (root: unknown): void => {
  const open: Array<Place> = [{ value: root, path: "", depth: 1 }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { depth, path, value } = place
    const reason = typeof value === "object" && value !== null ? containerFault(value, depth) : scalarFault(value)
    if (reason !== undefined) throw new NotCanonical({ path, reason })
    if (Array.isArray(value)) {
      value.forEach((_, index) =>
        open.push({ value: value[index], path: path + pointerSegment(index), depth: depth + 1 })
      )
    } else if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        const inside = path + pointerSegment(key)
        if (!key.isWellFormed()) throw new NotCanonical({ path: inside.toWellFormed(), reason: "a lone surrogate" })
        if (member !== undefined) open.push({ value: member, path: inside, depth: depth + 1 })
      }
    }
  }
}

const containerFault = (value: object, depth: number): string | undefined => {
  if (depth > Limits.jsonDepthMax) return `nested deeper than ${Limits.jsonDepthMax}`
  if (Array.isArray(value)) {
    // `includes` also sees holes, which `forEach` would skip.
    return value.includes(undefined) ? "an undefined element" : undefined
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return "not a plain object"
  return Object.hasOwn(value, "__proto__") ? "the key __proto__" : undefined
}

const scalarFault = (value: unknown): string | undefined => {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : "a lone surrogate"
    case "number":
      if (!Number.isFinite(value)) return "not a finite number"
      return isUnsafeInteger(value) ? "an integer beyond 2^53" : undefined
    case "boolean":
      return undefined
    default:
      return value === null ? undefined : `no JSON form of ${typeof value}`
  }
}
