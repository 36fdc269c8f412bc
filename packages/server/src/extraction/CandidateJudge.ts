/**
 * Checks that turn candidates into records: known kinds, valid data with defaults filled in, uniqueness keys, no
 * duplicates within the request. A candidate that fails a check is rejected with its reason; the others go on.
 */
import { Clock, Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { Limits } from "@muniment/domain/Limits"
import type {
  CreateMemories,
  JsonObject,
  MemoryRecord,
  MessageSource,
  RejectedCandidate
} from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { traced } from "@muniment/domain/traced"
import type { ShownMemory } from "@muniment/engine/namespace/Commands"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { tokenize } from "@muniment/language/text/Tokenizer"
import type { Candidate, DroppedCandidate, Turn } from "@muniment/insight/extraction/Extractor"
import type { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { contentHash, canonicalJson } from "@muniment/trust/CanonicalJson"
import type { KnownKinds } from "../memories/KnownKinds.ts"
import { type MemoryIds, eventTime, expiryOf, uniqueKey, validatorBusy } from "../memories/MemoryPreparation.ts"
import { type KeyedMessage, neighbourTexts } from "./ConversationMessages.ts"

/** An accepted candidate, with its schema and its data, defaults filled in. */
export interface ValidCandidate {
  readonly candidate: Candidate
  readonly schema: MemorySchema
  readonly data: JsonObject
}

/** Which version of a matter a candidate becomes. */
export interface VersionPlace {
  readonly uniqueKey: string | undefined
  /** Id of the stored memory, or the earlier candidate, whose words it carries on. */
  readonly carries: string | Candidate | undefined
  /** When that one ends, milliseconds. */
  readonly endsAt: number | undefined
}

interface Judgement<A> {
  readonly accepted: ReadonlyArray<A>
  readonly rejected: ReadonlyArray<RejectedCandidate>
}

/** Ids, as given, of the messages at `sources`. */
export const idsOfSources = (
  messages: ReadonlyArray<KeyedMessage>,
  sources: ReadonlyArray<number>
): ReadonlyArray<string> => sources.flatMap((source) => messages[source]?.id ?? [])

export const rejection = (
  { data, kind, sources }: Pick<DroppedCandidate, "data" | "kind" | "sources">,
  messages: ReadonlyArray<KeyedMessage>,
  reason: RejectedCandidate["reason"],
  message: string,
  duplicateOf?: string
): RejectedCandidate => ({
  ...(kind !== undefined && { kind }),
  ...(data !== undefined && { data }),
  reason,
  message,
  sourceMessageIds: idsOfSources(messages, sources),
  ...(duplicateOf !== undefined && { duplicateOf })
})

/** Candidates with valid data, each once, and the rejected ones. */
export const judgeCandidates = traced("CandidateJudge.judge")(function* (
  account: string,
  candidates: ReadonlyArray<Candidate>,
  messages: ReadonlyArray<KeyedMessage>,
  schemas: ReadonlyMap<string, MemorySchema>,
  validator: SchemaValidator["Service"]
) {
  const rejected: Array<RejectedCandidate> = []
  const reject = (candidate: Candidate, reason: RejectedCandidate["reason"], message: string) =>
    rejected.push(rejection(candidate, messages, reason, message))
  const known = candidates.filter((candidate, at) => {
    if (at >= Limits.candidatesPerConversationMax) reject(candidate, "too_many", "more than one request can store")
    else if (!schemas.has(candidate.kind)) reject(candidate, "unknown_kind", "this kind was not asked for")
    else return true
    return false
  })
  const accepted: Array<ValidCandidate> = []
  const said = new Set<string>()
  for (const [candidate, outcome] of yield* validated(account, known, schemas, validator)) {
    const schema = schemas.get(candidate.kind)!
    if (!outcome.ok) {
      const [issue] = outcome.issues
      reject(candidate, "schema_validation_failed", issue === undefined ? "invalid" : `${issue.path}: ${issue.message}`)
      continue
    }
    const data = outcome.data as JsonObject
    const missing = (schema.uniqueOn ?? []).find((field) => field !== "kind" && !Object.hasOwn(data, field))
    if (missing !== undefined) {
      reject(candidate, "unique_field_missing", `"${missing}" identifies this kind and is missing`)
      continue
    }
    const meaning = `${candidate.kind} ${meaningOf(data)}`
    if (said.has(meaning)) reject(candidate, "duplicate", "another candidate of this request says the same")
    else accepted.push({ candidate, schema, data })
    said.add(meaning)
  }
  return { accepted, rejected } satisfies Judgement<ValidCandidate>
})

const validated = Effect.fnUntraced(function* (
  account: string,
  candidates: ReadonlyArray<Candidate>,
  schemas: ReadonlyMap<string, MemorySchema>,
  validator: SchemaValidator["Service"]
) {
  const judged: Array<readonly [Candidate, Effect.Success<ReturnType<typeof validator.validate>>[number]]> = []
  for (let from = 0; from < candidates.length; from += Limits.memoriesPerRequestMax) {
    const part = candidates.slice(from, from + Limits.memoriesPerRequestMax)
    const items = part.map(({ data, kind }) => ({ schemaText: schemas.get(kind)!.schema, data }))
    const outcomes = yield* Effect.catchTag(validator.validate(items, account), "ValidatorBusy", validatorBusy)
    judged.push(...part.map((candidate, at) => [candidate, outcomes[at]!] as const))
  }
  return judged
})

/** A turn before the messages; milliseconds, undefined for what the request itself repeats. */
export interface ContextTurn extends Turn {
  /** Key of its message. */
  readonly key?: string | undefined
  readonly expiresAt?: number | undefined
}

/** Values that the records of one conversation share. */
export interface ExtractionScope {
  readonly account: string
  readonly request: Pick<
    CreateMemories,
    "agentId" | "subjectId" | "threadId" | "force" | "tags" | "metadata" | "ttl" | "expiresAt" | "wait" | "instructions"
  >
  readonly schemas: ReadonlyMap<string, MemorySchema>
  /** Committed with the memories. */
  readonly token: IdempotencyToken | undefined
  /** Id of the pending reading that the commit ends. */
  readonly reads: string | undefined
  readonly namespace: NamespaceKey
  /** The thread's stored context; undefined: nothing of it was read. */
  readonly before: ConversationContext | undefined
  /** Turns before the messages, oldest first. */
  readonly context: ReadonlyArray<ContextTurn>
  readonly messages: ReadonlyArray<KeyedMessage>
  /** Under which the messages count as read. */
  readonly marks: ReadonlyArray<string>
  /** Another reading of the messages follows. */
  readonly isAtOnce: boolean
  /** Messages that are read again are no turns, and later statements stand: when the last of them was said. */
  readonly saidMillis?: number | undefined
  /** Memories that the extractor was shown. */
  readonly shown: ReadonlyArray<ShownMemory>
}

export const extractedRecords = traced("CandidateJudge.records")(function* (
  accepted: ReadonlyArray<ValidCandidate>,
  { context, messages, namespace, request }: ExtractionScope,
  kinds: KnownKinds["Service"],
  ids: MemoryIds,
  /** In order. */
  places: ReadonlyArray<VersionPlace>,
  /** Keys of messages that are not kept. */
  withheld: ReadonlySet<string>
) {
  const nowMillis = yield* Clock.currentTimeMillis
  const expiresAt = expiryOf({}, request, nowMillis)
  const stored = new Map<Candidate, string>()
  // A turn that expires must not survive as the neighbour of a memory that does not.
  const lasting = context.map((turn) => ((turn.expiresAt ?? Infinity) < (expiresAt ?? Infinity) ? noTurn : turn))
  const turns = [...lasting, ...messages].map((turn) => (withheld.has(turn.key ?? "") ? noTurn : turn))
  return yield* Effect.forEach(accepted, ({ candidate, data, schema }, at) =>
    Effect.gen(function* () {
      const sources = candidate.sources.filter((source) => messages[source] !== undefined)
      const { carries, endsAt = Infinity, uniqueKey: key } = places[at]!
      const carried = typeof carries === "object" ? stored.get(carries) : carries
      const id = yield* ids.next(namespace.tag)
      stored.set(candidate, id)
      return {
        id,
        agentId: request.agentId,
        subjectId: request.subjectId,
        threadId: request.threadId,
        kind: candidate.kind,
        data,
        tags: tagsOf(request.tags ?? [], candidate),
        metadata: request.metadata,
        mentions: candidate.mentions,
        when: instantOf(candidate.when) ?? eventTime(data, kinds.temporalProperty(schema)),
        confidence: Math.round(Math.min(Math.max(candidate.confidence, 0), 1) * 100) / 100,
        contentHash: contentHash({ agentId: request.agentId, data, kind: candidate.kind }),
        createdAt: nowMillis,
        updatedAt: nowMillis,
        expiresAt: endsAt < (expiresAt ?? Infinity) ? endsAt : expiresAt,
        uniqueKey: uniqueKey(request.subjectId, candidate.kind, schema.uniqueOn ?? [], data) ?? key,
        origin: "extraction",
        sources: [
          ...sources.map((source): MessageSource => {
            const { id, key } = messages[source]!
            return { key, ...(id !== undefined && { id }) }
          }),
          ...(carried === undefined ? [] : [{ key: carried, isCarried: true as const }])
        ],
        neighbours: neighbourTexts(
          turns,
          sources.map((source) => context.length + source)
        )
      } satisfies MemoryRecord
    })
  )
})

/** Keeps the positions of the other turns. */
const noTurn: ContextTurn = { role: "user", content: "" }

/** Tags: those of the request first; a reader's are made such as a filter can name. */
const tagsOf = (given: ReadonlyArray<string>, { tags }: Candidate): ReadonlyArray<string> =>
  [...new Set([...given, ...tags.map((tag) => tag.replaceAll(",", " ").trim())])]
    .filter((tag) => tag !== "" && tag.length <= Limits.tagLengthMax)
    .slice(0, Limits.tagsPerMemoryMax)

const instantOf = (when: string | undefined): string | undefined => {
  const millis = when === undefined ? Number.NaN : Date.parse(when)
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString()
}

/**
 * Meaning of a memory, independent of its wording: what is stored of a conversation once should not be stored
 * again because it was said in other words.
 *
 * Words decide, not vectors: measured with e5-small-v2, "moved from Seattle to Portland" and "moved from
 * Portland to Seattle" have a cosine of .996, "is allergic to peanuts" and "has a peanut allergy" .977
 * (README, decisions). Losing a fact is worse than keeping it twice, so only spelling, articles,
 * auxiliaries and a few synonyms may differ, and everything that is not prose has to be equal.
 *
 * Equal for two memories that mean the same.
 */
export const meaningOf = (data: JsonObject): string =>
  canonicalJson(
    Object.fromEntries(
      Object.entries(data)
        // The speaker of a fact does not change it.
        .filter(([name]) => name !== "source")
        .map(([name, value]) => [name, typeof value === "string" ? wording(value) : value])
    )
  )

const wording = (text: string): string => {
  let plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u2018\u2019]/g, "'")
  for (const [pattern, word] of synonyms) plain = plain.replace(pattern, word)
  return plain
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "" && !ignoredWords.has(word))
    .map((word) => (pastTense.test(word) ? word : (tokenize(word)[0] ?? word)))
    .join(" ")
}

/** Not stemmed: its stem is that of the present tense, which means something else. */
const pastTense = /ed$/

const ignoredWords = new Set(["a", "an", "the", "is", "are", "am", "be", "being", "s", "currently", "really", "very"])

const synonyms: ReadonlyArray<readonly [RegExp, string]> = [
  [/n't\b/g, " not"],
  [/\bresid(?:e|es|ing)\b/g, "live"],
  [/\bwould like to\b|\bwants? to\b/g, "want to"],
  [/\bfavourite\b/g, "favorite"],
  [/\bhas\b|\bhave got\b|\bhas got\b/g, "have"],
  [/\bcalled\b/g, "named"],
  [/\benjoys?\b/g, "like"]
]
