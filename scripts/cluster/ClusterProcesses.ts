/**
 * A cluster on this machine: PostgreSQL, a folder of bases, and nodes as processes on loopback ports. All of it lies in
 * one directory and is found again by the next start.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { Redacted } from "effect"
import { endWithThisProcess } from "./children.ts"
import { freePort, isFree } from "./ports.ts"
import { compiledOnce, serviceEntry } from "../service.ts"
import { PostgresServer } from "./PostgresServer.ts"

const repository = resolve(import.meta.dirname, "../..")
const builtEntry = await serviceEntry()
const readyMillis = 150_000
const lookEachMillis = 100

export interface ClusterOptions {
  readonly directory: string
  readonly nodes: number
  /** Of every node, beside what makes it one. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** A port that nobody has; default: one of the system's. */
  readonly freePort?: () => Promise<number>
  /** Where that lies; default: inside. */
  readonly postgresDirectory?: string
  /** For each node where it finds a database that is there; default: a PostgreSQL of the cluster's own. */
  readonly databaseOf?: (node: string) => Redacted.Redacted
  /** Before the first start of `nodes`, which have their ports. */
  readonly prepare?: (nodes: ReadonlyArray<NodeProcess>) => Promise<void>
}

export class ClusterProcesses {
  readonly nodes: Array<NodeProcess> = []
  readonly #options: ClusterOptions
  readonly #postgres: PostgresServer | undefined
  readonly #secret: string
  /** Given to nodes. */
  readonly #ports = new Set<number>()

  private constructor(options: ClusterOptions, postgres: PostgresServer | undefined, secret: string) {
    this.#options = options
    this.#postgres = postgres
    this.#secret = secret
  }

  /** The cluster's own. */
  get postgres(): PostgresServer {
    if (this.#postgres === undefined) throw new Error("the database is not the cluster's own")
    return this.#postgres
  }

  /** Resolves when every node takes requests. `onNode` as each does. */
  static async start(options: ClusterOptions, onNode: (node: NodeProcess) => void = () => undefined) {
    const { directory, postgresDirectory = join(directory, "postgres") } = options
    const made = makeOpen(directory)
    const postgres =
      options.databaseOf === undefined
        ? await PostgresServer.start({ kept: postgresDirectory }).catch((cause: unknown) => {
            if (made !== undefined) rmSync(made, { recursive: true, force: true })
            throw cause
          })
        : undefined
    mkdirSync(join(directory, "bases"), { recursive: true, mode: 0o700 })
    const cluster = new ClusterProcesses(options, postgres, secretOf(directory))
    try {
      const made = Array.from({ length: options.nodes }, () => cluster.#makeNode())
      for (const node of made) node.ports = await cluster.#freePorts()
      await options.prepare?.(made)
      await Promise.all(made.map(async (node) => onNode(await node.startAgain())))
    } catch (cause) {
      await cluster.stop()
      throw cause
    }
    return cluster
  }

  /** One more node. */
  async startNode(): Promise<NodeProcess> {
    const node = this.#makeNode()
    node.ports = await this.#freePorts()
    return node.startAgain()
  }

  /** What makes a process a node of this cluster, and what commands have to know of it. */
  shared(databaseUrl: Redacted.Redacted = this.postgres.url()) {
    return {
      MUNIMENT_DATABASE_URL: Redacted.value(databaseUrl),
      MUNIMENT_BASES: resolve(this.#options.directory, "bases"),
      MUNIMENT_CLUSTER_SECRET: this.#secret
    }
  }

  #makeNode(): NodeProcess {
    const name = `node-${this.nodes.length + 1}`
    const environment = { ...this.shared(this.#options.databaseOf?.(name)), ...this.#options.environment }
    const node = new NodeProcess(name, resolve(this.#options.directory, name), environment)
    this.nodes.push(node)
    return node
  }

  /** One for callers, and one for nodes whose next one is free too. */
  async #freePorts(): Promise<NodePorts> {
    const free = async (): Promise<number> => {
      for (;;) {
        const port = await (this.#options.freePort ?? freePort)()
        if (!this.#ports.has(port) && !this.#ports.has(port + 1) && (await isFree(port + 1))) {
          this.#ports.add(port).add(port + 1)
          return port
        }
      }
    }
    return { port: await free(), nodePort: await free() }
  }

  /** The exit codes of its nodes. */
  async stop(): Promise<ReadonlyArray<number | null>> {
    const codes = await Promise.all(this.nodes.map((node) => node.stop()))
    await this.#postgres?.stop()
    return codes
  }
}

interface NodePorts {
  readonly port: number
  readonly nodePort: number
}

export class NodeProcess {
  ports: NodePorts = { port: 0, nodePort: 0 }
  readonly name: string
  url = ""
  /** From here on to `wrapper`: of its next start. */
  directory: string
  environment: Readonly<Record<string, string | undefined>>
  /** The file of the command line: of which build it is. */
  entry = builtEntry
  /** Words before the command. */
  wrapper: ReadonlyArray<string> = []
  #process: ChildProcess | undefined
  #output = ""

  constructor(name: string, directory: string, environment: Readonly<Record<string, string | undefined>>) {
    this.name = name
    this.directory = directory
    this.environment = environment
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** What it printed since its last start. */
  output(): string {
    return this.#output
  }

  /** At its ports; resolves when it takes requests. */
  async startAgain(): Promise<this> {
    const { nodePort, port } = this.ports
    this.url = `http://127.0.0.1:${port}`
    this.#output = ""
    const [command = process.execPath, ...words] = [...this.wrapper, process.execPath]
    const child = spawn(command, [...words, this.entry, "serve"], {
      cwd: repository,
      env: {
        ...process.env,
        ...compiledOnce(this.entry),
        MUNIMENT_MODELS_DIR: process.env["MUNIMENT_MODELS_DIR"] ?? join(repository, "models"),
        ...this.environment,
        MUNIMENT_HOST: "127.0.0.1",
        MUNIMENT_PORT: String(port),
        MUNIMENT_DATA_DIR: this.directory,
        MUNIMENT_NODE_HOST: "127.0.0.1",
        MUNIMENT_NODE_PORT: String(nodePort)
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    endWithThisProcess(child)
    this.#process = child
    const collect = (chunk: Buffer) => {
      this.#output += chunk.toString()
    }
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    for (const until = Date.now() + readyMillis; !(await this.isReady()); await pause()) {
      if (child.exitCode !== null) throw new Error(`${this.name} ended with ${child.exitCode}:\n${this.#output}`)
      if (Date.now() > until) throw new Error(`${this.name} does not get ready:\n${this.#output}`)
    }
    return this
  }

  isReady(): Promise<boolean> {
    return fetch(`${this.url}/health/ready`).then(
      ({ ok }) => ok,
      () => false
    )
  }

  /** A signal, without waiting for what it does. */
  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name)
  }

  /** SIGTERM, and the exit code; null if it was not running. */
  stop(): Promise<number | null> {
    return this.#end("SIGTERM")
  }

  kill(): Promise<number | null> {
    return this.#end("SIGKILL")
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const ending = this.#process
    this.#process = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return null
    // With the last of what it printed.
    const closed = once(ending, "close")
    ending.kill(signal)
    await closed
    return ending.exitCode
  }
}

/** Makes it, to be passed through by the user of PostgreSQL whatever the umask is; the first folder that was not there. */
const makeOpen = (directory: string): string | undefined => {
  const made = mkdirSync(directory, { recursive: true })
  if (made !== undefined)
    for (let path = directory; ; path = dirname(path)) {
      chmodSync(path, 0o711)
      if (path === made || dirname(path) === path) break
    }
  return made
}

/** Made at the first start; all nodes have it. */
const secretOf = (directory: string): string => {
  const file = join(directory, "cluster.key")
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("hex"), { mode: 0o600 })
  return readFileSync(file, "utf8").trim()
}

const pause = () => new Promise((resume) => setTimeout(resume, lookEachMillis))
