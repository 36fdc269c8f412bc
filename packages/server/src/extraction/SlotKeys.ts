/**
 * Unique keys of extracted memories of built-in kinds: one for each subject, person and attribute, so that `I moved to
 * Porto` supersedes the home of the person who said so.
 *
 * The speaker is the request's subject. Without one, an agent has one user until somebody with another name speaks:
 * that person's attributes have keys of their own. Messages that name their speaker decide by that name, which is the
 * user's if the user told it.
 */
import { Effect } from "effect"
import type { JsonObject } from "@muniment/domain/Memory"
import type { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { Candidate, Slot } from "@muniment/insight/extraction/Extractor"
import { isFactKind } from "@muniment/schemas/BuiltinKinds"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import { contentKey } from "../memories/MemoryPreparation.ts"
import type { ValidCandidate, VersionPlace } from "./CandidateJudge.ts"
import type { KeyedMessage } from "./ConversationMessages.ts"

/** Whose namespace and subject. */
export interface SlotScope {
  readonly namespace: NamespaceKey
  readonly subjectId: string | undefined
}

const user = "user"

const keyOf = ({ subjectId }: Pick<SlotScope, "subjectId">, person: string, attribute: string): string =>
  sha256Hex(canonicalJson({ subject: subjectId ?? null, slot: attribute, person: person.toLowerCase() }))

/** The user's name, as the scope's latest memory tells it. */
const knownName = Effect.fn("SlotKeys.knownName")(function* (host: NamespaceHost["Service"], scope: SlotScope) {
  const key = keyOf(scope, user, "name")
  const latest = yield* host.answer(scope.namespace, { _tag: "LatestOf", uniqueKey: key })
  return latest === undefined ? undefined : nameIn(latest.data)
})

/**
 * The place of each candidate, in their order: that of what it replaces, else of its slot, else of its own content, so
 * that a later one can take its place.
 */
export const versionPlaces = Effect.fn("SlotKeys.versionPlaces")(function* (
  host: NamespaceHost["Service"],
  scope: SlotScope,
  accepted: ReadonlyArray<ValidCandidate>,
  messages: ReadonlyArray<KeyedMessage>
) {
  const candidates = accepted.map(({ candidate }) => candidate)
  const slots = yield* slotKeys(host, scope, candidates, messages)
  const places = new Map<Candidate, VersionPlace>()
  const taken = new Set<string | Candidate>()
  for (const [at, { candidate, data }] of accepted.entries()) {
    const { kind, supersedes } = candidate
    const replaced =
      typeof supersedes === "string"
        ? yield* host.answer(scope.namespace, { _tag: "Find", id: supersedes })
        : supersedes && places.get(supersedes)
    // Of two that replace the same one the second would end the first.
    const isFirst = supersedes !== undefined && !taken.has(supersedes)
    if (supersedes !== undefined) taken.add(supersedes)
    const key = (isFirst ? replaced?.uniqueKey : undefined) ?? slots[at]
    places.set(candidate, {
      uniqueKey: isFactKind(kind) ? (key ?? (yield* ownKey(host, scope, kind, data))) : undefined,
      carries: replaced && supersedes,
      endsAt: replaced && ("endsAt" in replaced ? replaced.endsAt : replaced.expiresAt)
    })
  }
  return candidates.map((candidate) => places.get(candidate)!)
})

/** Under the key of its content there may be a newer version, or what a caller has corrected: neither is superseded by it. */
const ownKey = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  { namespace, subjectId }: SlotScope,
  kind: string,
  data: JsonObject
) {
  const key = contentKey(subjectId, kind, data)
  const latest = yield* host.answer(namespace, { _tag: "LatestOf", uniqueKey: key })
  return latest === undefined || contentKey(subjectId, latest.kind, latest.data) === key
    ? key
    : sha256Hex(`${key} beside ${latest.id}`)
})

const nameIn = (data: JsonObject): string | undefined => / name is (.+)$/.exec(String(data["fact"]))?.[1]

/** The key of each candidate with a slot, in their order. */
const slotKeys = Effect.fn("SlotKeys.keys")(function* (
  host: NamespaceHost["Service"],
  scope: SlotScope,
  candidates: ReadonlyArray<Candidate>,
  messages: ReadonlyArray<KeyedMessage>
) {
  let name = candidates.some(({ slot }) => slot !== undefined) ? yield* knownName(host, scope) : undefined
  return candidates.map(({ slot, sources }) => {
    if (slot === undefined) return undefined
    const said = messages[sources[0] ?? -1]?.name
    const isUser = said === undefined ? isKnownUser(slot, name, scope) : said.toLowerCase() === name?.toLowerCase()
    if (isUser && slot.person === undefined && slot.attribute === "name") name = slot.speaker
    const speaker = isUser ? user : (said ?? slot.speaker ?? user)
    return keyOf(scope, slot.person === undefined ? speaker : `${speaker} ${slot.person}`, slot.attribute)
  })
})

const isKnownUser = ({ formerName, speaker }: Slot, known: string | undefined, { subjectId }: SlotScope): boolean =>
  subjectId !== undefined ||
  speaker === undefined ||
  known === undefined ||
  [speaker, formerName].some((name) => name?.toLowerCase() === known.toLowerCase())
