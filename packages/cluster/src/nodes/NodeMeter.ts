/**
 * What the namespaces of this node take, as their actors say it: the owner of `control.db`, who knows the quotas, hears
 * it with the reply to each command (`ClusterHost.ts`).
 */
import { Context, Effect } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { StorageMeterService } from "@muniment/engine/namespace/StorageMeter"

export class NodeMeter extends Context.Service<
  NodeMeter,
  StorageMeterService & {
    /** Bytes of a namespace that was open on this node; undefined: it never was. */
    readonly bytesOf: (tag: NamespaceTag) => number | undefined
  }
>()("muniment/cluster/NodeMeter") {
  static readonly make = (): NodeMeter["Service"] => {
    const bytes = new Map<NamespaceTag, number>()
    return {
      hold: () => Effect.succeed(0),
      reserve: () => Effect.undefined,
      changing: () => Effect.void,
      settle: ({ tag }, _, now) => void (typeof now === "number" ? bytes.set(tag, now) : undefined),
      forget: ({ tag }) => void bytes.delete(tag),
      bytesOf: (tag) => bytes.get(tag)
    }
  }
}
