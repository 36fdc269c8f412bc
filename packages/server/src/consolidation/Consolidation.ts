/**
 * Consolidation (contract: Consolidation): the language model reads what lies beside each other in an agent's extracted
 * memories and merges, replaces or ends some, as versions that can be undone. Off unless configured.
 *
 * Invariants: an agent is looked at again only when something was extracted since; one agent at a time, some time after its
 * last change, when nothing else wants the model; an entry is written before its change is committed; the log has counts
 * only.
 */
import { Context, Clock, Effect, Layer, Schedule, Semaphore } from "effect"
import type { ConsolidationRun, ProposedConsolidation } from "@muniment/domain/api/UpkeepAdminApi"
import { dayOf } from "@muniment/domain/CalendarDay"
import {
  Conflict,
  type InsufficientStorage,
  NotFound,
  type PayloadTooLarge,
  type Unavailable
} from "@muniment/domain/Errors"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import {
  type ConsolidationEntry,
  ConsolidationLog,
  type ConsolidationMark,
  type ListedConsolidations,
  type LoggedConsolidation
} from "@muniment/control/jobs/JobLog"
import { readStatement } from "@muniment/insight/answers/MemoryStatement"
import { type Consolidated, Consolidator } from "@muniment/insight/consolidation/Consolidator"
import { Rounds } from "@muniment/worker/Rounds"
import { TokenNamespace } from "../credits/ChargedCalls.ts"
import { AccountSignals } from "../events/AccountSignals.ts"
import { JobClock } from "../jobs/JobClock.ts"
import { MemoryIds } from "../memories/MemoryPreparation.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import { makeNearGroups } from "./NearGroups.ts"
import { isCommitted, preparedChange, undoChange } from "./VersionMoves.ts"

/** Between two looks at which agents are due. */
const roundMillis = 10_000
/** After the last change of an agent: a conversation goes on. */
const quietMillis = 300_000
/** After a look that failed: the budget of the day, the model. */
const retryMillis = 3_600_000
/** A run begins no further look after this time. */
const runMillisMax = 120_000
/** Memories in one call of the model. */
const shownMax = 24

interface ConsolidationOptions {
  readonly dryRun: boolean
  /** Default: all. */
  readonly account?: string | undefined
}

type Failure = InsufficientStorage | Unavailable

export class Consolidation extends Context.Service<
  Consolidation,
  {
    /** Agents that have changed since their last look. Fails as `consolidation_off` where none is configured. */
    readonly run: (options: ConsolidationOptions) => Effect.Effect<RunReport, Conflict | Failure>
    readonly list: (query: ListedConsolidations) => Effect.Effect<ReadonlyArray<LoggedConsolidation>, Failure>
    readonly undo: (id: string) => Effect.Effect<LoggedConsolidation, NotFound | Conflict | PayloadTooLarge | Failure>
  }
>()("muniment/server/Consolidation") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

/** With ids of accounts. */
interface RunReport extends Omit<ConsolidationRun, "done"> {
  readonly done: ReadonlyArray<ConsolidationEntry>
}

const make = Effect.gen(function* () {
  const { consolidate } = yield* Consolidator
  const parts = yield* makeParts
  const turns = yield* Semaphore.make(1)
  const due = new Map<NamespaceTag, number>()
  const service = {
    list: (query: ListedConsolidations) => list(parts, query),
    undo: (id: string) => undo(parts, id)
  }
  if (consolidate === undefined) return Consolidation.of({ ...service, run: () => Effect.fail(off) })

  const lookAt = (key: NamespaceKey, dryRun: boolean, from?: ConsolidationMark) =>
    turns.withPermit(Effect.suspend(() => look({ ...parts, consolidate }, due, key, { dryRun, from })))
  yield* followChanges(parts, due)
  yield* Rounds.add({
    name: "consolidation",
    schedule: Schedule.spaced(roundMillis),
    isCut: true,
    work: Effect.gen(function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      for (const [tag, dueMillis] of due) {
        const key = parts.directory.byTag(tag)
        if (key?.tag !== tag) due.delete(tag)
        else if (dueMillis <= nowMillis) yield* lookAt(key, false)
      }
    })
  })
  return Consolidation.of({
    ...service,
    run: Effect.fn("Consolidation.run")(function* ({ account, dryRun }) {
      const untilMillis = (yield* Clock.currentTimeMillis) + runMillisMax
      const settled = yield* parts.log.settled
      const keys = (account === undefined ? parts.directory.all() : parts.directory.list(account)).filter(
        ({ tag }) => due.has(tag) || !settled.has(tag)
      )
      const looks: Array<Look> = []
      let left = keys.length
      for (const key of keys) {
        let last: Look | undefined
        while (last?.hasMore !== false && (yield* Clock.currentTimeMillis) < untilMillis)
          looks.push((last = yield* lookAt(key, dryRun, dryRun ? last?.mark : undefined)))
        if (last?.hasMore === false) left--
      }
      return {
        agents: new Set(looks.filter(({ isNew }) => isNew).map(({ key }) => key.tag)).size,
        left,
        done: looks.flatMap(({ done }) => done),
        proposed: looks.flatMap(({ proposed }) => proposed),
        problems: looks.flatMap(({ key, problem }) =>
          problem === undefined ? [] : [{ account: key.account, agentId: key.agentId, reason: problem }]
        )
      }
    })
  })
})

const off = new Conflict({
  code: "consolidation_off",
  error: "memories are not consolidated: set MUNIMENT_CONSOLIDATE to on, with a language model"
})

const makeParts = Effect.all({
  host: NamespaceHost,
  directory: NamespaceDirectory,
  log: ConsolidationLog,
  embedding: TextEmbedding,
  clock: JobClock,
  groupsOf: makeNearGroups,
  ids: Effect.sync(() => new MemoryIds())
})

type Parts = Effect.Success<typeof makeParts>

type ModelParts = Parts & { readonly consolidate: NonNullable<Consolidator["Service"]["consolidate"]> }

/** When an agent is to be looked at: after its changes, and once if it never was. */
const followChanges = Effect.fnUntraced(function* ({ directory, log }: Parts, due: Map<NamespaceTag, number>) {
  const settled = new Set(yield* log.settled)
  for (const { tag } of directory.all()) if (!settled.has(tag)) due.set(tag, 0)
  const begin = yield* Rounds.errands({ name: "agents to be consolidated" })
  const signals = yield* AccountSignals
  yield* signals.listen(undefined, (tag) =>
    begin(
      Effect.gen(function* () {
        const isKnown = due.has(tag)
        due.set(tag, (yield* Clock.currentTimeMillis) + quietMillis)
        if (!isKnown) yield* log.markDue(tag)
      })
    )
  )
})

/** Result of a look at some new memories of an agent. */
interface Look {
  readonly key: NamespaceKey
  /** Whether some of them lie beside others. */
  readonly isNew: boolean
  readonly done: ReadonlyArray<ConsolidationEntry>
  readonly proposed: ReadonlyArray<ProposedConsolidation>
  /** Begin of the next look. */
  readonly mark: ConsolidationMark | undefined
  readonly hasMore: boolean
  /** Why they are looked at again. */
  readonly problem: string | undefined
}

interface LookOptions {
  readonly dryRun: boolean
  /** Default: behind what was looked at before. */
  readonly from: ConsolidationMark | undefined
}

const look = Effect.fn("Consolidation.look")(function* (
  parts: ModelParts,
  due: Map<NamespaceTag, number>,
  key: NamespaceKey,
  options: LookOptions
) {
  const { tag } = key
  const found: Found = { isNew: false, done: [], proposed: [], mark: undefined, hasMore: false }
  // Later changes make it due again.
  if (!options.dryRun) due.delete(tag)
  const marked = Effect.suspend(() =>
    found.mark === undefined || options.dryRun
      ? Effect.void
      : parts.log.mark(tag, key.account, found.mark, found.hasMore || due.has(tag))
  )
  const problem = yield* lookOnce(parts, key, options, found).pipe(
    Effect.andThen(marked),
    Effect.as(undefined),
    Effect.catch(({ message }) => Effect.succeed(message))
  )
  const nowMillis = yield* Clock.currentTimeMillis
  const againMillis = problem === undefined ? nowMillis : nowMillis + retryMillis
  if (!options.dryRun && (found.hasMore || problem !== undefined)) due.set(tag, againMillis)
  const { done } = found
  if (done.length > 0) yield* Effect.logInfo("memories were consolidated", { namespace: tag, ...countsOf(done) })
  if (problem !== undefined) yield* Effect.logInfo("memories will be consolidated later", { namespace: tag, problem })
  return { ...found, key, problem } satisfies Look
})

const countsOf = (done: ReadonlyArray<ConsolidationEntry>) =>
  Object.fromEntries(
    Map.groupBy(done, ({ action }) => action)
      .entries()
      .map(([action, entries]) => [action, entries.length])
  )

interface Found {
  isNew: boolean
  readonly done: Array<ConsolidationEntry>
  readonly proposed: Array<ProposedConsolidation>
  mark: ConsolidationMark | undefined
  hasMore: boolean
}

const lookOnce = Effect.fnUntraced(function* (
  parts: ModelParts,
  key: NamespaceKey,
  { dryRun, from }: LookOptions,
  found: Found
) {
  const { clock, groupsOf, log } = parts
  // By a clock that is not believed no plan is over.
  const at = yield* clock.expiresBy
  const mark = from ?? (yield* log.markOf(key.tag))
  const { groups, hasMore, last } = yield* groupsOf(key, mark, yield* log.historyOf(key.tag), at)
  found.isNew = groups.length > 0
  for (const portion of portions(groups)) {
    const members = new Map(portion.flat().map((memory) => [memory.id, memory]))
    const request = { account: key.account, today: dayOf(at), groups: portion }
    const changes = yield* Effect.provideService(parts.consolidate(request), TokenNamespace, key.tag)
    for (const change of changes) yield* settle(parts, key, change, members, dryRun, found)
  }
  const { createdAt, id } = last ?? mark ?? { createdAt: 0, id: "" }
  found.mark = { createdAt, id, at }
  found.hasMore = hasMore
})

/** Groups that are shown together. */
const portions = <A>(groups: ReadonlyArray<ReadonlyArray<A>>): ReadonlyArray<ReadonlyArray<ReadonlyArray<A>>> => {
  const made: Array<Array<ReadonlyArray<A>>> = []
  for (const group of groups) {
    const last = made.at(-1)
    if (last !== undefined && last.flat().length + group.length <= shownMax) last.push(group)
    else made.push([group])
  }
  return made
}

/** Carries a change out, or notes what it would be. */
const settle = Effect.fnUntraced(function* (
  parts: Parts,
  key: NamespaceKey,
  change: Consolidated,
  members: ReadonlyMap<string, MemoryVersion>,
  dryRun: boolean,
  found: Found
) {
  const { embedding, host, ids, log } = parts
  const atMillis = yield* Clock.currentTimeMillis
  const made = { id: yield* ids.next(key.tag), atMillis }
  const named = change.ids.map((id) => members.get(id)!)
  const prepared = yield* preparedChange(host, key, change, named, made)
  if (prepared === undefined) return
  const { entry, moves, record } = prepared
  if (dryRun) {
    const { account, agentId } = key
    const { data, kind, when } = record
    const { text } = readStatement({ id: record.id, kind, data, when, createdAt: atMillis, relevance: 0 })
    found.proposed.push({ account, agentId, action: entry.action, memories: entry.memories, text })
    return
  }
  yield* log.begin(entry)
  const isStored = yield* embedding
    .storing(key, [record], "briefly", ([vector]) =>
      host.ask(key, {
        _tag: "StoreMemories",
        memories: [{ record, vector, isReplacement: false, setsExpiry: false }],
        moves,
        idempotency: { key: entry.id, fingerprint: record.contentHash }
      })
    )
    .pipe(
      Effect.map(({ isStale }) => !isStale),
      Effect.catchTag("PayloadTooLarge", () => Effect.succeed(false))
    )
  if (!isStored) return yield* log.drop(entry.id)
  yield* log.done(entry.id)
  found.done.push(entry)
})

/** Consolidations that were carried out. Of one whose entry is not marked as done, the agent's file tells. */
const list = Effect.fn("Consolidation.list")(function* (parts: Parts, query: ListedConsolidations) {
  return yield* Effect.filter(yield* parts.log.list(query), (entry) => wasDone(parts, entry))
})

const wasDone = Effect.fnUntraced(function* ({ directory, host, log }: Parts, entry: LoggedConsolidation) {
  if (entry.isDone) return true
  const key = directory.byTag(entry.namespace)
  const isDone = key !== undefined && (yield* isCommitted(host, key, entry))
  if (isDone) yield* log.done(entry.id)
  return isDone
})

const undo = Effect.fn("Consolidation.undo")(function* (parts: Parts, id: string) {
  const { directory, host, log } = parts
  const entry = yield* log.find(id)
  const key = entry === undefined ? undefined : directory.byTag(entry.namespace)
  if (entry === undefined || key === undefined || !(yield* wasDone(parts, entry))) {
    return yield* new NotFound({ code: "consolidation_not_found", error: `there is no consolidation "${id}"` })
  }
  if (entry.undoneAt !== undefined) return entry
  yield* undoChange(host, key, entry)
  const undoneAt = yield* Clock.currentTimeMillis
  yield* log.undone(id, undoneAt)
  return { ...entry, undoneAt }
})
