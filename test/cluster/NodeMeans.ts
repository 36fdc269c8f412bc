/** What can be done to a node beside signals: its links to others cut, its clock moved, its disk filled. */
import { closeSync, openSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import type { NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { clockMaker, type MovedClock } from "../support/MovedClock.ts"
import { NodeLinks } from "../support/NodeLinks.ts"
import { makeSmallDisk, type SmallDisk } from "../support/SmallDisk.ts"

/** Room for the ballast and the files of a run, many times over. */
const diskMebibytes = 192
const fillerBytes = 65_536

export class NodeMeans {
  readonly links: NodeLinks
  readonly #clocks = new Map<string, MovedClock>()
  readonly #disks = new Map<string, SmallDisk>()

  private constructor(links: NodeLinks) {
    this.links = links
  }

  /** For nodes that have their ports and have not started; files of its own lie in `directory`. */
  static async prepare(nodes: ReadonlyArray<NodeProcess>, directory: string): Promise<NodeMeans> {
    const means = new NodeMeans(await NodeLinks.between(nodes))
    const makeClock = clockMaker(directory)
    for (const node of nodes) {
      const clock = makeClock(node.name)
      const disk = await makeSmallDisk(diskMebibytes)
      means.#clocks.set(node.name, clock)
      means.#disks.set(node.name, disk)
      node.environment = { ...node.environment, ...clock.environment }
      node.directory = disk.inside
      node.wrapper = disk.wrapper
    }
    return means
  }

  moveClock(node: NodeProcess, millis: number): void {
    this.#clocks.get(node.name)!.move(millis)
  }

  /** To the last byte, by a file that has nothing to do with the service. */
  fillDisk(node: NodeProcess): void {
    const file = openSync(this.#filler(node), "a")
    try {
      for (let bytes = fillerBytes; bytes > 0;)
        try {
          writeSync(file, Buffer.alloc(bytes))
        } catch (cause) {
          if ((cause as NodeJS.ErrnoException).code !== "ENOSPC") throw cause
          bytes = Math.floor(bytes / 2)
        }
    } finally {
      closeSync(file)
    }
  }

  freeDisk(node: NodeProcess): void {
    rmSync(this.#filler(node), { force: true })
  }

  async stop(): Promise<void> {
    this.links.stop()
    await Promise.all([...this.#disks.values()].map((disk) => disk.remove()))
  }

  #filler(node: NodeProcess): string {
    return join(this.#disks.get(node.name)!.outside, "taken by others")
  }
}
