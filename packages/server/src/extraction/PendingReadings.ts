/**
 * Readings that are to follow: what a namespace's file says of them, carried out one after the other behind the
 * readings that callers wait for. One that fails, here or in the request that sent it, is tried again after a time that
 * doubles, up to a day, or up to a quarter of an hour where the failure cost nothing; a new process tries at once. Of those that read again there may be thousands, and no budget left: where one fails all wait, and it
 * comes after the others.
 */
import { Limits } from "@muniment/domain/Limits"
import { commonMetadata } from "@muniment/domain/Metadata"
import { Clock, Deferred, Effect, Fiber, Queue, Result, Scope } from "effect"
import { NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import type { ExtractionProblem, MemoryVersion } from "@muniment/domain/Memory"
import { isReadAgain, type PendingCount, type ScopedReading } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { ModelFailureReason } from "@muniment/models/llm/ModelFailure"
import { RoundBook } from "@muniment/worker/RoundBook"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { saidAt, storedMessage } from "./ConversationMessages.ts"
import { ReadingFailed, type ThreadReading } from "./ThreadReading.ts"

/** Pending readings of a namespace. */
export interface PendingState extends PendingCount {
  /** When one of them is to be tried; undefined: none is left. */
  readonly nextMillis: number | undefined
}

export type PendingReadings = Effect.Success<ReturnType<typeof makePendingReadings>>

/** Readings of a namespace that are carried out in its turn. */
const readMax = 20
/** Rows that are looked at at once. */
const pageLength = 50
const retryMillisMin = 5_000
const retryMillisMax = 86_400_000
/** The longest pause after failures that cost no tokens, so that reading goes on soon after their cause is over. */
const freeRetryMillisMax = 900_000
const freeProblems: ReadonlySet<string> = new Set(
  (
    ["unreachable", "circuit_open", "rate_limited", "rejected", "overloaded", "budget_exhausted", "unpaid"] as const
  ).map((reason: ModelFailureReason): ExtractionProblem["code"] => `model_${reason}`)
)

/** In place of an id: all that read again. */
const again = "again"

interface Failure {
  readonly rounds: number
  readonly nextMillis: number
}

/** Failures of a namespace. */
interface Failures {
  /** Failures by id of the reading. */
  readonly byId: Map<string, Failure>
  /** Ids of those that read again and come after the others. */
  readonly putOff: Set<string>
}

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly read: ThreadReading
  readonly readings: RequestReadings
  readonly failures: Map<NamespaceTag, Failures>
}

export const makePendingReadings = Effect.fnUntraced(function* (read: ThreadReading, readings: RequestReadings) {
  const parts: Parts = { host: yield* NamespaceHost, kinds: yield* KnownKinds, read, readings, failures: new Map() }
  let underWay = 0
  const step = (by: 1 | -1) => Effect.sync(() => (underWay += by))
  return {
    /** Carries out what is due in a namespace, a portion of it, and says what stays. */
    resume: (key: NamespaceKey): Effect.Effect<PendingState, ReadError> =>
      Effect.acquireUseRelease(
        step(1),
        () => resume(parts, key),
        () => step(-1)
      ),
    /** A request failed to read what it stored: it waits here for its time. */
    failed: (key: NamespaceKey, id: string, cause: ReadingFailed) =>
      Effect.gen(function* () {
        const { byId } = failuresOf(parts, key)
        byId.set(id, yield* failedAgain(byId.get(id), cause))
      }),
    isUnderWay: () => underWay > 0
  }
})

const failuresOf = ({ failures }: Parts, { tag }: NamespaceKey): Failures => {
  const state = failures.get(tag) ?? { byId: new Map<string, Failure>(), putOff: new Set<string>() }
  failures.set(tag, state)
  return state
}

const resume = Effect.fn("PendingReadings.resume")(function* (parts: Parts, key: NamespaceKey) {
  const { host, readings } = parts
  const { byId: failures, putOff } = failuresOf(parts, key)
  const seen = new Set<string>()
  let [carriedOut, after, isEnd, isCut] = [0, 0, false, false]
  while (!isEnd && carriedOut < readMax) {
    const page = yield* host.answer(key, { _tag: "PendingReadings", limit: pageLength, after })
    isEnd = page.length < pageLength
    for (const reading of page) {
      const { place } = reading
      const isAgain = isReadAgain(reading)
      const id = isAgain ? again : reading.id
      after = place
      seen.add(id)
      const failure = failures.get(id)
      const isDue = failure === undefined || failure.nextMillis <= (yield* Clock.currentTimeMillis)
      if (isAgain && !isDue) {
        // Nothing but others that read again stands behind it.
        isEnd = isCut = true
        break
      }
      if (!isDue || carriedOut === readMax || putOff.has(reading.id) || readings.isUnderWay(key, id)) continue
      carriedOut++
      const outcome = yield* Effect.result(carryOut(parts, key, reading))
      if (Result.isSuccess(outcome)) {
        failures.delete(id)
        readings.end(readingKey(key, id))
      } else {
        failures.set(id, yield* failedAgain(failure, outcome.failure))
        if (isAgain) putOff.add(reading.id)
      }
    }
  }
  if (isEnd) for (const id of failures.keys()) if (!seen.has(id)) failures.delete(id)
  if (isEnd && !isCut && putOff.size > 0) {
    putOff.clear()
    if (!failures.has(again)) failures.set(again, yield* failedAgain(undefined, undefined))
  }
  if (failures.size === 0) parts.failures.delete(key.tag)
  const pending = yield* host.answer(key, { _tag: "Pending" })
  const nowMillis = yield* Clock.currentTimeMillis
  const retries = failures.values().map(({ nextMillis }) => nextMillis)
  const nextMillis = carriedOut === readMax ? nowMillis : Math.min(nowMillis + retryMillisMax, ...retries)
  return { ...pending, nextMillis: pending.count === 0 ? undefined : nextMillis } satisfies PendingState
})

const failedAgain = Effect.fnUntraced(function* (failure: Failure | undefined, cause: unknown) {
  const rounds = (failure?.rounds ?? 0) + 1
  const isFree = cause instanceof ReadingFailed && freeProblems.has(cause.problem?.code ?? "")
  const waitMillis = Math.min(retryMillisMin * 2 ** (rounds - 1), isFree ? freeRetryMillisMax : retryMillisMax)
  return { rounds, nextMillis: (yield* Clock.currentTimeMillis) + waitMillis } satisfies Failure
})

/** Ends when the reading is over: carried out, or without messages that are still there. */
const carryOut = Effect.fnUntraced(function* (parts: Parts, key: NamespaceKey, pending: ScopedReading) {
  const { host, kinds } = parts
  const { conversationDate, id, instructions, scope } = pending
  const isAgain = isReadAgain(pending)
  const stored = yield* storedMessages(parts, key, pending)
  const messages = stored.map(({ message }) => message)
  const memories = stored.map(({ memory }) => memory)
  const expiresAt = isAgain ? earliestEnd(memories) : pending.expiresAt
  const tags = sharedTags(memories)
  const metadata = commonMetadata(memories.map((memory) => memory.metadata))
  const all = yield* kinds.extractable(key.account)
  const named = pending.kinds === undefined ? undefined : yield* kinds.lookup(key.account, pending.kinds)
  yield* parts
    .read({
      account: key.account,
      request: { agentId: key.agentId, tags, ...defined({ ...scope, expiresAt, instructions, metadata }) },
      messages,
      schemas: named ?? new Map(all.map((schema) => [schema.name, schema])),
      conversationDate,
      token: undefined,
      reads: id,
      begin: () => Effect.succeed({ waitMillis: undefined, stored: messages.map(({ key: stored }) => stored) }),
      isBackground: true,
      ...(isAgain && { saidMillis: Math.max(...memories.map(saidAt)) })
    })
    .pipe(
      Effect.tap((read) =>
        read === undefined
          ? host.ask(key, {
              _tag: "StoreMemories",
              memories: [],
              idempotency: undefined,
              conversation: { scope, processed: [], isForced: true, turns: [], summary: undefined, reads: id }
            })
          : Effect.void
      )
    )
})

/** The messages of a pending reading whose memories are still there. */
const storedMessages = Effect.fnUntraced(function* ({ host }: Parts, namespace: NamespaceKey, pending: ScopedReading) {
  const { messages, scope } = pending
  const keys = messages.map(({ key }) => key)
  const ids = yield* host.answer(namespace, { _tag: "Stored", scope, keys })
  const found = yield* Effect.forEach(messages, (message) => {
    const id = ids.get(message.key)
    return id === undefined
      ? Effect.succeed([])
      : Effect.map(host.answer(namespace, { _tag: "Find", id }), (memory) =>
          memory === undefined ? [] : [{ memory, message: storedMessage(memory, message, isReadAgain(pending)) }]
        )
  })
  return found.flat()
})

/** Tags of the request that sent these messages, as far as they were not changed since. */
const sharedTags = ([first, ...others]: ReadonlyArray<MemoryVersion>): ReadonlyArray<string> =>
  (first?.tags ?? []).filter((tag) => others.every(({ tags }) => tags.includes(tag)))

const earliestEnd = (memories: ReadonlyArray<MemoryVersion>): number | undefined => {
  const ends = memories.flatMap(({ expiresAt }) => expiresAt ?? [])
  return ends.length === 0 ? undefined : Math.min(...ends)
}

const defined = <A extends object>(fields: A) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Key in keyof A]?: Exclude<A[Key], undefined>
  }

/**
 * Readings that requests began. A request waits for its reading, or leaves it after a while: then it goes on by itself,
 * and what it does not finish is read in the background. A reading that was left has been charged, so a repetition of
 * its request is free until it is over.
 */
export type RequestReadings = Effect.Success<typeof makeRequestReadings>

/** One text for a reading of an agent: requests and the background know it by the same. */
export const readingKey = ({ account, agentId }: Pick<NamespaceKey, "account" | "agentId">, id: string): string =>
  JSON.stringify([account, agentId, id])

export const makeRequestReadings = Effect.gen(function* () {
  const scope = yield* Scope.Scope
  const untilStop = Deferred.await((yield* RoundBook.current).stopping)
  const wake = yield* Queue.sliding<void>(1)
  /** One entry a namespace, however many of its readings were left. */
  const left = new Map<NamespaceTag, NamespaceKey>()
  const underWay = new Map<string, Fiber.Fiber<unknown, unknown>>()
  const paid = new Set<string>()

  const note = (namespace: NamespaceKey): void => {
    left.set(namespace.tag, namespace)
    Queue.offerUnsafe(wake, undefined)
  }

  return {
    /** The service stops: what is left is read after the next start. */
    untilStop,
    /** The result of `reading`; "left" if `patience` ends first, while the reading goes on. */
    run: Effect.fnUntraced(function* <A, E>(key: string, reading: Effect.Effect<A, E>, patience: Effect.Effect<void>) {
      const fiber = yield* Effect.forkIn(reading, scope)
      underWay.set(key, fiber)
      fiber.addObserver(() => underWay.delete(key))
      return yield* Effect.raceFirst(Fiber.join(fiber), Effect.as(patience, "left" as const)).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(fiber))
      )
    }),
    /** Notes that something is to be read in the background, without a request. */
    note: (namespace: NamespaceKey) => Effect.sync(() => note(namespace)),
    /** Hands over to the background what a request does not wait for. */
    leave: (namespace: NamespaceKey, key: string, isPaid: boolean) =>
      Effect.sync(() => {
        if (isPaid) paid.add(key)
        note(namespace)
        underWay.get(key)?.addObserver(() => note(namespace))
      }),
    /** Waits until requests have left readings; their namespaces. */
    untilLeft: Queue.take(wake).pipe(
      Effect.map(() => {
        const namespaces = [...left.values()]
        left.clear()
        return namespaces
      })
    ),
    /** Whether the request that began the reading goes on with it; its namespace is looked at again at its end. */
    isUnderWay: (namespace: NamespaceKey, id: string) => {
      const fiber = underWay.get(readingKey(namespace, id))
      fiber?.addObserver(() => note(namespace))
      return fiber !== undefined
    },
    isPaid: (key: string) => paid.has(key),
    /** Whether a reading that was left is over, after a wait for it. */
    isOver: Effect.fnUntraced(function* (key: string, isPatient: boolean) {
      const fiber = underWay.get(key)
      if (fiber === undefined) return true
      const millis = isPatient ? Limits.extractionDeadlineMillis : Limits.extractionWaitMillis
      yield* Effect.raceFirst(Effect.timeoutOption(Fiber.await(fiber), millis), untilStop)
      return !underWay.has(key)
    }),
    /** The reading was carried out. */
    end: (key: string) => paid.delete(key)
  }
})
