/**
 * Identifiers of the service.
 *
 * A memory id is `mem_` and 26 characters of Crockford base 32 over a UUIDv7 (RFC 9562 section 5.7):
 * 48 bits of milliseconds, then a counter, and in its last 48 bits the tag of the namespace that
 * holds the memory, so that a lookup by id needs no directory scan. Ids sort by creation time.
 */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"

const identifier = (what: string) =>
  Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({ description: what })

/** Where the next page of a list begins. */
export const PageCursor = Schema.NonEmptyString.annotate({
  description: "`nextCursor` of the page before; opaque.",
  format: "cursor"
})

export const AgentId = identifier("Agent identifier, 1 to 128 characters.")
export const SubjectId = identifier("Subject (tenant) identifier, 1 to 128 characters.")
export const ThreadId = identifier("Conversation thread identifier, 1 to 128 characters.")

/** 48-bit tag of a namespace, 12 lower-case hex digits. */
export type NamespaceTag = string

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const counterBits = 26n
const memoryIdPattern = /^mem_[0-7][0-9A-HJKMNP-TV-Z]{25}$/u

/** In answers. */
export const MemoryId = Schema.String.annotate({ examples: ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] })

/** The id of a memory that is written under it: of this form. */
export const WrittenMemoryId = Schema.String.check(Schema.isPattern(memoryIdPattern, { expected: "a memory id" }))

/** 128-bit number -> 26 characters of Crockford base 32, most significant first. */
export const encodeBase32 = (value: bigint): string => {
  let text = ""
  for (let index = 0; index < 26; index++) {
    text = alphabet[Number(value & 31n)]! + text
    value >>= 5n
  }
  return text
}

const decodeBase32 = (text: string): bigint => {
  let value = 0n
  for (const character of text) value = (value << 5n) | BigInt(alphabet.indexOf(character))
  return value
}

/**
 * UUIDv7 value from `timeMillis` (48 bits), `counter` (26 bits, spread over rand_a and the head of
 * rand_b) and the namespace `tag` (48 bits, the tail of rand_b).
 */
export const memoryIdOf = (timeMillis: number, counter: number, tag: NamespaceTag): string => {
  const count = BigInt(counter) & ((1n << counterBits) - 1n)
  const value =
    (BigInt(timeMillis) << 80n) |
    (7n << 76n) |
    ((count >> 14n) << 64n) |
    (2n << 62n) |
    ((count & 0x3fffn) << 48n) |
    BigInt(`0x${tag}`)
  return `mem_${encodeBase32(value)}`
}

/** The namespace tag that a well-formed memory id carries, else undefined. */
export const namespaceTagOf = (memoryId: string): NamespaceTag | undefined =>
  memoryIdPattern.test(memoryId)
    ? (decodeBase32(memoryId.slice(4)) & 0xffffffffffffn).toString(16).padStart(12, "0")
    : undefined
