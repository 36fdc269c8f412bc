/**
 * Sizes of this node's namespaces, as their actors report them: the owner of `control.db`, which knows the quotas and
 * shows the sums, gets them with the reply to each command (`ClusterHost.ts`).
 */
import { Context, Effect } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { StorageMeterService } from "@muniment/engine/namespace/StorageMeter"

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
