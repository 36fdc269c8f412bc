/**
 * Nodes that do not reach each other, while all reach the database and callers reach all. No node is taken for lost, so
 * that calls over that link may be told "again" until it is mended: what is measured comes after that.
 */
import type { NodeProcess } from "../../../scripts/cluster/ClusterProcesses.ts"
import type { NodeLinks } from "../../support/NodeLinks.ts"
import type { Fault, Scene } from "./Fault.ts"

const linkFault = (
  name: string,
  sever: (links: NodeLinks, serving: NodeProcess, other: NodeProcess, scene: Scene) => void
): Fault => ({
  name,
  strike: async (scene) => {
    const { away, means, other, serving } = scene
    const isOver = away()
    sever(means.links, serving, other, scene)
    await isOver
    means.links.mend()
    return { heal: () => Promise.resolve(), sinceMillis: performance.now() }
  }
})

export const linkFaults: ReadonlyArray<Fault> = [
  linkFault("two nodes cut", (links, serving, other) => {
    links.cut(serving, other)
    links.cut(other, serving)
  }),
  linkFault("calls of the serving node cut", (links, serving, other) => links.cut(serving, other)),
  linkFault("calls to the serving node cut", (links, serving, other) => links.cut(other, serving)),
  linkFault("two nodes held", (links, serving, other) => {
    links.hold(serving, other)
    links.hold(other, serving)
  }),
  linkFault("the serving node cut from all", (links, serving, _, { nodes }) => {
    for (const node of nodes.filter((one) => one !== serving)) {
      links.cut(serving, node)
      links.cut(node, serving)
    }
  })
]
