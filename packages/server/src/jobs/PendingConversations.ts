/**
 * Reads conversations that could not be read when they were stored: the reader was busy, cold or failing, or a kill came
 * between. Durable without a list of its own: what is pending stands in the namespaces' files, and is counted there when
 * it is asked for: a request, an erasure or the end of an account may have settled it meanwhile.
 */
import { type Cause, Clock, Context, Effect, Exit, Layer, Queue } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { PendingCount } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Rounds } from "@muniment/worker/Rounds"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"

/** After a start: a client that repeats what a kill cut off comes first, and gets the result in its answer. */
const startMillis = 5_000
/** After a file that could not be read. */
const unreadableMillis = 60_000
/** Namespaces that are counted anew for one look at the total, in turn; the others as they were last seen. */
const recountedMax = 32
/** For all of them: who asks is often a probe, and an agent may be busy. */
const recountMillisMax = 250

interface PendingTotal {
  readonly count: number
  /** Age of the oldest, milliseconds; 0 if there is none. */
  readonly ageMillis: number
}

export class PendingConversations extends Context.Service<
  PendingConversations,
  {
    /** Conversations that wait for their reading, in the namespaces where some were found or left. */
    readonly total: Effect.Effect<PendingTotal>
  }
>()("muniment/server/PendingConversations") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

/** A namespace with pending conversations. */
interface Waiting extends PendingCount {
  readonly key: NamespaceKey
  readonly nextMillis: number
}

const make = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const { resume, untilPending } = yield* ConversationExtraction
  /** The one that is due first stands first. */
  const waiting = new Map<NamespaceTag, Waiting>()
  const left = new Set<NamespaceTag>()
  const wake = yield* Queue.sliding<void>(1)
  const beginMillis = (yield* Clock.currentTimeMillis) + startMillis

  const note = Effect.fnUntraced(function* (keys: Iterable<NamespaceKey>) {
    const nowMillis = yield* Clock.currentTimeMillis
    const nextMillis = Math.max(beginMillis, nowMillis)
    for (const key of keys) {
      const { count = 1, sinceMillis = nowMillis } = waiting.get(key.tag) ?? {}
      waiting.set(key.tag, { key, count, sinceMillis, nextMillis })
      left.add(key.tag)
    }
    yield* Queue.offer(wake, undefined)
  })
  const look = Effect.fnUntraced(function* (key: NamespaceKey) {
    if (directory.byTag(key.tag) !== key) return
    const pending = yield* host.answer(key, { _tag: "Pending" })
    if (pending.count === 0) return
    waiting.set(key.tag, { key, ...pending, nextMillis: yield* Clock.currentTimeMillis })
    yield* Queue.offer(wake, undefined)
  })
  const turn = Effect.fnUntraced(function* (due: Waiting) {
    const { key } = due
    left.delete(key.tag)
    // The account was erased meanwhile.
    if (directory.byTag(key.tag) !== key) return void waiting.delete(key.tag)
    const state = yield* Effect.exit(resume(key))
    const nowMillis = yield* Clock.currentTimeMillis
    const { nextMillis, ...pending } = Exit.isSuccess(state)
      ? state.value
      : { ...due, nextMillis: nowMillis + unreadableMillis }
    waiting.delete(key.tag)
    // The turn may not have seen what was left during it.
    if (left.has(key.tag)) waiting.set(key.tag, { ...pending, key, nextMillis: nowMillis })
    else if (nextMillis !== undefined) waiting.set(key.tag, { ...pending, key, nextMillis })
    if (Exit.hasDies(state)) yield* Effect.asVoid(state)
  })
  const firstDue = Effect.map(Clock.currentTimeMillis, (nowMillis) =>
    waiting.values().find(({ nextMillis }) => nextMillis <= nowMillis)
  )
  const untilDue = Effect.gen(function* () {
    if ((yield* firstDue) !== undefined) return
    const nowMillis = yield* Clock.currentTimeMillis
    const first = leastOf(waiting.values().map(({ nextMillis }) => nextMillis))
    const untilFirst = first === Infinity ? Effect.never : Effect.sleep(first - nowMillis)
    yield* Effect.raceFirst(Queue.take(wake), untilFirst)
  })
  yield* Rounds.each({ name: "notes of conversations to be read", take: untilPending, work: note })
  yield* Rounds.once({
    name: "search for conversations to be read",
    work: Effect.delay(eachOnce(new Set(directory.all()), look), startMillis)
  })
  yield* Rounds.whenWoken({
    name: "readings of conversations",
    until: untilDue,
    work: Effect.flatMap(firstDue, (due) => (due === undefined ? Effect.void : turn(due)))
  })
  return PendingConversations.of({ total: totalOf(host, directory, waiting) })
})

/** A file that is set aside keeps what it has; one at which the look crashed is looked at again after the others. */
const eachOnce = (unseen: Set<NamespaceKey>, look: (key: NamespaceKey) => Effect.Effect<void, unknown>) =>
  Effect.gen(function* () {
    let crash: Cause.Cause<never> | undefined
    for (const key of unseen) {
      const exit = yield* Effect.exit(Effect.ignore(look(key)))
      if (Exit.isSuccess(exit)) unseen.delete(key)
      else crash = exit.cause
      yield* Effect.yieldNow
    }
    if (crash !== undefined) return yield* Effect.failCause(crash)
  })

/** Counts what waits anew. */
const totalOf = (
  host: NamespaceHost["Service"],
  directory: NamespaceDirectory["Service"],
  waiting: Map<NamespaceTag, Waiting>
): Effect.Effect<PendingTotal> => {
  let recountedTo = 0
  const recount = Effect.fnUntraced(function* (seen: Waiting) {
    const { key } = seen
    const isErased = directory.byTag(key.tag) !== key
    const pending = isErased ? { count: 0 } : yield* host.answer(key, { _tag: "Pending" })
    // A turn may have been faster.
    if (waiting.get(key.tag) !== seen) return
    if (pending.count === 0) waiting.delete(key.tag)
    else waiting.set(key.tag, { ...seen, ...pending })
  })
  return Effect.gen(function* () {
    const all = [...waiting.values()]
    const from = recountedTo < all.length ? recountedTo : 0
    recountedTo = from + recountedMax
    yield* Effect.forEach(all.slice(from, recountedTo), (seen) => Effect.ignore(recount(seen)), { discard: true }).pipe(
      Effect.timeoutOption(recountMillisMax)
    )
    const nowMillis = yield* Clock.currentTimeMillis
    const seen = [...waiting.values()]
    const since = leastOf(seen.map(({ sinceMillis }) => sinceMillis ?? nowMillis))
    return {
      count: seen.reduce((sum, { count }) => sum + count, 0),
      ageMillis: since === Infinity ? 0 : Math.max(0, nowMillis - since)
    } satisfies PendingTotal
  })
}

/** `Math.min` takes as many arguments as the stack has room for. */
const leastOf = (values: Iterable<number>): number => {
  let least = Infinity
  for (const value of values) if (value < least) least = value
  return least
}
