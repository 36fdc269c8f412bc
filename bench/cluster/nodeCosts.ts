/**
 * Processor time of a node of a cluster: at rest, and for a write beside one machine without a cluster. Three nodes
 * over a real PostgreSQL, then one machine, each with the same writes from the same callers; what is counted is the
 * processes' own time, which another load on the machine lengthens by its cache misses only. Linux.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { exitOnSignals } from "../../scripts/cluster/children.ts"
import { ClusterProcesses, NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { freePort } from "../../scripts/cluster/ports.ts"
import { attemptWrite, environment } from "./BenchWrites.ts"
import { readOptions } from "./Options.ts"

const options = readOptions({
  usage: `node bench/cluster/nodeCosts.ts [options]

Processor time of three nodes over a real PostgreSQL, and of one machine, at rest and for a write. Linux.

  --settle-seconds N  between the writes that warm up and the rest, 1 to 3600 (60)
  --idle-seconds N    length of the rest that is measured, 1 to 3600 (20)
  --writes N          writes that are measured, after as many to warm up, 1 to 1000000 (600)
  --callers N         callers at once, 1 to 256 (8)
  --help              this text`,
  numbers: {
    "settle-seconds": { default: 60, min: 1, max: 3_600 },
    "idle-seconds": { default: 20, min: 1, max: 3_600 },
    writes: { default: 600, min: 1, max: 1_000_000 },
    callers: { default: 8, min: 1, max: 256 }
  },
  switches: []
})
const idleMillis = options["idle-seconds"] * 1_000
const { callers, writes } = options

/** Until shards are divided, modules are compiled, and files and bases have what was written. */
const settleMillis = options["settle-seconds"] * 1_000
/** Of a write that is answered 503, and the pause before the next. */
const attemptsMax = 60
const againMillis = 500
const goals = { idleShare: 0.01, writeRatio: 1.5 }

/** Milliseconds of processor time that the process has had. */
const cpuMillis = ({ pid }: NodeProcess): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
  // A tick is 10 ms on every Linux that Node runs on.
  return (Number(user) + Number(system)) * 10
}

const during = async (nodes: ReadonlyArray<NodeProcess>, work: () => Promise<unknown>): Promise<Array<number>> => {
  const before = nodes.map(cpuMillis)
  await work()
  return nodes.map((node, at) => cpuMillis(node) - before[at]!)
}

let written = 0

const write = async (node: NodeProcess): Promise<void> => {
  const number = written++
  for (let attempt = 1; ; attempt++) {
    const response = await attemptWrite(node, number)
    const text = await response.text()
    if (response.status === 200) return
    // As a caller does while an owner changes, which a machine without processor time to spare makes happen.
    if (response.status !== 503 || attempt === attemptsMax)
      throw new Error(`a write was refused: ${response.status} ${text}`)
    await pause(againMillis)
  }
}

/** Closed loop; each write goes to the next node. */
const load = async (nodes: ReadonlyArray<NodeProcess>, count: number): Promise<void> => {
  let left = count
  const call = async (): Promise<void> => {
    while (left-- > 0) await write(nodes[left % nodes.length]!)
  }
  await Promise.all(Array.from({ length: callers }, call))
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)

const measure = async (nodes: ReadonlyArray<NodeProcess>) => {
  await load(nodes, writes)
  await pause(settleMillis)
  const idle = await during(nodes, () => pause(idleMillis))
  const begun = performance.now()
  const busy = await during(nodes, () => load(nodes, writes))
  const seconds = (performance.now() - begun) / 1_000
  return { idleShares: idle.map((millis) => millis / idleMillis), writeMillis: sum(busy) / writes, seconds }
}

exitOnSignals()
const directory = mkdtempSync(join(tmpdir(), "muniment-node-costs-"))
// PostgreSQL does not run as root.
chmodSync(directory, 0o755)
try {
  const cluster = await ClusterProcesses.start({ directory: join(directory, "cluster"), nodes: 3, environment })
  const three = await measure(cluster.nodes).finally(() => cluster.stop())
  const box = new NodeProcess("one machine", join(directory, "box"), environment)
  box.ports = { port: await freePort(), nodePort: await freePort() }
  await box.startAgain()
  const one = await measure([box]).finally(() => box.stop())
  const percent = (share: number): string => `${(share * 100).toFixed(2)} %`
  const ratio = three.writeMillis / one.writeMillis
  process.stdout.write(
    [
      "| what | three nodes | one machine | goal |",
      "|---|---|---|---|",
      `| a core at rest, each | ${three.idleShares.map(percent).join(", ")} | ${one.idleShares.map(percent).join("")} | ${percent(goals.idleShare)} |`,
      `| CPU of a write, ms, of all nodes | ${three.writeMillis.toFixed(2)} | ${one.writeMillis.toFixed(2)} | ratio ${goals.writeRatio}; is ${ratio.toFixed(2)} |`,
      `| writes a second | ${(writes / three.seconds).toFixed(0)} | ${(writes / one.seconds).toFixed(0)} | |`,
      ""
    ].join("\n")
  )
} finally {
  rmSync(directory, { recursive: true, force: true })
}
