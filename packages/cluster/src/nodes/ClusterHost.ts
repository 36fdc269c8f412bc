/**
 * The engine's host for all namespaces of a cluster: those whose entities are on this node are asked at once, the others
 * by messages to their nodes. Files, logs, housekeeping and status are this node's own.
 *
 * Invariants: a message without an answer is `namespace_unavailable`; what it changed is unknown, and the repetition under
 * the same Idempotency-Key finds out. A command that may take room is sent with what its account has left, which is held
 * until it is known what its namespace takes.
 */
import { Clock, Effect, Exit, Layer, Option, Schema } from "effect"
import { Unavailable } from "@muniment/domain/Errors"
import { inPortions, NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import { type Command, growthMax, mayGrow, type ReplyOf } from "@muniment/engine/namespace/Commands"
import type { CommandError } from "@muniment/engine/namespace/toClientError"
import { CommitSignal } from "@muniment/engine/namespace/Namespace"
import {
  type LiveMemories,
  StorageMeter,
  type StorageMeterService,
  StoredBytes
} from "@muniment/engine/namespace/StorageMeter"
import type { CensusOptions, NamespaceCensus, NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { decodeReply, encodeCommand, Failure, fromFailure } from "../wire/Commands.ts"
import { decodeAnswer, encodeQuery } from "../wire/Queries.ts"
import { LocalHost, NodeMeter } from "./LocalHost.ts"
import { NamespaceEntity, Residents } from "./NamespaceEntity.ts"

/** For an answer to a message; while nobody serves a namespace's shard its messages wait. */
const answerMillis = 20_000

/** Provides `NamespaceHost`. */
export const clusterHostLayer = Layer.effect(
  NamespaceHost,
  Effect.gen(function* () {
    const local = yield* LocalHost
    const residents = yield* Residents
    const nodeMeter = yield* NodeMeter
    const entityOf = yield* NamespaceEntity.client

    const placed = <A, E>(key: NamespaceKey, direct: Effect.Effect<A, E>, message: Effect.Effect<A, E>) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => residents.choose(key.tag, nowMillis, direct, message))

    const meter = yield* StorageMeter
    const ask = metered({ meter, signal: yield* CommitSignal }, (key, command) =>
      placed(
        key,
        Effect.map(local.ask(key, command), (reply) => ({
          reply,
          taken: nodeMeter.bytesOf(key.tag),
          memories: nodeMeter.memoriesOf(key.tag)
        })),
        Effect.suspend(() => entityOf(key.tag).Ask({ ...ownerOf(key), command: encodeCommand(command) })).pipe(
          answered,
          Effect.map(({ reply, ...now }) => ({ reply: decodeReply(command, reply), ...now }))
        )
      )
    )

    return NamespaceHost.of({
      ask,
      removeAll: (key, command) => inPortions(ask(key, command)),
      answer: (key, query) =>
        placed(
          key,
          Effect.tap(local.answer(key, query), () =>
            Effect.sync(() => meter.settle(key, 0, undefined, heldNow(nodeMeter.memoriesOf(key.tag))))
          ),
          Effect.suspend(() => entityOf(key.tag).Answer({ ...ownerOf(key), query: encodeQuery(query) })).pipe(
            looked,
            Effect.map((answer) => decodeAnswer(query, answer))
          )
        ),
      answerIfOpen: (key, query) => local.answerIfOpen(key, query),
      census: (key, options) =>
        placed(
          key,
          local.census(key, options),
          completed(looked(entityOf(key.tag).Census({ ...ownerOf(key), options })), options)
        ),
      erase: (key) =>
        placed(key, local.erase(key), looked(entityOf(key.tag).Erase(ownerOf(key)))).pipe(
          Effect.tap(() => Effect.sync(() => meter.forget(key)))
        ),
      retire: (key, atMillis, left) =>
        placed(
          key,
          local.retire(key, atMillis, left),
          Effect.uninterruptible(
            Effect.tap(looked(entityOf(key.tag).Retire({ ...ownerOf(key), atMillis })), (isGone) =>
              isGone ? left : Effect.void
            )
          )
        ),
      close: (key) => local.close(key),
      files: (tags) => local.files(tags),
      settleAll: local.settleAll,
      archive: (afterOrdinal, path) => local.archive(afterOrdinal, path),
      check: (key, pace) => local.check(key, pace),
      checkFile: (filename, pace) => local.checkFile(filename, pace),
      maintain: local.maintain,
      status: local.status
    })
  })
)

/** A reply, and what the namespace takes and holds after its command. */
interface Taken<C extends Command> {
  readonly reply: ReplyOf<C>
  readonly taken?: number | undefined
  readonly memories?: number | undefined
}

/** A namespace's node knows no quotas but what its command says, nor who follows the account. */
const metered =
  (
    { meter, signal }: { readonly meter: StorageMeterService; readonly signal: (key: NamespaceKey) => void },
    send: <C extends Command>(key: NamespaceKey, command: C) => Effect.Effect<Taken<C>, CommandError>
  ) =>
  <C extends Command>(key: NamespaceKey, command: C): Effect.Effect<ReplyOf<C>, CommandError> =>
    Effect.gen(function* () {
      yield* meter.changing(key)
      return yield* Effect.acquireUseRelease(
        mayGrow(command) ? meter.reserve(key, () => growthMax(command)) : Effect.undefined,
        (reservation) => send(key, reservation === undefined ? command : { ...command, room: reservation.room }),
        (reservation, exit) =>
          Effect.sync(() => {
            const memories = Exit.isSuccess(exit) ? exit.value.memories : undefined
            meter.settle(key, reservation?.held ?? 0, takenAfter(exit), heldNow(memories))
            signal(key)
          })
      ).pipe(Effect.map(({ reply }) => reply))
    })

const takenAfter = (exit: Exit.Exit<{ readonly taken?: number | undefined }, CommandError>) => {
  if (Exit.isSuccess(exit)) return exit.value.taken
  const refusal = Exit.findErrorOption(exit)
  return Option.isSome(refusal) && refusal.value._tag !== "Unavailable" ? undefined : "unknown"
}

/** A node of an earlier release counts all subjects, and says nothing of expiries. */
const completed = (
  answer: Effect.Effect<SentCensus, ReadError>,
  { subjects }: CensusOptions
): Effect.Effect<NamespaceCensus, ReadError> =>
  Effect.flatMap(answer, (counted) => {
    const { nextExpiry = -Infinity, unexpired = counted.live } = counted
    return nextExpiry === -Infinity && subjects !== undefined
      ? Effect.fail(nobodyAnswers())
      : Effect.succeed({ ...counted, unexpired, nextExpiry })
  })

type SentCensus = Omit<NamespaceCensus, "unexpired" | "nextExpiry"> & {
  readonly unexpired?: number | undefined
  readonly nextExpiry?: number | undefined
}

/** Replies may come in another order than their commits, so one says nothing of later. */
const heldNow = (count: number | undefined): LiveMemories | undefined =>
  count === undefined ? undefined : { count, until: -Infinity }

/** Provides `StoredBytes`, by what the nodes say. */
export const clusterBytesLayer = Layer.effect(
  StoredBytes,
  Effect.gen(function* () {
    const entityOf = yield* NamespaceEntity.client
    return { of: (key) => looked(entityOf(key.tag).Taken(ownerOf(key))) }
  })
)

const ownerOf = ({ account, agentId }: NamespaceKey) => ({ account, agentId })

/** Failures of the node as it gave them, those of the cluster as `namespace_unavailable`. */
const answered = <A>(
  message: Effect.Effect<A, Failure | { readonly _tag: Exclude<string, "Failure"> }>
): Effect.Effect<A, CommandError> =>
  message.pipe(
    Effect.timeoutOrElse({ duration: answerMillis, orElse: () => Effect.fail({ _tag: "Silence" }) }),
    Effect.mapError((error) => (isFailure(error) ? fromFailure(error) : nobodyAnswers()))
  )

const isFailure = Schema.is(Failure)

/** As `answered`, of what changes no memory. */
const looked = <A>(message: Parameters<typeof answered<A>>[0]): Effect.Effect<A, ReadError> =>
  Effect.mapError(answered(message), (error) =>
    error._tag === "Unavailable" || error._tag === "InsufficientStorage" ? error : nobodyAnswers()
  )

const nobodyAnswers = () =>
  new Unavailable({
    code: "namespace_unavailable",
    error:
      "no node answers for this agent now; the outcome of a write is unknown: repeat it with the same Idempotency-Key"
  })
