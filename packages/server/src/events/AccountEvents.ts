/**
 * The events of an account's agents in one line (contract: Events). A reader goes from agent to agent, and each of its
 * events has the positions behind it as its id.
 *
 * Invariants: of an agent each event is read once and in order; what is no longer kept is told as lost, never skipped;
 * a scoped key sees the events of its agents and subjects.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { AccountEvent, EventsQuery } from "@muniment/domain/Events"
import type { Identity } from "@muniment/domain/Identity"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import { eventNumbers, type EventPage, type MemoryEvent, subjectDigest } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory, type NamespaceEntry } from "@muniment/control/accounts/NamespaceDirectory"
import { MoneyEvents } from "@muniment/control/payments/MoneyEvents"
import { isBound, seesAgent } from "../identity/KeyScopes.ts"
import {
  AccountSignals,
  decodePositions,
  encodePositions,
  type EventPosition,
  type EventPositions
} from "./AccountSignals.ts"

interface EventBatch {
  readonly events: ReadonlyArray<AccountEvent>
  readonly hasMore: boolean
}

export class AccountEvents extends Context.Service<
  AccountEvents,
  {
    /** Fails for a cursor of another form, and for more agents than a reader follows, by default `Limits.eventAgentsMax`. */
    readonly open: (
      caller: Identity,
      query: EventsQuery,
      agentsMax?: number
    ) => Effect.Effect<EventReader, InvalidRequest | ReadError>
  }
>()("muniment/server/AccountEvents") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const ends = new EventEnds()
      yield* (yield* AccountSignals).listen(undefined, (tag) => ends.forget(tag))
      const parts = {
        host: yield* NamespaceHost,
        directory: yield* NamespaceDirectory,
        money: yield* MoneyEvents,
        ends
      }
      return {
        open: Effect.fn("AccountEvents.open")(function* (
          caller: Identity,
          { agentId, cursor, from = "now" }: EventsQuery,
          agentsMax: number = Limits.eventAgentsMax
        ) {
          const known = cursor === undefined ? undefined : decodePositions(cursor)
          if (cursor !== undefined && known === undefined) return yield* badCursor
          const reader = new EventReader(parts, caller, {
            agentId,
            agentsMax,
            isWhole: cursor === undefined && from === "oldest"
          })
          yield* reader.begin(known, from)
          return reader
        })
      }
    })
  )
}

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly money: MoneyEvents["Service"]
  readonly ends: EventEnds
}

interface Reading {
  readonly agentId: string | undefined
  readonly agentsMax: number
  /** From the oldest event that is kept: what was before is not asked for. */
  readonly isWhole: boolean
}

/** The place of money in a cursor: the tag of no agent. */
const moneyTag: NamespaceTag = "000000000000"

/** A number behind every event. */
const latest = Number.MAX_SAFE_INTEGER

export class EventReader {
  readonly #parts: Parts
  readonly #caller: Identity
  readonly #reading: Reading
  readonly #positions = new Map<NamespaceTag, EventPosition>()
  /** Agents that may have events. */
  readonly #due = new Set<NamespaceTag>()
  readonly #joined = new Map<NamespaceTag, string>()
  readonly #subjects: ReadonlySet<number> | undefined
  /** Agents of the cursor that are gone. */
  #isLost = false
  #hasMoreMoney = false

  constructor(parts: Parts, caller: Identity, reading: Reading) {
    this.#parts = parts
    this.#caller = caller
    this.#reading = reading
    const subjects = caller.scope?.subjects
    this.#subjects = subjects && new Set(subjects.map(subjectDigest))
  }

  /** Cursor behind the events that were read so far. */
  get cursor(): string {
    return encodePositions(this.#positions)
  }

  /** Whether agents may have events that were not read. */
  get hasUnread(): boolean {
    return this.#due.size > 0 || this.#hasMoreMoney
  }

  /** The agent has committed something. */
  note(tag: NamespaceTag): void {
    if (this.#joined.has(tag)) this.#due.add(tag)
  }

  begin(known: EventPositions | undefined, from: "now" | "oldest"): Effect.Effect<void, InvalidRequest | ReadError> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#join
      for (const tag of known?.keys() ?? []) {
        const position = known!.get(tag)!
        if (tag === moneyTag || this.#joined.has(tag)) this.#positions.set(tag, position)
        else this.#isLost ||= !this.#isOwn(tag)
      }
      if (known !== undefined || from === "oldest") return
      if (this.#seesMoney) yield* this.#atMoney(yield* this.#parts.money.last(this.#caller.account.id))
      for (const tag of this.#joined.keys()) {
        const end = yield* this.#currentEnd(this.#entry(tag)!)
        if (end !== undefined) this.#positions.set(tag, end)
      }
    })
  }

  #currentEnd(entry: NamespaceEntry): Effect.Effect<EventPosition | undefined, ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { ends } = this.#parts
      const known = ends.of(entry.tag, yield* Clock.currentTimeMillis)
      if (known !== undefined) return known
      const page = yield* this.#page(entry, latest, 1)
      return isUnwritten(page) ? undefined : endOf(page)
    })
  }

  #page(entry: NamespaceEntry, after: number, limit: number): Effect.Effect<EventPage, ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { ends, host } = this.#parts
      const found = ends.reading(entry.tag, yield* Clock.currentTimeMillis)
      const page = yield* host.answer(entry, { _tag: "Events", after, limit })
      if (page.events.length < limit && !isUnwritten(page)) found(endOf(page))
      return page
    })
  }

  /** The next events of all agents. `onError`: of an agent that cannot be read now, which is tried again. */
  read<E>(
    limit: number,
    onError: (error: ReadError) => Effect.Effect<void, E>
  ): Effect.Effect<EventBatch, InvalidRequest | E> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#join
      const events: Array<AccountEvent> = []
      if (this.#isLost) events.push(this.#lost(undefined, yield* Clock.currentTimeMillis))
      this.#isLost = false
      if (this.#seesMoney) yield* this.#readMoney(limit - events.length, events)
      for (const tag of Array.from(this.#due)) {
        if (events.length >= limit) break
        const entry = this.#entry(tag)
        if (entry === undefined) events.push(this.#leave(tag, yield* Clock.currentTimeMillis))
        else yield* Effect.catch(this.#readOne(entry, limit - events.length, events), onError)
      }
      return { events, hasMore: this.hasUnread }
    })
  }

  /** Whether the caller may read the account's books, and asks for all agents. */
  get #seesMoney(): boolean {
    return !isBound(this.#caller) && this.#reading.agentId === undefined
  }

  #readMoney(limit: number, events: Array<AccountEvent>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { money } = this.#parts
      const { id } = this.#caller.account
      const known = this.#positions.get(moneyTag)?.number ?? 0
      const last = yield* money.last(id)
      // The database is an older one: from a backup.
      if (known > last) {
        yield* this.#atMoney(last)
        events.push(this.#lost(undefined, yield* Clock.currentTimeMillis))
      }
      const read = known < last ? yield* money.after(id, known, Math.max(0, limit)) : []
      for (const { at, data, number, type } of read) {
        yield* this.#atMoney(number)
        events.push({ id: this.cursor, type, timestamp: new Date(at).toISOString(), data })
      }
      this.#hasMoreMoney = known < last && (read.at(-1)?.number ?? known) < last
    })
  }

  #atMoney(number: number): Effect.Effect<void> {
    return Effect.sync(() => void this.#positions.set(moneyTag, { born: 0, number }))
  }

  #readOne(entry: NamespaceEntry, limit: number, events: Array<AccountEvent>): Effect.Effect<void, ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { agentId, tag } = entry
      const known = this.#positions.get(tag)
      const after = known?.number ?? -1
      // Before the answer: what is committed meanwhile makes it due again.
      this.#due.delete(tag)
      const again = Effect.sync(() => this.#due.add(tag))
      const end = this.#parts.ends.of(tag, yield* Clock.currentTimeMillis)
      if (end !== undefined && end.born === known?.born && end.number === known.number) return
      const page = yield* Effect.tapError(this.#page(entry, after, limit), () => again)
      if (isUnwritten(page)) return
      const from = beginning(known, page, this.#reading.isWhole)
      if (from.isLost) {
        this.#positions.set(tag, { born: page.born, number: from.number })
        events.push(this.#lost(agentId, yield* Clock.currentTimeMillis))
        if (from.number < after) return void (yield* again)
      }
      for (const event of page.events) {
        this.#positions.set(tag, { born: page.born, number: event.number })
        if (this.#sees(event)) events.push({ id: this.cursor, ...told(agentId, event) })
      }
      this.#positions.set(tag, endOf(page))
      // At the end of the line, so that one agent does not keep the others waiting.
      if (page.events.length === limit) yield* again
    })
  }

  /** Takes in agents that are new. */
  get #join(): Effect.Effect<void, InvalidRequest> {
    return Effect.suspend(() => {
      const { account } = this.#caller
      const entries = this.#parts.directory.list(account.id, this.#reading.agentId)
      const seen = entries.filter(({ agentId }) => seesAgent(this.#caller, agentId))
      if (seen.length > this.#reading.agentsMax) return tooManyAgents(this.#reading.agentsMax)
      for (const { agentId, tag } of seen) {
        if (this.#joined.has(tag)) continue
        this.#joined.set(tag, agentId)
        this.#due.add(tag)
      }
      return Effect.void
    })
  }

  /** The agent was removed, maybe with events that were not read. */
  #leave(tag: NamespaceTag, at: number): AccountEvent {
    const agentId = this.#joined.get(tag)
    this.#due.delete(tag)
    this.#joined.delete(tag)
    this.#positions.delete(tag)
    return this.#lost(agentId, at)
  }

  #entry(tag: NamespaceTag): NamespaceEntry | undefined {
    return this.#isOwn(tag) ? this.#parts.directory.byTag(tag) : undefined
  }

  #isOwn(tag: NamespaceTag): boolean {
    const entry = this.#parts.directory.byTag(tag)
    return entry?.tag === tag && entry.account === this.#caller.account.id
  }

  #sees({ subject }: MemoryEvent): boolean {
    return this.#subjects === undefined || (subject !== undefined && this.#subjects.has(subject))
  }

  #lost(agentId: string | undefined, at: number): AccountEvent {
    const data = agentId === undefined ? {} : { agentId }
    return { id: this.cursor, type: "events.lost", timestamp: new Date(at).toISOString(), data }
  }
}

const endOf = ({ born, through }: EventPage): EventPosition => ({ born, number: through })

/** Nothing was ever committed: there is no position yet. */
const isUnwritten = ({ through }: EventPage): boolean => through <= eventNumbers(0).other

/** The number behind which the page lies, and whether something between is gone. */
const beginning = (
  known: EventPosition | undefined,
  { born, floor, through }: EventPage,
  isWhole: boolean
): { readonly number: number; readonly isLost: boolean } => {
  if (known === undefined) return { number: floor, isLost: floor > 0 && !isWhole }
  // The agent began anew, or its file is an older one: from a backup.
  if (known.born !== born) return { number: -1, isLost: true }
  if (known.number > through) return { number: through, isLost: true }
  return { number: Math.max(floor, known.number), isLost: known.number < floor }
}

const told = (
  agentId: string,
  { at, id, kind, subjectId, supersededBy, threadId, type }: MemoryEvent
): Omit<AccountEvent, "id"> => ({
  type: `memory.${type}`,
  timestamp: new Date(at).toISOString(),
  data: {
    agentId,
    memoryId: id,
    kind,
    ...(subjectId !== undefined && { subjectId }),
    ...(threadId !== undefined && { threadId }),
    ...(supersededBy !== undefined && { supersededBy })
  }
})

const badCursor = Effect.suspend(() =>
  Effect.fail(new InvalidRequest({ code: "invalid_request", error: "the cursor is not one of this service" }))
)

const tooManyAgents = (max: number) =>
  Effect.fail(
    new InvalidRequest({
      code: "invalid_request",
      error: `events of at most ${max} agents can be followed at once: name those that matter`
    })
  )

interface End {
  /** Undefined until it is read. */
  position: EventPosition | undefined
  readonly untilMillis: number
}

/**
 * Ends of the events of agents, so that a follower who has read them all needs no look at the agent. Each is known until
 * the agent commits something, for `Limits.eventHeartbeatMillis` at most: a cluster hears nothing of expiries on other
 * nodes.
 */
class EventEnds {
  /** Oldest first. */
  readonly #ends = new Map<NamespaceTag, End>()

  of(tag: NamespaceTag, nowMillis: number): EventPosition | undefined {
    const end = this.#ends.get(tag)
    return end !== undefined && end.untilMillis > nowMillis ? end.position : undefined
  }

  /** Call it before the agent is read, and what it returns with the end: it counts unless the agent commits meanwhile. */
  reading(tag: NamespaceTag, nowMillis: number): (position: EventPosition) => void {
    for (const [oldest, { untilMillis }] of this.#ends) {
      if (untilMillis > nowMillis) break
      this.#ends.delete(oldest)
    }
    const end: End = { position: undefined, untilMillis: nowMillis + Limits.eventHeartbeatMillis }
    this.#ends.delete(tag)
    this.#ends.set(tag, end)
    return (position) => void (end.position = position)
  }

  /** The agent has committed something. */
  forget(tag: NamespaceTag): void {
    this.#ends.delete(tag)
  }
}
