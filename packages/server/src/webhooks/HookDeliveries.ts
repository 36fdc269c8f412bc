/**
 * Sends the events of accounts to their webhooks, while the layer lives (contract: Webhooks of accounts): reads an
 * account's events into messages, and sends those that are due.
 *
 * Invariants: a webhook is worked on by one fiber at a time, and accounts take turns; what was read and not written down
 * is read again; messages of an agent go out one after the other. A message names memories and never what they, their
 * subjects or threads are called, so that an erasure need not look for messages.
 */
import {
  Clock,
  Context,
  Effect,
  Exit,
  Layer,
  Metric,
  PartitionedSemaphore,
  Queue,
  Redacted,
  Schedule,
  Scope
} from "effect"
import { createHash } from "node:crypto"
import { Conflict, type InsufficientStorage, type InvalidRequest, type NotFound } from "@muniment/domain/Errors"
import type { AccountEvent, WebhookTrial } from "@muniment/domain/Events"
import type { Identity } from "@muniment/domain/Identity"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { ReadError } from "@muniment/engine/host/NamespaceHost"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { MoneyEvents } from "@muniment/control/payments/MoneyEvents"
import { AccountHooks } from "@muniment/control/webhooks/AccountHooks"
import type { NewMessage } from "@muniment/control/webhooks/WebhookMessages"
import type { FollowedHook, HookPlace } from "@muniment/control/webhooks/HookRows"
import { KeyRing, unseal } from "@muniment/trust/KeyRing"
import { Rounds } from "@muniment/worker/Rounds"
import { AccountEvents, type EventReader } from "../events/AccountEvents.ts"
import { AccountSignals, decodePositions } from "../events/AccountSignals.ts"
import { secondsSince, sendInLanes, sendTest } from "./WebhookSender.ts"
import { type HookReach, webhookSecrets } from "./WebhookSettings.ts"

type HookHealth = ServiceStatus["hooks"]

export class HookDeliveries extends Context.Service<
  HookDeliveries,
  {
    readonly health: Effect.Effect<HookHealth>
    /** A webhook was made, changed or removed, or has messages to repeat. */
    readonly changed: Effect.Effect<void>
    /** Sends a message of type `test` once, to a paused webhook too. */
    readonly test: (place: HookPlace) => Effect.Effect<WebhookTrial, NotFound | Conflict>
  }
>()("muniment/server/HookDeliveries") {
  /** With `off` nothing is read or sent; what waits stays. */
  static readonly layer = (reach: HookReach) => Layer.effect(this, make(reach))
}

const deliveries = Metric.counter("account_webhook_deliveries_total", {
  description: "Attempts to deliver messages to webhooks of accounts, by outcome.",
  incremental: true
})

/** A webhook while it is followed. */
interface Following extends HookPlace {
  readonly scope: Scope.Closeable
  /** Agents that have committed something since they were last read. */
  readonly noted: Set<NamespaceTag>
  /** Undefined: events are read from the stored cursor. */
  reader: EventReader | undefined
  isNoted: boolean
  /** Events of money that were not read. */
  hasMoney: boolean
}

const make = Effect.fnUntraced(function* (reach: HookReach) {
  const hooks = yield* AccountHooks
  const wake = yield* Queue.sliding<void>(1)
  if (reach !== "off")
    yield* Rounds.add({
      name: "webhooks of accounts",
      schedule: Schedule.spaced(Limits.webhookPollMillis),
      work: yield* makeRound(reach, wake),
      isFirstNow: true
    })
  const health = Effect.gen(function* () {
    const { oldestAt, ...counted } = yield* hooks.counts
    const now = yield* Clock.currentTimeMillis
    return { ...counted, oldestSeconds: secondsSince(oldestAt, now) }
  })
  return HookDeliveries.of({
    health,
    changed: Effect.asVoid(Queue.offer(wake, undefined)),
    test: yield* makeTest(reach)
  })
})

const makeTest = Effect.fnUntraced(function* (reach: HookReach) {
  const hooks = yield* AccountHooks
  const keys = yield* KeyRing
  return Effect.fn("HookDeliveries.test")(function* (place: HookPlace) {
    const { sealed, url } = yield* hooks.endpoint(place)
    if (reach === "off") return yield* switchedOff
    const secrets = yield* openSecrets(keys, sealed)
    if (secrets.length === 0) return { delivered: false, reason: secretUnreadable, tookMillis: 0 }
    return yield* sendTest({ url, secrets, reach })
  })
})

/** The operator wants no webhooks of accounts. */
export const switchedOff = Effect.suspend(() =>
  Effect.fail(
    new Conflict({
      code: "webhook_not_configured",
      error: "this service sends no webhooks of accounts: its operator has switched them off"
    })
  )
)

/** None: they were sealed with another key. */
const openSecrets = (keys: KeyRing["Service"], sealed: ReadonlyArray<string>) =>
  Effect.map(Effect.orDie(keys.sealing), (sealing) =>
    sealed.flatMap((one) => webhookSecrets(unseal(one, Redacted.value(sealing)) ?? "") ?? [])
  )

/** A look for webhooks that have something to do, which lets them work. */
const makeRound = Effect.fnUntraced(function* (reach: "public" | "any", wake: Queue.Dequeue<void>) {
  const hooks = yield* AccountHooks
  const money = yield* MoneyEvents
  const work = yield* makeWork(reach)
  const { followed, refresh } = yield* makeFollowed
  const turns = yield* PartitionedSemaphore.make<string>({ permits: Limits.hooksAtWorkMax })
  const begin = yield* Rounds.errands({ name: "webhooks of accounts" })
  const atWork = new Set<string>()
  let refreshAt = 0
  let toldMoney = (yield* money.news(Number.MAX_SAFE_INTEGER)).last

  const start = (hook: Following) => {
    atWork.add(hook.id)
    hook.isNoted = false
    begin(
      work(hook).pipe(
        Effect.catch(({ code }) => Effect.logWarning("a webhook of an account waits", { webhook: hook.id, code })),
        PartitionedSemaphore.withPermit(turns, hook.account),
        Effect.ensuring(Effect.sync(() => atWork.delete(hook.id))),
        Effect.annotateLogs({ webhook: hook.id })
      )
    )
  }

  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const isWoken = (yield* Queue.clear(wake)).length > 0
    if (isWoken || now >= refreshAt || refreshAt > now + Limits.hookRefreshMillis) {
      yield* refresh
      refreshAt = now + Limits.hookRefreshMillis
    }
    const due = new Set(yield* hooks.due)
    const news = yield* money.news(toldMoney)
    toldMoney = news.last
    for (const hook of followed.values()) {
      if (news.accounts.has(hook.account)) hook.hasMoney = hook.isNoted = true
      if (!atWork.has(hook.id) && (hook.isNoted || due.has(hook.id))) start(hook)
    }
  })
})

/** Active webhooks by id, each noting which agents commit something. */
const makeFollowed = Effect.gen(function* () {
  const hooks = yield* AccountHooks
  const signals = yield* AccountSignals
  const layerScope = yield* Effect.scope
  const followed = new Map<string, Following>()

  const follow = Effect.fnUntraced(function* (place: HookPlace) {
    const scope = yield* Scope.fork(layerScope)
    const hook: Following = { ...place, scope, noted: new Set(), reader: undefined, isNoted: true, hasMoney: false }
    const listening = signals.listen(place.account, (tag) => {
      hook.noted.add(tag)
      hook.isNoted = true
    })
    yield* Scope.provide(listening, scope)
    followed.set(place.id, hook)
  })
  const refresh = Effect.gen(function* () {
    const active = yield* hooks.active
    const ids = new Set(active.map(({ id }) => id))
    for (const [id, { scope }] of followed) {
      if (ids.has(id)) continue
      followed.delete(id)
      yield* Scope.close(scope, Exit.void)
    }
    for (const place of active) {
      const known = followed.get(place.id)
      if (known === undefined) yield* follow(place)
      // An agent could not be read, or a delivery failed.
      else if (known.reader === undefined || known.reader.hasUnread) known.isNoted = true
    }
  })
  return { followed, refresh }
})

/** Reads and sends for one webhook until nothing is left to do now, or its turn is over. */
const makeWork = Effect.fnUntraced(function* (reach: "public" | "any") {
  const hooks = yield* AccountHooks
  const read = yield* makeReading
  const keys = yield* KeyRing

  const deliver = Effect.fn("HookDeliveries.deliver")(function* (hook: FollowedHook) {
    const due = yield* hooks.dueMessages(hook.id)
    if (due.length === 0) return false
    const secrets = yield* openSecrets(keys, hook.sealed)
    const endpoint = secrets.length === 0 ? secretUnreadable : { url: hook.url, secrets, reach }
    const attempts = yield* sendInLanes(endpoint, due, pace)
    const missed = attempts.filter(({ reason }) => reason !== undefined).length
    yield* count("delivered", attempts.length - missed)
    yield* count("missed", missed)
    const { length: givenUp } = yield* hooks.attempted(hook.id, attempts)
    yield* count("given_up", givenUp)
    if (givenUp > 0)
      yield* Effect.logWarning("messages of an account's webhook were given up", { webhook: hook.id, givenUp })
    return true
  })

  return Effect.fnUntraced(function* (following: Following) {
    for (let turn = 0; turn < Limits.hookTurnsMax; turn++) {
      const hook = yield* hooks.followed(following.id)
      if (hook === undefined) {
        following.reader = undefined
        return
      }
      const hasRead = hook.pending < Limits.hookPendingMax && (yield* read(following, hook))
      if (!(yield* deliver(hook)) && !hasRead) return
    }
    following.isNoted = true
  })
})

const pace = { atOnce: Limits.hookAgentsAtOnce, retryMillisMax: Limits.hookRetryMillisMax }

const secretUnreadable = "its secret cannot be read: replace it"

const count = (outcome: "delivered" | "missed" | "given_up", by: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(deliveries, { outcome }), by)

/** Turns the next events of an account into messages of a webhook; -> whether there may be more. */
const makeReading = Effect.gen(function* () {
  const hooks = yield* AccountHooks
  const events = yield* AccountEvents
  const directory = yield* NamespaceDirectory

  const opened = Effect.fnUntraced(function* (following: Following, hook: FollowedHook) {
    if (following.reader !== undefined) return following.reader
    following.noted.clear()
    return yield* events.open(callerOf(hook), { cursor: hook.cursor }, Limits.hookAgentsMax)
  })

  const messageOf =
    ({ account, id }: FollowedHook) =>
    (event: AccountEvent): NewMessage => {
      const { agentId = "", payment, refund = payment } = event.data
      const tag = agentId === "" ? undefined : directory.list(account, agentId)[0]?.tag
      const at = tag === undefined ? undefined : decodePositions(event.id)?.get(tag)
      const named = refund === undefined ? event.id : `${event.type} ${refund}`
      const place = at === undefined ? named : `${tag} ${at.born} ${at.number} ${event.type}`
      const digest = createHash("sha256").update(`${id}\0${place}`).digest("hex").slice(0, idLength)
      return { id: `msg_${digest}`, lane: agentId, type: event.type, body: bodyOf(event) }
    }

  const step = Effect.fnUntraced(function* (following: Following, hook: FollowedHook) {
    const reader = yield* opened(following, hook)
    following.hasMoney = false
    for (const tag of following.noted) reader.note(tag)
    following.noted.clear()
    const room = Math.min(Limits.eventsPageMax, Limits.hookPendingMax - hook.pending)
    const batch = yield* reader.read(room, noteWaiting)
    const wanted = batch.events.filter(({ type }) => type === "events.lost" || hook.types.includes(type))
    const { cursor } = reader
    if (cursor !== hook.cursor || wanted.length > 0) yield* hooks.enqueue(hook, wanted.map(messageOf(hook)), cursor)
    following.reader = reader
    return batch.hasMore && batch.events.length > 0
  })

  /** Reads events. They stay behind the stored cursor until they are written down: a failure reads them again. */
  return (following: Following, hook: FollowedHook): Effect.Effect<boolean, InsufficientStorage | ReadError> =>
    Effect.suspend(() => {
      const before = following.reader
      const isDue = before === undefined || following.hasMoney || following.noted.size > 0 || before.hasUnread
      return isDue ? step(following, hook) : Effect.succeed(false)
    }).pipe(
      Effect.onError(() => Effect.sync(() => void (following.reader = undefined))),
      Effect.catchTag(["InvalidRequest"], ({ error }) => Effect.as(hooks.noteReason(hook.id, error), false))
    )
})

const idLength = 32

const noteWaiting = ({ code }: InvalidRequest | ReadError) =>
  Effect.logWarning("events of an agent wait for a webhook", { code })

/** The whole account, or some of its agents. */
const callerOf = ({ account, agents }: FollowedHook): Identity => ({
  account: { id: account, name: "", plan: "free", createdAt: 0 },
  keyId: undefined,
  ...(agents !== undefined && { scope: { agents } })
})

const bodyOf = ({ data, timestamp, type }: AccountEvent): string => {
  const { subjectId: _, threadId: __, ...named } = data
  return JSON.stringify({ type, timestamp, data: named })
}
