/**
 * `npm run cluster`: several nodes of one service on this machine, over a real PostgreSQL. To try it; on several machines
 * each node is started with its own settings.
 */
import { existsSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { firstKeyName } from "@muniment/cli/commands/serve"
import { ClusterProcesses, type NodeProcess } from "./cluster/ClusterProcesses.ts"
import { postgresPlace } from "./cluster/postgresPlace.ts"

const usage = `Usage: npm run cluster -- [OPTIONS]

Starts PostgreSQL and nodes of one Muniment on free ports of this machine, until Ctrl-C.

  --nodes N        0 to 16; default 3; 0: PostgreSQL alone, to move data into it or out of it
  --directory DIR  where everything lies; the next start finds it again; default data/cluster
  --json           one line of JSON for each node: {"url", "pid", "name"}, then {"environment": FILE}
  --help

DIR/environment has what the nodes share, for "muniment cluster" and "muniment migrate" in a shell that reads it.
As root the path to DIR has to be open to others: PostgreSQL then runs as the user nobody. Of the default folder in a
clone that is closed to others, PostgreSQL's part lies in /var/tmp.`

const defaultDirectory = "data/cluster"
const nodesMax = 16
const reportMillis = 30_000

interface Options {
  readonly nodes: number
  readonly directory: string
  readonly postgresDirectory: string
  readonly isJson: boolean
}

const main = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) return void process.stdout.write(`${usage}\n`)
  const stopped = new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve())
    process.once("SIGTERM", () => resolve())
  })
  const tell = (node: NodeProcess) =>
    process.stdout.write(
      options.isJson
        ? `${JSON.stringify({ url: node.url, pid: node.pid, name: node.name })}\n`
        : `${node.name}  ${node.url}  process ${node.pid}\n`
    )
  const cluster = await ClusterProcesses.start(options, tell)
  try {
    await untilReported(cluster)
    const file = join(options.directory, "environment")
    writeFileSync(file, exportsOf(cluster.shared()), { mode: 0o600 })
    process.stdout.write(
      options.isJson ? `${JSON.stringify({ environment: file })}\n` : `\n${adviceOf(cluster, file).join("\n")}\n`
    )
    await stopped
  } finally {
    await cluster.stop()
  }
}

/** Undefined if help is asked for. Throws on invalid `args`. */
const readOptions = (args: ReadonlyArray<string>): Options | undefined => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "3" },
      directory: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return undefined
  const nodes = Number(values.nodes)
  if (!/^\d+$/.test(values.nodes) || nodes > nodesMax)
    throw new Error(`--nodes is 0 to ${nodesMax}, not "${values.nodes}"`)
  // As of a variable that is not set: here everything would lie in the folder that the command is run in.
  if (values.directory?.trim() === "") throw new Error("--directory is empty")
  const directory = resolve(values.directory ?? defaultDirectory)
  const postgresDirectory = postgresPlace(directory, values.directory !== undefined)
  return { nodes, directory, postgresDirectory, isJson: values.json }
}

/** A node answers a moment before it has printed that it is ready, and kept the key. */
const untilReported = async ({ nodes }: ClusterProcesses): Promise<void> => {
  for (const until = Date.now() + reportMillis; Date.now() < until;) {
    if (nodes.every((node) => /Muniment is ready[^]*\n.*─╯/u.test(node.output()))) return
    await new Promise((resume) => setTimeout(resume, 50))
  }
}

/** The operator's first key is in a file of the node that served first. */
const adviceOf = ({ nodes }: ClusterProcesses, environment: string): ReadonlyArray<string> => {
  const key = nodes.map(({ directory }) => join(directory, firstKeyName)).find((path) => existsSync(path))
  const [node] = nodes
  return [
    ...(nodes.length === 0 ? [] : ["Any node takes any request. Stop or kill one, and the others go on."]),
    `For "muniment cluster status" and "muniment migrate": . ${relative("", environment)}`,
    ...(key === undefined ? [] : [`The operator's first key: ${relative("", key)}`]),
    ...(key === undefined && node !== undefined
      ? [`A key: MUNIMENT_DATA_DIR=${relative("", node.directory)} npm run muniment -- keys create --account operator`]
      : []),
    "Ctrl-C stops all."
  ]
}

const exportsOf = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join("")

try {
  await main()
  process.exit(0)
} catch (cause) {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\nSee npm run cluster -- --help\n`)
  process.exit(1)
}
