/**
 * Result of importing one element of another product's export: records with ids that depend on the element alone, or a
 * reason why it is left out. So an import can be repeated after any interruption: what is there is skipped.
 */
import { createHash } from "node:crypto"
import { type MessageRole, messageRoles } from "@muniment/domain/Conversation"
import { encodeBase32 } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { Metadata } from "@muniment/domain/Metadata"
import { Schema } from "effect"
import { pieces } from "./noteTexts.ts"

/** Owner of the memories that are made. */
export interface ImportOwner {
  readonly account: string
  /** Undefined: as the export says, else `imported`. */
  readonly agentId: string | undefined
  /** Undefined: as the export says. */
  readonly subjectId: string | undefined
  readonly nowMillis: number
}

interface ForeignMessage {
  readonly id: string
  readonly role: unknown
  readonly text: unknown
  readonly at: unknown
  readonly threadId: string
  readonly name?: unknown
  readonly subjectId?: unknown
}

export interface ForeignFact {
  readonly id: string
  readonly subject: string
  readonly fact: unknown
  readonly at: unknown
  readonly tags?: ReadonlyArray<unknown>
  readonly agentId?: unknown
  readonly subjectId?: unknown
  readonly threadId?: unknown
  readonly expiresAt?: unknown
  /** The fact held until then; what took its place, if anything, is a memory of its own. */
  readonly until?: unknown
  /** More properties of its data. */
  readonly more?: Fields
  /** Notes of the export beside it. */
  readonly metadata?: Fields
  /** Fields of the element that have a value and no place in a memory. */
  readonly unkept?: ReadonlyArray<string>
}

export type ForeignItem = Kept | Skipped

interface Kept {
  readonly record: { readonly kind: string; readonly uniqueKey?: string }
  readonly unkept?: ReadonlyArray<string>
}

interface Skipped {
  /** Why it is left out. */
  readonly skipped: string
  /** The product writes nothing of this form. */
  readonly isUnknown?: true
}

export const unknownItem = (reason: string): Skipped => ({ skipped: reason, isUnknown: true })

const agentDefault = "imported"
const isMetadata = Schema.is(Metadata)

/** Long texts become several messages. */
export const messageItems = (owner: ImportOwner, message: ForeignMessage): ReadonlyArray<ForeignItem> => {
  const { at, id, name, role, subjectId, text, threadId } = message
  const said = roleOf(role)
  if (said === undefined)
    return [unknownItem(role === undefined ? "a message without role" : `the role ${String(role)}`)]
  if (typeof text !== "string" || text.trim() === "") return [{ skipped: "a message without text" }]
  const millis = millisOf(at)
  if (millis === undefined && isDateGiven(at)) return [{ skipped: "a date that cannot be read" }]
  const thread = identifierOf(threadId)
  const sentAt = millis === undefined ? undefined : new Date(millis).toISOString()
  return pieces(text, Limits.messageLengthMax).map((piece, part) => {
    const own = part === 0 ? `${threadId}\0${id}` : `${threadId}\0${id}\0${part}`
    return {
      record: {
        ...base(owner, own, millis, { subjectId }),
        ...(thread !== undefined && { threadId: thread }),
        kind: conversationMessageKind,
        data: {
          role: said,
          ...(typeof name === "string" && name.trim() !== "" && { name }),
          text: piece,
          ...(sentAt !== undefined && { sentAt })
        },
        tags: [],
        origin: "conversation",
        sources: [{ key: digestOf(own).toString("hex"), id: id.slice(0, Limits.identifierLengthMax) }]
      }
    }
  })
}

export const factItems = (owner: ImportOwner, fact: ForeignFact): ReadonlyArray<ForeignItem> => {
  const { agentId, at, expiresAt, id, more, subject, subjectId, until } = fact
  if (typeof fact.fact !== "string" || fact.fact.trim() === "") return [{ skipped: "a memory without text" }]
  const [millis, endsMillis, untilMillis] = [millisOf(at), millisOf(expiresAt), millisOf(until)]
  for (const [given, read] of [
    [at, millis],
    [expiresAt, endsMillis],
    [until, untilMillis]
  ]) {
    if (read === undefined && isDateGiven(given)) return [{ skipped: "a date that cannot be read" }]
  }
  if (endsMillis !== undefined && endsMillis <= owner.nowMillis) return [{ skipped: "a memory that has expired" }]
  const threadId = identifierOf(fact.threadId)
  const { tags, unkept } = tagsOf(fact.tags ?? [])
  const metadata = fact.metadata ?? {}
  const isKept = isMetadata(metadata)
  const record = {
    ...base(owner, id, millis, { agentId, subjectId }),
    ...(threadId !== undefined && { threadId }),
    kind: "factual_memory",
    data: { subject, fact: fact.fact, ...more },
    tags,
    ...(isKept && Object.keys(metadata).length > 0 && { metadata }),
    origin: "direct",
    ...(endsMillis !== undefined && { expiresAt: endsMillis })
  }
  const left = [...(fact.unkept ?? []), ...unkept, ...(isKept ? [] : Object.keys(metadata))]
  if (untilMillis === undefined || untilMillis > owner.nowMillis) return [{ record, unkept: left }]
  // Two versions of one memory: what held, and that it holds no more, so that the first one is its history.
  const uniqueKey = digestOf(`import\0${record.id}`).toString("hex")
  const day = new Date(untilMillis).toISOString().slice(0, 10)
  const ended = {
    ...record,
    ...base(owner, `${id}\0until`, untilMillis, { agentId, subjectId }),
    data: { ...record.data, fact: `Until ${day}: ${fact.fact}` },
    uniqueKey
  }
  return [{ record: { ...record, uniqueKey }, unkept: left }, { record: ended }]
}

/** Standing instructions to the agent. */
export const instructionItems = (
  owner: ImportOwner,
  instruction: Omit<ForeignFact, "subject">
): ReadonlyArray<ForeignItem> =>
  factItems(owner, { ...instruction, subject: "" }).map((item) =>
    "skipped" in item
      ? item
      : { ...item, record: { ...item.record, kind: "instruction_memory", data: { text: instruction.fact } } }
  )

interface Place {
  readonly agentId?: unknown
  readonly subjectId?: unknown
}

/** The agent and the subject of the command go before those of the export. */
const base = (owner: ImportOwner, id: string, millis: number | undefined, place: Place) => {
  const agentId = owner.agentId ?? identifierOf(place.agentId) ?? agentDefault
  const subjectId = owner.subjectId ?? identifierOf(place.subjectId)
  return {
    id: memoryIdFor(owner.account, agentId, id),
    agentId,
    ...(subjectId !== undefined && { subjectId }),
    mentions: [],
    ...(millis !== undefined && { when: new Date(millis).toISOString() }),
    confidence: 1,
    createdAt: millis ?? owner.nowMillis,
    updatedAt: millis ?? owner.nowMillis
  }
}

/** One tag for all that an account's agent imports, so that the service keeps one alias; the rest is of the element. */
const memoryIdFor = (account: string, agentId: string, id: string): string => {
  const tag = digestOf(`import\0${account}\0${agentId}`).readUIntBE(0, 6)
  const own = digestOf(`${account}\0${agentId}\0${id}`)
  const version = 7n << 76n
  const variant = 2n << 62n
  const time = BigInt(own.readUIntBE(0, 6)) << 80n
  const counter = BigInt(own.readUInt32BE(6))
  const high = (counter & 0xfffn) << 64n
  const low = ((counter >> 12n) & 0x3fffn) << 48n
  return `mem_${encodeBase32(time | version | high | variant | low | BigInt(tag))}`
}

export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()

const roleOf = (role: unknown): MessageRole | undefined => {
  const name = String(role).toLowerCase()
  return Object.hasOwn(messageRoles, name) ? messageRoles[name as keyof typeof messageRoles] : undefined
}

/** The tags that a filter can name; others are counted. */
const tagsOf = (given: ReadonlyArray<unknown>) => {
  const tags = new Set<string>()
  const unkept = new Set<string>()
  for (const one of given) {
    const tag = typeof one === "string" ? one.replaceAll(",", " ").replaceAll(/\s+/g, " ").trim() : ""
    if (tag === "") continue
    if ([...tag].length > Limits.tagLengthMax) unkept.add(`a tag of more than ${Limits.tagLengthMax} characters`)
    else if (tags.size === Limits.tagsPerMemoryMax) unkept.add(`tags after the first ${Limits.tagsPerMemoryMax}`)
    else tags.add(tag)
  }
  return { tags: [...tags], unkept: [...unkept] }
}

/** Seconds or milliseconds since 1970, also as text, or a date as text. */
export const millisOf = (at: unknown): number | undefined => {
  if (typeof at === "string" && /^\s*\d{9,}(?:\.\d+)?\s*$/.test(at)) return millisOf(Number(at))
  const millis =
    typeof at === "number" ? (at < SECONDS_MAX ? at * 1_000 : at) : typeof at === "string" ? dateIn(at.trim()) : NaN
  return Number.isFinite(millis) && Math.abs(millis) <= DATE_MAX ? Math.round(millis) : undefined
}

/** Without an offset in UTC, as these products write it; PostgreSQL separates by a blank and has hours alone as offset. */
const dateIn = (text: string): number => {
  const [, day, time, offset = "Z"] = /^(\d{4}-\d\d-\d\d)[T ]([\d:.]+)\s*(Z|[+-]\d\d(?::?\d\d)?)?$/i.exec(text) ?? []
  if (day === undefined) return Date.parse(text)
  return Date.parse(`${day}T${time}${offset.length === 3 ? `${offset}:00` : offset}`)
}

const isDateGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ""

/** In seconds the year 5138, in milliseconds 1973. */
const SECONDS_MAX = 100_000_000_000
const DATE_MAX = 8_640_000_000_000_000

const identifierOf = (id: unknown): string | undefined =>
  typeof id === "string" && id !== ""
    ? id.length <= Limits.identifierLengthMax
      ? id
      : digestOf(id).toString("hex")
    : undefined

/** Fields of elements that other programs have written: any may be missing, of another type, or in another spelling. */
export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {}

export const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The first text that is not empty. */
export const textOf = (...values: ReadonlyArray<unknown>): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "")

export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)

/** The first of `names` that has a value, in snake case, in camel case, or as Python's SDKs write reserved names. */
export const fieldOf = (element: Fields, ...names: ReadonlyArray<string>): unknown =>
  names
    .flatMap(spellings)
    .map((name) => element[name])
    .find(isGiven)

const spellings = (name: string): ReadonlyArray<string> => [name, camelCase(name), `${name}_`]

const camelCase = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Fields that have a value and are none of `read`. */
export const unreadFields = (element: Fields, read: ReadonlyArray<string>): Fields => {
  const known = new Set(read.flatMap(spellings))
  return Object.fromEntries(Object.entries(element).filter(([name, value]) => !known.has(name) && isGiven(value)))
}

/** Texts of a message's parts; pictures and calls of tools have none. */
export const partsText = (parts: unknown): string =>
  listOf(parts)
    .map((part) => (typeof part === "string" ? part : textOf(fieldsOf(part)["text"])))
    .filter((part) => part !== undefined && part.trim() !== "")
    .join("\n")
