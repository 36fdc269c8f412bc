/** The namespaces that this node serves itself. `NamespaceHost` is those of the whole cluster. */
import { Context, Layer } from "effect"
import { NamespaceHost, type HostOptions } from "@muniment/engine/host/NamespaceHost"

export class LocalHost extends Context.Service<LocalHost, NamespaceHost["Service"]>()("muniment/cluster/LocalHost") {
  static readonly layer = (options: HostOptions) =>
    Layer.effect(LocalHost, NamespaceHost).pipe(Layer.provide(NamespaceHost.layer(options)))
}
