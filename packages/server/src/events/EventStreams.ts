/**
 * Streams of server-sent events (contract: Events; HTML standard, Server-sent events). One that is idle holds no place
 * of admission and costs a comment now and then.
 *
 * Invariants: credentials that no longer open the account end the stream before its next event; each event is sent
 * with the id behind it, so that a client that comes back misses none and gets none twice.
 */
import { Context, Effect, Layer, Metric, Queue, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { RateLimited } from "@muniment/domain/Errors"
import type { AccountEvent } from "@muniment/domain/Events"
import type { Identity } from "@muniment/domain/Identity"
import { Limits } from "@muniment/domain/Limits"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { Admission } from "../admission/Admission.ts"
import { boundMet } from "../boundMet.ts"
import { retryAfter } from "../headers.ts"
import type { EventReader } from "./AccountEvents.ts"
import { AccountSignals } from "./AccountSignals.ts"

export class EventStreams extends Context.Service<
  EventStreams,
  {
    /** Refused beyond the number of streams that an account, and all together, may have open. */
    readonly answer: (
      caller: Identity,
      reader: EventReader
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, RateLimited, HttpServerRequest.HttpServerRequest>
  }
>()("muniment/server/EventStreams") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const open = Metric.gauge("event_streams_open", { description: "Streams of events that clients have open." })

const make = Effect.gen(function* () {
  const signals = yield* AccountSignals
  const gate = yield* Admission
  const allowed = yield* makeAllowed
  /** By holder; those with streams only. */
  const counts = new Map<string, number>()
  let total = 0

  const change = (holder: string, by: 1 | -1) =>
    Effect.suspend(() => {
      const count = (counts.get(holder) ?? 0) + by
      if (count === 0) counts.delete(holder)
      else counts.set(holder, count)
      total += by
      return Metric.update(open, total)
    })

  const frames = (caller: Identity, reader: EventReader) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const { id } = caller.account
        const holder = holderOf(caller)
        yield* Effect.acquireRelease(change(holder, 1), () => change(holder, -1))
        const wake = yield* Queue.sliding<void>(1)
        yield* signals.listen(id, (tag) => {
          reader.note(tag)
          Queue.offerUnsafe(wake, undefined)
        })
        return follow(reader, wake, allowed(caller))
      })
    )

  return EventStreams.of({
    answer: Effect.fn("EventStreams.answer")(function* (caller, reader) {
      const own = counts.get(holderOf(caller)) ?? 0
      if (own >= Limits.eventStreamsPerAccount) return yield* tooManyStreams("account_streams")
      if (total >= Limits.eventStreamsMax) return yield* tooManyStreams("streams")
      gate.release((yield* HttpServerRequest.HttpServerRequest).source)
      return HttpServerResponse.stream(Stream.encodeText(frames(caller, reader)), { headers, contentType })
    })
  })
})

/** Operators who look at an account take none of its streams. */
const holderOf = ({ account, isOperator }: Identity): string =>
  isOperator === true ? `operators at ${account.id}` : account.id

const contentType = "text/event-stream"
/** No cache and no proxy holds events back. */
const headers = { "cache-control": "no-store", "x-accel-buffering": "no" }

/** Whether the credentials still open the account. */
const makeAllowed = Effect.gen(function* () {
  const keys = yield* ApiKeyStore
  const accounts = yield* Accounts
  const wallets = yield* Wallets
  return ({ account, isOperator, isSessionOpen, keyId, walletAddress }: Identity): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const found = yield* accounts.byId(account.id)
      if (found === undefined || (found.suspendedAt !== undefined && isOperator !== true)) return false
      if (isSessionOpen !== undefined && !(yield* isSessionOpen)) return false
      if (walletAddress !== undefined) return (yield* wallets.accountOf(walletAddress))?.id === account.id
      return keyId === undefined || (yield* keys.isWorking(keyId))
    })
})

/** Chunks of text; ends when the credentials do, or the account has too many agents by now. */
const follow = (reader: EventReader, wake: Queue.Dequeue<void>, isAllowed: Effect.Effect<boolean>) => {
  const awaken = Effect.andThen(Queue.take(wake), Effect.sleep(Limits.eventGatherMillis))
  const waited = Effect.raceFirst(Effect.as(awaken, true), Effect.as(Effect.sleep(Limits.eventHeartbeatMillis), false))
  // An agent that cannot be read now is tried again at the next signal or beat.
  const read = reader.read(Limits.eventsPageMax, ({ code }) => Effect.logWarning("events of an agent wait", { code }))
  const next: Effect.Effect<readonly [string, Turn] | undefined> = Effect.gen(function* () {
    for (;;) {
      if (!(yield* isAllowed)) return undefined
      const batch = yield* Effect.option(read)
      if (batch._tag === "None") return undefined
      const { events } = batch.value
      if (events.length > 0) return [events.map(frame).join(""), "reading"] as const
      if (!(yield* waited)) return [`${beat}${position(reader)}`, "reading"] as const
    }
  })
  const begin = Effect.sync(() => [`retry: ${Limits.eventRetryMillis}\n${position(reader)}`, "reading"] as const)
  return Stream.unfold("beginning" as Turn, (turn) => (turn === "beginning" ? begin : next))
}

type Turn = "beginning" | "reading"

const beat = ": still here\n"

/** Moves the client's position without an event. */
const position = ({ cursor }: EventReader): string => `id: ${cursor}\n\n`

const frame = ({ id, ...event }: AccountEvent): string =>
  `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

const streamsAllowed = {
  account_streams: `${Limits.eventStreamsPerAccount} for an account`,
  streams: `${Limits.eventStreamsMax} in all`
} as const

/** Idle ones are found gone at the next beat. */
const freedAfterSeconds = Math.ceil(Limits.eventHeartbeatMillis / 1_000)

const tooManyStreams = Effect.fnUntraced(function* (bound: keyof typeof streamsAllowed) {
  const allowed = streamsAllowed[bound]
  yield* retryAfter(freedAfterSeconds)
  return yield* new RateLimited({
    code: "rate_limited",
    error: `too many streams of events are open, ${allowed}: end one, or read pages`,
    details: yield* boundMet(bound, allowed, freedAfterSeconds)
  })
})
