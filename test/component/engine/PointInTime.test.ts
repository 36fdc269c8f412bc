/**
 * What was stored and latest at a time (contract: Search, `asOf`), compared with copies of the directory of moments of a
 * seeded run. From each copy goes what was removed, has expired or was changed in place since: of that nothing is kept.
 */
import { expect } from "vitest"
import { cpSync } from "node:fs"
import { join } from "node:path"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import {
  allOf,
  creating,
  engineOf,
  extracting,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { repetitions } from "../../support/Repetitions.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it } from "../../support/it.ts"

const key = namespaceKey()
const vocabulary = ["fig", "oslo", "train", "sister", "violin", "garden", "bread", "winter"]
const queries = ["fig", "oslo train", "sister violin garden", "bread winter fig"]

/** Memories, versions, messages, removals, changes in place and of expiry; -> the time of each copy. */
const run = Effect.fnUntraced(function* (directory: string, copies: string, moments: number, withMessages: boolean) {
  const host = yield* NamespaceHost
  const random = seededSequence(withMessages ? 11 : 12)
  const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]!
  const text = () => Array.from({ length: 2 + Math.floor(random() * 4) }, () => pick(vocabulary)).join(" ")
  const times: Array<number> = []
  const store = (memories: ReadonlyArray<MemoryRecord>, of = newMemory) =>
    host.ask(key, creating(memories.map((record) => of(record))))
  for (let step = 0; step < moments; step++) {
    yield* TestClock.adjust(1 + Math.floor(random() * 1_000))
    const now = yield* Clock.currentTimeMillis
    const live = [...(yield* allOf(key)).values()]
    const fields = {
      createdAt: now,
      updatedAt: now,
      ...(random() < 0.3 && { expiresAt: now + 1 + Math.floor(random() * 60_000) }),
      ...(random() < 0.5 && { uniqueKey: pick(["a", "b", "c", "d"]) })
    }
    const act = live.length < 5 ? 0 : random()
    if (withMessages && act < 0.3) {
      const { expiresAt: _expiresAt, uniqueKey: _uniqueKey, ...plain } = { expiresAt: 0, uniqueKey: "", ...fields }
      const message = messageRecord(step, text(), { ...plain, threadId: pick(["t", "u"]) })
      yield* host.ask(key, { ...extracting([], [message]), conversation: undefined })
    } else if (act < 0.6) yield* store([memoryRecord(step, text(), fields)])
    else if (act < 0.75) yield* host.ask(key, { _tag: "RemoveMemories", ids: [pick(live).id], idempotency: undefined })
    else if (act < 0.88) {
      const old = pick(live.filter(({ origin, uniqueKey }) => uniqueKey === undefined && origin === "direct"))
      if (old !== undefined) yield* store([memoryRecord(0, text(), { ...fields, id: old.id })], replacementOf)
    } else {
      const patch = { expiresAt: random() < 0.5 ? null : now + 1 + Math.floor(random() * 60_000) }
      yield* host.ask(key, {
        _tag: "PatchMemories",
        ids: [pick(live).id],
        patch,
        atMillis: now,
        idempotency: undefined
      })
    }
    cpSync(directory, join(copies, String(step)), { recursive: true })
    times.push(now)
  }
  return times
})

/** What lists and searches answer, with or without a time. */
const seen = Effect.fnUntraced(function* (asOf: number | undefined, inOrder: boolean) {
  const search = yield* MemorySearch
  const page = { after: undefined, limit: 1_000 }
  const shown = (memories: ReadonlyArray<MemoryRecord & { isLatest: boolean; supersedes?: string | undefined }>) =>
    memories.map(({ data, id, isLatest, supersedes }) => ({ data, id, isLatest, supersedes }))
  const latest = yield* search.list([key], { asOf }, page)
  const every = yield* search.list([key], { asOf, includeSuperseded: true }, page)
  const found: Array<unknown> = []
  for (const text of queries) {
    const filter = { asOf }
    const { hits } = yield* search.search([key], { text, vectors: new Map(), filter, limit: 1_000, minRelevance: 0 })
    const all = hits.map(({ memory: { id }, ranked: { relevance } }) => (inOrder ? `${id} ${relevance}` : id))
    found.push(inOrder ? all : all.toSorted())
  }
  return { latest: shown(latest.memories), total: latest.total, every: shown(every.memories), found }
})

/** Until then a message that has expired keeps its place between others, and gives them its words. */
const swept = NamespaceHost.use((host) => host.removeAll(key, { _tag: "Sweep" }))

/** The copy of a moment without what has gone since, and with expiries as they are now. */
const rightAt = Effect.fnUntraced(function* (now: ReadonlyMap<string, MemoryRecord>, at: number, inOrder: boolean) {
  const host = yield* NamespaceHost
  const end = yield* Clock.currentTimeMillis
  yield* TestClock.setTime(at)
  const then = [...(yield* allOf(key)).values()]
  for (const { expiresAt, id } of then) {
    const current = now.get(id)
    if (current === undefined || current.expiresAt === expiresAt) continue
    const patch = { expiresAt: current.expiresAt ?? null }
    yield* host.ask(key, { _tag: "PatchMemories", ids: [id], patch, atMillis: at, idempotency: undefined })
  }
  const isGone = ({ id }: MemoryRecord) => (now.get(id)?.changedAt ?? (now.has(id) ? 0 : Infinity)) > at
  const gone = then.filter(isGone).map(({ id }) => id)
  if (gone.length > 0) yield* host.ask(key, { _tag: "RemoveMemories", ids: gone, idempotency: undefined })
  yield* swept
  yield* TestClock.setTime(end)
  return yield* seen(undefined, inOrder)
})

// Messages share words with those around them: which are found is compared, not their scores.
it.effect.each([
  ["memories and versions", false],
  ["messages too", true]
] as const)("a time shows what a copy of that moment has: %s", function* ([, withMessages]) {
  const [directory, copies] = [temporaryDirectory(), temporaryDirectory()]
  yield* Effect.gen(function* () {
    const times = yield* run(directory, copies, repetitions(150), withMessages)
    yield* swept
    const now = yield* allOf(key)
    let shown = 0
    for (const [step, at] of times.entries()) {
      const engine = engineOf(join(copies, String(step)))
      const right = yield* rightAt(now, at, !withMessages).pipe(Effect.provide(engine))
      expect(yield* seen(at, !withMessages), `step ${step}`).toEqual(right)
      shown += right.latest.length
    }
    expect(shown).toBeGreaterThan(times.length * 4)
    const changed = [...now.values()].filter(({ changedAt }) => changedAt !== undefined)
    expect(changed.length).toBeGreaterThan(0)
  }).pipe(Effect.provide(engineOf(directory)))
})
