/**
 * A namespace as an entity of the cluster: which node serves it, and the messages by which the others ask that node. The
 * entity passes them to the engine of its node, and closes the namespace when it goes elsewhere or is idle; to others it
 * is released before that.
 *
 * Which commits count is decided by the log, never by an entity: two nodes may hold the same one for a moment.
 */
import { Clock, Context, Deferred, Effect, Layer, Schema } from "effect"
import { Entity, Sharding } from "effect/cluster"
import { Rpc } from "effect/rpc"
import type { CommandError } from "@muniment/engine/namespace/toClientError"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { decodeCommand, encodeReply, Failure, toFailure } from "../wire/Commands.ts"
import { decodeQuery, encodeAnswer } from "../wire/Queries.ts"
import { StoreHandOver } from "../store/ReplicatedStore.ts"
import { LocalHost, NodeMeter } from "./LocalHost.ts"

/** The entity's id is the namespace's tag. */
const owner = { account: Schema.String, agentId: Schema.String }
const bytes = Schema.Uint8Array

const censusOptions = Schema.Struct({
  atMillis: Schema.Number,
  createdBefore: Schema.Number,
  without: Schema.optional(Schema.Struct({ createdBefore: Schema.Number, expiredBy: Schema.Number })),
  subjects: Schema.optional(Schema.Array(Schema.String))
})

const census = Schema.Struct({
  live: Schema.Number,
  liveMessages: Schema.Number,
  liveBefore: Schema.Number,
  expired: Schema.Number,
  // Absent from nodes of earlier releases, as in `censusOptions` what they do not count by.
  unexpired: Schema.optional(Schema.Number),
  nextExpiry: Schema.optional(Schema.Number),
  turnsBefore: Schema.Number,
  isEmpty: Schema.Boolean
})

export const NamespaceEntity = Entity.make("Namespace", [
  /** `command` and the reply as in `wire/Commands`; bytes and live memories of the namespace afterwards. */
  Rpc.make("Ask", {
    payload: { ...owner, command: bytes },
    success: Schema.Struct({
      reply: bytes,
      taken: Schema.optional(Schema.Number),
      memories: Schema.optional(Schema.Number)
    }),
    error: Failure
  }),
  /** `query` and the answer as in `wire/Queries`. */
  Rpc.make("Answer", { payload: { ...owner, query: bytes }, success: bytes, error: Failure }),
  Rpc.make("Census", { payload: { ...owner, options: censusOptions }, success: census, error: Failure }),
  /** Bytes that the namespace takes. */
  Rpc.make("Taken", { payload: owner, success: Schema.optional(Schema.Number), error: Failure }),
  Rpc.make("Erase", { payload: owner, success: Schema.Array(Schema.String), error: Failure }),
  Rpc.make("Retire", { payload: { ...owner, atMillis: Schema.Number }, success: Schema.Boolean, error: Failure })
])

/** Messages that wait for one namespace, in its entity's node; more are refused. */
const mailboxCapacity = 4_096
/**
 * A direct caller does not keep an entity from becoming idle. So after this long one call goes as a message again:
 * a part of the entity's `maxIdleMillis`, in milliseconds.
 */
const maxIdleMillis = 300_000
const messageEveryMillis = maxIdleMillis / 3

/** Serves entities on this node. */
export const namespaceEntityLayer = NamespaceEntity.toLayer(
  Effect.gen(function* () {
    const { entityId: tag, shardId } = yield* Entity.CurrentAddress
    const sharding = yield* Sharding.Sharding
    const host = yield* LocalHost
    const { release } = yield* StoreHandOver
    const residents = yield* Residents
    const meter = yield* NodeMeter
    let key: NamespaceKey | undefined
    yield* Effect.addFinalizer(() =>
      residents
        .leave(tag)
        .pipe(
          Effect.andThen(Effect.suspend(() => (sharding.hasShardId(shardId) ? Effect.void : release(tag)))),
          Effect.andThen(Effect.suspend(() => (key === undefined ? Effect.void : host.close(key))))
        )
    )
    /** An agent that returns under its tag is another one to the engine. */
    const forgetKey = Effect.sync(() => void (key = undefined))
    /** Carries a message out, and notes that it came. */
    const serving = <A>(
      { account, agentId }: { readonly account: string; readonly agentId: string },
      serve: (key: NamespaceKey) => Effect.Effect<A, CommandError>
    ): Effect.Effect<A, Failure> =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
        residents.arrive(tag, nowMillis)
        return Effect.mapError(serve((key ??= { tag, account, agentId })), toFailure)
      })
    return NamespaceEntity.of({
      Ask: ({ payload }) =>
        serving(payload, (to) => {
          const command = decodeCommand(payload.command)
          return Effect.map(host.ask(to, command), (reply) => ({
            reply: encodeReply(command, reply),
            taken: meter.bytesOf(tag),
            memories: meter.memoriesOf(tag)
          }))
        }),
      Answer: ({ payload }) =>
        serving(payload, (to) => {
          const query = decodeQuery(payload.query)
          return Effect.map(host.answer(to, query), (answer) => encodeAnswer(query, answer))
        }),
      Census: ({ payload }) => serving(payload, (to) => host.census(to, payload.options)),
      // Any look opens it, and its actor says what it takes.
      Taken: ({ payload }) =>
        serving(payload, (to) => Effect.map(host.answer(to, { _tag: "Counts" }), () => meter.bytesOf(tag))),
      Erase: ({ payload }) =>
        Effect.tap(
          serving(payload, (to) => host.erase(to)),
          () => forgetKey
        ),
      Retire: ({ payload }) =>
        serving(payload, (to) => host.retire(to, payload.atMillis, Effect.void)).pipe(
          Effect.tap((isGone) => (isGone ? forgetKey : Effect.void))
        )
    })
  }),
  // With one at a time every write would wait for the commit of the one before.
  // A message of another release that cannot be read is its sender's failure, not the entity's.
  { concurrency: "unbounded", maxIdleTime: maxIdleMillis, mailboxCapacity, disableFatalDefects: true }
)

interface Resident {
  users: number
  /** When the last message came: milliseconds. */
  messageAtMillis: number
  /** The entity leaves when its users have left. */
  leaving: Deferred.Deferred<void> | undefined
}

/**
 * The namespaces whose entities are on this node now. Their callers here ask the engine without a message.
 *
 * Invariant: an entity leaves after its last direct caller, so none of them opens a namespace that has moved away.
 */
export class Residents extends Context.Service<
  Residents,
  {
    /** The entity is here, or has had a message. */
    readonly arrive: (tag: NamespaceTag, nowMillis: number) => void
    /** Refuses direct callers from now on, and waits for those that are there. */
    readonly leave: (tag: NamespaceTag) => Effect.Effect<void>
    /** `direct` if the entity is here, else `message`. */
    readonly choose: <A, E>(
      tag: NamespaceTag,
      nowMillis: number,
      direct: Effect.Effect<A, E>,
      message: Effect.Effect<A, E>
    ) => Effect.Effect<A, E>
  }
>()("muniment/cluster/Residents") {
  static readonly layer = Layer.sync(Residents, () => {
    const residents = new Map<NamespaceTag, Resident>()
    return Residents.of({
      arrive: (tag, nowMillis) => {
        const resident = residents.get(tag)
        if (resident === undefined) residents.set(tag, { users: 0, messageAtMillis: nowMillis, leaving: undefined })
        else resident.messageAtMillis = nowMillis
      },
      leave: (tag) =>
        Effect.suspend(() => {
          const resident = residents.get(tag)
          residents.delete(tag)
          if (resident === undefined || resident.users === 0) return Effect.void
          resident.leaving = Deferred.makeUnsafe<void>()
          return Deferred.await(resident.leaving)
        }),
      choose: (tag, nowMillis, direct, message) =>
        Effect.suspend(() => {
          const resident = residents.get(tag)
          if (resident === undefined || nowMillis - resident.messageAtMillis > messageEveryMillis) return message
          resident.users++
          return Effect.ensuring(
            direct,
            Effect.suspend(() =>
              --resident.users === 0 && resident.leaving !== undefined
                ? Deferred.succeed(resident.leaving, undefined)
                : Effect.void
            )
          )
        })
    })
  })
}
