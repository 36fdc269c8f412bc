/** Proxies between each node of a cluster and each other one, by direction: who opens the connection. */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { CutProxy } from "./CutProxy.ts"
import { repository } from "./TestServer.ts"

const preload = pathToFileURL(join(repository, "test/support/nodeLinks.mjs")).href

export class NodeLinks {
  readonly #proxies = new Map<string, ReadonlyArray<CutProxy>>()

  /** For nodes that have their ports and have not started. */
  static async between(nodes: ReadonlyArray<NodeProcess>): Promise<NodeLinks> {
    const links = new NodeLinks()
    for (const from of nodes) {
      const ports: Record<number, number> = {}
      for (const to of nodes) {
        if (to === from) continue
        const { nodePort } = to.ports
        // Messages, and callers' connections on the port after it.
        const pair = [await CutProxy.start(nodePort), await CutProxy.start(nodePort + 1)] as const
        links.#proxies.set(nameOf(from, to), pair)
        ports[nodePort] = pair[0].port
        ports[nodePort + 1] = pair[1].port
      }
      from.environment = {
        ...from.environment,
        NODE_OPTIONS: `--import=${preload}`,
        MUNIMENT_TEST_LINKS: JSON.stringify(ports)
      }
    }
    return links
  }

  /** What `from` opens ends, and is refused until `mend`. */
  cut(from: NodeProcess, to: NodeProcess): void {
    for (const proxy of this.#of(from, to)) proxy.cut()
  }

  /** Nothing passes what `from` opens, and nothing ends. */
  hold(from: NodeProcess, to: NodeProcess): void {
    for (const proxy of this.#of(from, to)) proxy.hold()
  }

  mend(): void {
    for (const pair of this.#proxies.values()) for (const proxy of pair) proxy.mend()
  }

  stop(): void {
    for (const pair of this.#proxies.values()) for (const proxy of pair) proxy.stop()
  }

  #of(from: NodeProcess, to: NodeProcess): ReadonlyArray<CutProxy> {
    return this.#proxies.get(nameOf(from, to))!
  }
}

const nameOf = (from: NodeProcess, to: NodeProcess): string => `${from.name} ${to.name}`
