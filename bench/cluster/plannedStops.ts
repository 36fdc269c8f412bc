/**
 * Waits of callers when a node is stopped as planned (SIGTERM) and they repeat under their key: three nodes over a real
 * PostgreSQL, with writes to many agents all the while, each of which goes to the next node that takes it. Of each
 * stop: the longest wait of any write, from its first attempt to its answer, when that write began, and what the node
 * says of the parts of its end; and how many attempts were refused, by what they were told. The owner of `control.db`
 * is stopped in turn with another node, and each is started again before the next stop: the longest wait meanwhile is a
 * row of its own. Its processes end with it.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { exitOnSignals } from "../../scripts/cluster/children.ts"
import { ClusterProcesses, type NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { quantile } from "../kit/Measure.ts"
import { attemptWrite, environment } from "./BenchWrites.ts"
import { readOptions } from "./Options.ts"

const options = readOptions({
  usage: `node bench/cluster/plannedStops.ts [options]

Stops nodes of a cluster of three under writes, every second one the owner of control.db, and says how long callers wait.

  --stops N         stops, 1 to 10000 (20)
  --callers N       callers at once, 1 to 256 (8)
  --rest-seconds N  between a start and the next stop, 1 to 600 (15)
  --logs            what the longest write was told, and what all nodes log
  --help            this text`,
  numbers: {
    stops: { default: 20, min: 1, max: 10_000 },
    callers: { default: 8, min: 1, max: 256 },
    "rest-seconds": { default: 15, min: 1, max: 600 }
  },
  switches: ["logs"]
})
const { callers, logs, stops } = options
const restMillis = options["rest-seconds"] * 1_000

const againMillis = 50
/** Between two writes of a caller. */
const thinkMillis = 50
/** After a stop, for the answers that it delays. */
const settleMillis = 3_000

interface Write {
  readonly begunMillis: number
  readonly endedMillis: number
  readonly refusals: ReadonlyArray<string>
  /** The node that answered, and when it was asked. */
  readonly last: { readonly node: string; readonly askedMillis: number }
}

const written: Array<Write> = []
/** Of the attempts since the last stop: how many were told what. */
const refused = new Map<string, number>()
/** When each write began that has no answer yet. */
const underWay = new Set<{ readonly begunMillis: number }>()
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
    const begun = { begunMillis }
    underWay.add(begun)
    const refusals: Array<string> = []
    for (let turn = write; ; turn++) {
      const node = nodes[turn % nodes.length]!
      const askedMillis = performance.now()
      const refusal = await refusalOf(node, write)
      if (refusal === undefined) {
        written.push({ begunMillis, endedMillis: performance.now(), refusals, last: { node: node.name, askedMillis } })
        break
      }
      refused.set(refusal, (refused.get(refusal) ?? 0) + 1)
      refusals.push(`${Math.round(performance.now() - begunMillis)} ms, ${node.name}: ${refusal}`)
      await pause(againMillis)
    }
    underWay.delete(begun)
    await pause(thinkMillis)
  }
}

/** The write that waited longest of those that ended since then, once those that began by now have ended. */
const worstSince = async (sinceMillis: number): Promise<Write> => {
  const nowMillis = performance.now()
  while ([...underWay].some(({ begunMillis }) => begunMillis < nowMillis)) await pause(againMillis)
  return written
    .filter(({ endedMillis }) => endedMillis > sinceMillis)
    .reduce((most, write) => (waitOf(write) > waitOf(most) ? write : most))
}

const waitOf = ({ begunMillis, endedMillis }: Write): number => endedMillis - begunMillis

/** Of what a node printed: the parts of its end, each in a line that says which end. */
const partsOf = (node: NodeProcess): ReadonlyArray<string> =>
  node
    .output()
    .split("\n")
    .filter((line) => /this node has left/.test(line))

const ownerOf = (nodes: ReadonlyArray<NodeProcess>): NodeProcess | undefined =>
  nodes.findLast(
    (node) => /this node serves the cluster/.test(node.output()) && !/another node may serve/.test(node.output())
  )

exitOnSignals()
const directory = mkdtempSync(join(tmpdir(), "muniment-planned-stops-"))
// PostgreSQL does not run as root.
chmodSync(directory, 0o755)
const waits: Record<"owner" | "other" | "joining", Array<number>> = { owner: [], other: [], joining: [] }
const exits: Array<number> = []
let cluster: ClusterProcesses | undefined
try {
  cluster = await ClusterProcesses.start({ directory: join(directory, "cluster"), nodes: 3, environment })
  const { nodes } = cluster
  const calling = Promise.all(Array.from({ length: callers }, () => call(nodes)))
  for (let stop = 0; stop < stops; stop++) {
    await pause(restMillis)
    refused.clear()
    const isOwner = stop % 2 === 0
    const owner = ownerOf(nodes)
    const node = isOwner && owner !== undefined ? owner : nodes.filter((each) => each !== owner)[stop % 2]!
    const begunMillis = performance.now()
    const stoppedAt = new Date().toISOString()
    await node.stop()
    const exitMillis = performance.now() - begunMillis
    await pause(settleMillis)
    const worst = await worstSince(begunMillis)
    waits[node === owner ? "owner" : "other"].push(waitOf(worst))
    exits.push(exitMillis)
    const { askedMillis, node: lastNode } = worst.last
    const sinceStop = (atMillis: number) => `${Math.round(atMillis - begunMillis)} ms`
    process.stdout.write(
      `${node.name}${node === owner ? " (owner)" : ""}: longest wait ${Math.round(waitOf(worst))} ms, of a write that began ${sinceStop(worst.begunMillis)} after the stop, was refused ${worst.refusals.length} times and asked ${lastNode} at ${sinceStop(askedMillis)}; ended after ${Math.round(exitMillis)} ms\n`
    )
    for (const parts of partsOf(node)) process.stdout.write(`  ${parts}\n`)
    for (const [told, times] of refused) process.stdout.write(`  refused ${times} times: ${told}\n`)
    if (logs) {
      process.stdout.write(`stopped at ${stoppedAt}\n${worst.refusals.join("\n")}\n`)
      for (const each of nodes) process.stdout.write(`--- ${each.name}\n${each.output().slice(-3_000)}\n`)
    }
    const againAtMillis = performance.now()
    await node.startAgain()
    await pause(settleMillis)
    waits.joining.push(waitOf(await worstSince(againAtMillis)))
  }
  over.abort()
  await calling
  const row = (name: string, millis: ReadonlyArray<number>) =>
    `| ${name} | ${millis.length} | ${[0.5, 0.99].map((share) => Math.round(quantile(millis, share))).join(" | ")} |\n`
  process.stdout.write(
    `| what | stops | p50 ms | p99 ms |\n|---|---|---|---|\n${row("longest wait, owner of `control.db`", waits.owner)}${row("longest wait, another node", waits.other)}${row("longest wait while it starts again", waits.joining)}${row("end of the process", exits)}`
  )
} finally {
  over.abort()
  await cluster?.stop()
  rmSync(directory, { recursive: true, force: true })
}
