/**
 * Groups of extracted memories of an agent that lie near each other: each one that is new, with the memories of the
 * same subject that are nearest to it by its stored vector and its words; and plans whose day has passed since the last
 * look.
 *
 * Invariant: only latest extracted memories of built-in kinds, never what a caller stored or changed, nor a message.
 */
import { Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { backingSources, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { denseText } from "@muniment/engine/text/MemoryText"
import type { ConsolidationHistory, ConsolidationMark } from "@muniment/control/jobs/JobLog"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { tellingTerms } from "@muniment/insight/prompts/Support"
import { instructionKind, isFactKind } from "@muniment/schemas/BuiltinKinds"

/** New memories of one look; the next one goes on behind them. */
const newMax = 24
const nearMax = 6
/**
 * On the scale of e5-small-v2: of twelve short facts about one person, those about the same matter lay between .89 and .97,
 * the others up to .86. Without a vector the words decide.
 */
const nearCosineMin = 0.88
const nearShareMin = 0.5
/** Plans whose day has passed. */
const passedMax = 12

interface NearGroups {
  /** Memories of one subject each, oldest first. */
  readonly groups: ReadonlyArray<ReadonlyArray<MemoryVersion>>
  /** The last new memory that was looked at; undefined: there is none. */
  readonly last: MemoryVersion | undefined
  /** Whether there may be more behind it. */
  readonly hasMore: boolean
}

export const makeNearGroups = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  return Effect.fn("NearGroups.of")(function* (
    key: NamespaceKey,
    mark: ConsolidationMark | undefined,
    { made, restored }: ConsolidationHistory,
    nowMillis: number
  ) {
    const isOpen = (memory: MemoryVersion) => isConsolidated(memory) && !restored.has(memory.id)
    const found = yield* listed(host, key, { include: "extracted" }, mark)
    const fresh = found.memories.filter((memory) => isOpen(memory) && !made.has(memory.id))
    const groups: Array<ReadonlyArray<MemoryVersion>> = []
    const taken = new Set<string>()
    const take = (group: ReadonlyArray<MemoryVersion>) => {
      for (const { id } of group) taken.add(id)
      groups.push(group.toSorted((one, other) => one.createdAt - other.createdAt))
    }
    for (const memory of fresh) {
      if (taken.has(memory.id)) continue
      const near = yield* nearestTo(searcher, key, memory, found.vectors.get(memory.id))
      const others = near.filter((other) => other.id !== memory.id && isOpen(other) && !taken.has(other.id))
      if (others.length > 0) take([memory, ...others])
    }
    const passed = fresh.length === 0 ? [] : yield* passedSince(host, key, mark?.at ?? 0, nowMillis)
    for (const plan of passed) if (isOpen(plan) && !taken.has(plan.id)) take([plan])
    return {
      groups,
      last: found.memories.at(-1),
      hasMore: found.memories.length === newMax
    } satisfies NearGroups
  })
})

const isConsolidated = ({ isLatest, kind, origin, sources, uniqueKey }: MemoryVersion): boolean =>
  isLatest &&
  origin === "extraction" &&
  isFactKind(kind) &&
  kind !== instructionKind &&
  uniqueKey !== undefined &&
  backingSources(sources).length > 0

const listed = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  key: NamespaceKey,
  filter: MemoryFilter,
  mark: ConsolidationMark | undefined
) {
  const after = mark && { createdAt: mark.createdAt, id: mark.id }
  const page = { _tag: "ListPlaces", filter, after, limit: newMax, isOldestFirst: true } as const
  const { places } = yield* host.answer(key, page)
  const memories = yield* host.answer(key, { _tag: "VersionsAt", places })
  return { memories, vectors: yield* host.answer(key, { _tag: "VectorsOf", places }) }
})

const nearestTo = Effect.fnUntraced(function* (
  searcher: MemorySearch["Service"],
  key: NamespaceKey,
  memory: MemoryVersion,
  vector: MemoryVector | undefined
) {
  const { subjectId } = memory
  const { hits } = yield* searcher.search([key], {
    text: denseText(memory),
    vectors: new Map(vector === undefined ? [] : [[vector.model, vector.values]]),
    filter: { subjectId, hasNoSubject: subjectId === undefined, include: "extracted" },
    limit: nearMax,
    minRelevance: 0
  })
  return hits
    .filter((hit) => hit.ranked.evidence.cosine >= nearCosineMin || commonShare(memory, hit.memory) >= nearShareMin)
    .map((hit) => hit.memory)
})

/** Share of common words, of the words of the shorter text. */
const commonShare = (memory: MemoryVersion, other: MemoryVersion): number => {
  const [words, others] = [wordsOf(memory), wordsOf(other)]
  return words.intersection(others).size / Math.max(1, Math.min(words.size, others.size))
}

/** But the one that it is about. */
const wordsOf = ({ createdAt, data, id, kind, when }: MemoryVersion): ReadonlySet<string> => {
  const { subject = "", text } = readStatement({ id, kind, data, when, createdAt, relevance: 0 })
  return new Set(tellingTerms(text, subject))
}

/** Plans that lay ahead when they were stored, and whose day has passed since the last look. */
const passedSince = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  key: NamespaceKey,
  sinceMillis: number,
  nowMillis: number
) {
  const todayMillis = nowMillis - (nowMillis % dayMillis)
  const filter = { include: "extracted", eventFrom: sinceMillis - dayMillis, eventTo: todayMillis - 1 } as const
  const { places } = yield* host.answer(key, { _tag: "ListPlaces", filter, after: undefined, limit: passedMax })
  const memories = yield* host.answer(key, { _tag: "VersionsAt", places })
  return memories.filter(({ createdAt, when }) => when !== undefined && Date.parse(when) > createdAt)
})
