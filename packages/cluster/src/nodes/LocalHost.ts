/**
 * The namespaces that this node serves itself. `NamespaceHost` is those of the whole cluster.
 *
 * Invariant: an answer is given only if this node was still the owner after the look; otherwise the namespace is claimed
 * anew and looked at once more.
 */
import { Context, Effect, Layer } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Unavailable } from "@muniment/domain/Errors"
import { type HostOptions, inPortions, NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import type { Command, ReplyOf } from "@muniment/engine/namespace/Commands"
import type { AnswerOf, NamespaceQuery } from "@muniment/engine/namespace/NamespaceQuery"
import type { CommandError } from "@muniment/engine/namespace/toClientError"
import type { LogFault } from "@muniment/engine/log/LogError"
import { StorageMeter, type StorageMeterService } from "@muniment/engine/namespace/StorageMeter"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"

interface LocalHostOptions extends HostOptions {
  /** Whether this node may still answer for the namespace (`PostgresLog.isCurrent`). */
  readonly isCurrent: (tag: NamespaceTag) => boolean
  /** Tells all nodes that the agent is erased. */
  readonly eraseAgent: (key: NamespaceKey) => Effect.Effect<void, LogFault>
}

export class LocalHost extends Context.Service<LocalHost, NamespaceHost["Service"]>()("muniment/cluster/LocalHost") {
  /** With the meter of its namespaces. */
  static readonly layer = (options: LocalHostOptions) => {
    const meter = NodeMeter.make()
    return Layer.effectContext(
      Effect.map(NamespaceHost, (host) =>
        Context.make(LocalHost, currentOnly(host, options)).pipe(Context.add(NodeMeter, meter))
      )
    ).pipe(Layer.provide(NamespaceHost.layer(options)), Layer.provide(Layer.succeed(StorageMeter, meter)))
  }
}

const currentOnly = (
  host: NamespaceHost["Service"],
  { eraseAgent, isCurrent }: LocalHostOptions
): NamespaceHost["Service"] => {
  const orElse =
    <A, E extends { readonly _tag: string }>(key: NamespaceKey, otherwise: Effect.Effect<A, E | Unavailable>) =>
    (look: Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
      Effect.flatMap(Effect.result(look), (looked) => {
        const isAnswer = looked._tag === "Success" || !saysNothing.has(looked.failure._tag)
        if (isAnswer && !isCurrent(key.tag)) return Effect.andThen(host.close(key), otherwise)
        return Effect.fromResult(looked)
      })
  // A command may have changed something: only its sender can repeat it.
  const ask = <C extends Command>(key: NamespaceKey, command: C): Effect.Effect<ReplyOf<C>, CommandError> =>
    host.ask(key, command).pipe(orElse<ReplyOf<C>, CommandError>(key, hasMoved))
  return NamespaceHost.of({
    ask,
    removeAll: (key, command) => inPortions(ask(key, command)),
    answer: <Q extends NamespaceQuery>(key: NamespaceKey, query: Q) => {
      const answer = host.answer(key, query)
      // A closed namespace is claimed for the look alone: whether this node is the owner can be asked before it only.
      if (query._tag === "Events")
        return Effect.suspend(() => (isCurrent(key.tag) ? answer : Effect.andThen(host.close(key), answer)))
      return answer.pipe(
        orElse<AnswerOf<Q>, ReadError>(key, answer.pipe(orElse<AnswerOf<Q>, ReadError>(key, hasMoved)))
      )
    },
    answerIfOpen: (key, query) =>
      Effect.map(host.answerIfOpen(key, query), (answer) => (isCurrent(key.tag) ? answer : undefined)),
    census: (key, options) => host.census(key, options),
    // Known before it is gone: a node that gets its shard meanwhile does not open it anew.
    erase: (key) => Effect.andThen(Effect.mapError(eraseAgent(key), isNotHeard), host.erase(key)),
    retire: (key, atMillis, left) => host.retire(key, atMillis, left),
    close: (key) => host.close(key),
    files: (tags) => host.files(tags),
    settleAll: host.settleAll,
    archive: (afterOrdinal, path) => host.archive(afterOrdinal, path),
    check: (key, pace) => host.check(key, pace),
    checkFile: (filename, pace) => host.checkFile(filename, pace),
    maintain: host.maintain,
    status: host.status
  })
}

/** Failures that tell nothing of what the namespace holds. */
const saysNothing: ReadonlySet<string> = new Set(["Unavailable", "InsufficientStorage"])

const isNotHeard = () =>
  new Unavailable({
    code: "namespace_unavailable",
    error: "the database of the cluster does not answer; repeat the request"
  })

const hasMoved = Effect.fail(
  new Unavailable({
    code: "namespace_unavailable",
    error: "this agent is served by another node now; repeat the request, a write with the same Idempotency-Key"
  })
)

/**
 * Sizes of this node's namespaces, as their actors report them: the owner of `control.db`, which knows the quotas and
 * shows the sums, gets them with the reply to each command (`ClusterHost.ts`).
 */
export class NodeMeter extends Context.Service<
  NodeMeter,
  StorageMeterService & {
    /** Bytes of a namespace that was open on this node; undefined: it never was. */
    readonly bytesOf: (tag: NamespaceTag) => number | undefined
    /** Live memories, as `bytesOf`. */
    readonly memoriesOf: (tag: NamespaceTag) => number | undefined
  }
>()("muniment/cluster/NodeMeter") {
  static readonly make = (): NodeMeter["Service"] => {
    const bytes = new Map<NamespaceTag, number>()
    const memories = new Map<NamespaceTag, number>()
    return {
      hold: () => Effect.succeed(0),
      reserve: () => Effect.undefined,
      changing: () => Effect.void,
      settle: ({ tag }, _, taken, held) => {
        if (typeof taken === "number") bytes.set(tag, taken)
        if (held !== undefined) memories.set(tag, held.count)
      },
      forget: ({ tag }) => {
        bytes.delete(tag)
        memories.delete(tag)
      },
      bytesOf: (tag) => bytes.get(tag),
      memoriesOf: (tag) => memories.get(tag)
    }
  }
}
