/**
 * How long callers wait when a node is stopped as planned (SIGTERM) and they repeat under their key: three nodes over a
 * real PostgreSQL, with writes to many agents all the while, each of which goes to the next node that takes it. Of each
 * stop: the longest wait of any write, from its first attempt to its answer. The owner of `control.db` is stopped in
 * turn with another node, and each is started again before the next stop.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ClusterProcesses, type NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { quantile } from "../kit/Measure.ts"
import { attemptWrite, environment } from "./BenchWrites.ts"
import { readOptions } from "./Options.ts"

const { callers, logs, stops } = readOptions({
  usage: `node bench/cluster/plannedStops.ts [options]

Stops nodes of a cluster of three under writes, every second one the owner of control.db, and says how long callers wait.

  --stops N    stops, 1 to 10000 (20)
  --callers N  callers at once, 1 to 256 (8)
  --logs       what the longest write was told, and what all nodes log
  --help       this text`,
  numbers: { stops: { default: 20, min: 1, max: 10_000 }, callers: { default: 8, min: 1, max: 256 } },
  switches: ["logs"]
})

const againMillis = 50
/** Between two writes of a caller. */
const thinkMillis = 50
/** Before each stop, and after the last answer that it could have delayed. */
const settleMillis = 3_000

const pause = (millis: number) => new Promise((resume) => setTimeout(resume, millis))

interface Write {
  readonly begunMillis: number
  readonly endedMillis: number
  readonly refusals: ReadonlyArray<string>
}

const written: Array<Write> = []
const over = new AbortController()
let number = 0

/** Why it was refused; undefined: it was not. */
const refusalOf = async (node: NodeProcess, write: number): Promise<string | undefined> => {
  try {
    const response = await attemptWrite(node, write)
    const body = (await response.json()) as { readonly code?: string; readonly error?: string }
    return response.status === 200 ? undefined : `${response.status} ${body.code}: ${body.error?.slice(0, 60)}`
  } catch (cause) {
    return `${cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : cause}`
  }
}

const call = async (nodes: ReadonlyArray<NodeProcess>): Promise<void> => {
  while (!over.signal.aborted) {
    const write = number++
    const begunMillis = performance.now()
    const refusals: Array<string> = []
    for (let turn = write; ; turn++) {
      const refusal = await refusalOf(nodes[turn % nodes.length]!, write)
      if (refusal === undefined) break
      refusals.push(`${Math.round(performance.now() - begunMillis)} ms, node ${(turn % nodes.length) + 1}: ${refusal}`)
      await pause(againMillis)
    }
    written.push({ begunMillis, endedMillis: performance.now(), refusals })
    await pause(thinkMillis)
  }
}

const ownerOf = (nodes: ReadonlyArray<NodeProcess>): NodeProcess | undefined =>
  nodes.findLast(
    (node) => /this node serves the cluster/.test(node.output()) && !/another node may serve/.test(node.output())
  )

const directory = mkdtempSync(join(tmpdir(), "muniment-planned-stops-"))
// PostgreSQL does not run as root.
chmodSync(directory, 0o755)
const waits = { owner: [] as Array<number>, other: [] as Array<number> }
const exits: Array<number> = []
let cluster: ClusterProcesses | undefined
try {
  cluster = await ClusterProcesses.start({ directory: join(directory, "cluster"), nodes: 3, environment })
  const { nodes } = cluster
  const calling = Promise.all(Array.from({ length: callers }, () => call(nodes)))
  for (let stop = 0; stop < stops; stop++) {
    await pause(settleMillis)
    const isOwner = stop % 2 === 0
    const owner = ownerOf(nodes)
    const node = isOwner && owner !== undefined ? owner : nodes.filter((each) => each !== owner)[stop % 2]!
    const begunMillis = performance.now()
    const stoppedAt = new Date().toISOString()
    await node.stop()
    const exitMillis = performance.now() - begunMillis
    await pause(settleMillis)
    const touched = written.filter(({ endedMillis }) => endedMillis > begunMillis)
    const worst = touched.reduce((most, write) =>
      write.endedMillis - write.begunMillis > most.endedMillis - most.begunMillis ? write : most
    )
    const waitMillis = worst.endedMillis - worst.begunMillis
    waits[node === owner ? "owner" : "other"].push(waitMillis)
    exits.push(exitMillis)
    process.stdout.write(
      `${node.name}${node === owner ? " (owner)" : ""}: longest wait ${Math.round(waitMillis)} ms, ended after ${Math.round(exitMillis)} ms\n`
    )
    if (logs) {
      process.stdout.write(`stopped at ${stoppedAt}\n${worst.refusals.join("\n")}\n`)
      for (const each of nodes) process.stdout.write(`--- ${each.name}\n${each.output().slice(-3_000)}\n`)
    }
    await node.startAgain()
  }
  over.abort()
  await calling
  const row = (name: string, millis: ReadonlyArray<number>) =>
    `| ${name} | ${millis.length} | ${[0.5, 0.99].map((share) => Math.round(quantile(millis, share))).join(" | ")} |\n`
  process.stdout.write(
    `| what | stops | p50 ms | p99 ms |\n|---|---|---|---|\n${row("longest wait, owner of `control.db`", waits.owner)}${row("longest wait, another node", waits.other)}${row("end of the process", exits)}`
  )
} finally {
  over.abort()
  await cluster?.stop()
  rmSync(directory, { recursive: true, force: true })
}
