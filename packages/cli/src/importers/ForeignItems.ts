/**
 * Result of importing one element of another product's export: records with ids that depend on the element alone, or a
 * reason why it is left out. So an import can be repeated after any interruption: what is there is skipped.
 */
import { createHash } from "node:crypto"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { encodeBase32 } from "@muniment/domain/Ids"

/** Whose memories they become. */
export interface ImportOwner {
  readonly account: string
  readonly agentId: string
  readonly subjectId: string | undefined
  readonly nowMillis: number
}

export interface ForeignMessage {
  readonly id: string
  readonly role: unknown
  readonly text: unknown
  readonly at: unknown
  readonly threadId: string
  readonly name?: unknown
}

export interface ForeignFact {
  readonly id: string
  readonly subject: string
  readonly fact: unknown
  readonly at: unknown
  readonly tags?: ReadonlyArray<unknown>
  readonly subjectId?: unknown
  readonly threadId?: unknown
}

/** `skipped`: why it is left out. */
export type ForeignItem = { readonly record: object } | { readonly skipped: string }

const roles: Readonly<Record<string, string>> = {
  user: "user",
  human: "user",
  assistant: "assistant",
  ai: "assistant",
  system: "system"
}

export const messageItem = (
  owner: ImportOwner,
  { at, id, name, role, text, threadId }: ForeignMessage
): ForeignItem => {
  const said = roles[String(role).toLowerCase()]
  if (said === undefined) return { skipped: `the role ${String(role)}` }
  if (typeof text !== "string" || text.trim() === "") return { skipped: "a message without text" }
  if (text.length > Limits.messageLengthMax)
    return { skipped: `a message of more than ${Limits.messageLengthMax} characters` }
  const millis = millisOf(at)
  if (millis === undefined && at !== undefined && at !== null) return { skipped: "a date that cannot be read" }
  const thread = identifierOf(threadId)
  const sentAt = millis === undefined ? undefined : new Date(millis).toISOString()
  return {
    record: {
      ...base(owner, `${threadId}\0${id}`, millis),
      ...(thread !== undefined && { threadId: thread }),
      kind: conversationMessageKind,
      data: {
        role: said,
        ...(typeof name === "string" && name.trim() !== "" && { name }),
        text,
        ...(sentAt !== undefined && { sentAt })
      },
      tags: [],
      origin: "conversation",
      sources: [{ key: digestOf(`${threadId}\0${id}`).toString("hex"), id: id.slice(0, Limits.identifierLengthMax) }]
    }
  }
}

export const factItem = (owner: ImportOwner, fact: ForeignFact): ForeignItem => {
  if (typeof fact.fact !== "string" || fact.fact.trim() === "") return { skipped: "a memory without text" }
  const millis = millisOf(fact.at)
  if (millis === undefined && fact.at !== undefined && fact.at !== null)
    return { skipped: "a date that cannot be read" }
  const subjectId = identifierOf(fact.subjectId)
  const threadId = identifierOf(fact.threadId)
  return {
    record: {
      ...base(owner, fact.id, millis),
      ...(subjectId !== undefined && { subjectId }),
      ...(threadId !== undefined && { threadId }),
      kind: "factual_memory",
      data: { subject: fact.subject, fact: fact.fact },
      tags: (fact.tags ?? []).filter((tag) => typeof tag === "string"),
      origin: "direct"
    }
  }
}

const base = ({ account, agentId, nowMillis, subjectId }: ImportOwner, id: string, millis: number | undefined) => ({
  id: memoryIdFor(account, agentId, id),
  agentId,
  ...(subjectId !== undefined && { subjectId }),
  mentions: [],
  ...(millis !== undefined && { when: new Date(millis).toISOString() }),
  confidence: 1,
  createdAt: millis ?? nowMillis,
  updatedAt: millis ?? nowMillis
})

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

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Seconds or milliseconds since 1970, or a date as text. */
const millisOf = (at: unknown): number | undefined => {
  const millis =
    typeof at === "number" ? (at < SECONDS_MAX ? at * 1_000 : at) : typeof at === "string" ? Date.parse(at) : NaN
  return Number.isFinite(millis) && Math.abs(millis) <= DATE_MAX ? Math.round(millis) : undefined
}

/** As seconds in the year 5138, as milliseconds in 1973. */
const SECONDS_MAX = 100_000_000_000
const DATE_MAX = 8_640_000_000_000_000

const identifierOf = (id: unknown): string | undefined =>
  typeof id === "string" && id !== ""
    ? id.length <= Limits.identifierLengthMax
      ? id
      : digestOf(id).toString("hex")
    : undefined
