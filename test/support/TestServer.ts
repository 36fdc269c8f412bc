/**
 * A real server for tests: the command line's `serve` in a process of its own, on a free loopback
 * port, with a data directory of its own. Nothing in it is faked; it can be told to stop or killed.
 */
import { randomInt, randomUUID } from "node:crypto"
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { isFree } from "../../scripts/cluster/ports.ts"
import { compiledOnce, serviceEntry } from "../../scripts/service.ts"
import { type OneBoxTest, testNodes } from "./OneBox.ts"
import type { ServedProcess } from "./ServedProcess.ts"

export const repository = resolve(import.meta.dirname, "../..")
export const operatorKey = "mun_operator_key_for_tests_0123456789abcdef"

/** How long a test waits for a condition before it fails: far longer than any takes on a busy machine. */
export const patienceMillis = 150_000

/** The file of the command line that every process of ours runs. */
export const entry = await serviceEntry()

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // Tests look into bodies of every shape; what they find there is asserted.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** Status and code, to compare both at once. */
export const refusalOf = ({
  body,
  status
}: {
  readonly status: number | undefined
  readonly body: { readonly code?: unknown }
}): readonly [status: unknown, code: unknown] => [status, body.code]

export interface CallOptions {
  readonly body?: unknown
  /** Sent as it is, whatever it says. */
  readonly rawBody?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Null: no credentials. */
  readonly key?: string | null
}

/** What a test needs of a server that it only talks to; shared or its own. */
export interface ServerCalls {
  /** Of a cluster: of a balancer before its nodes. */
  readonly url: string
  readonly operatorToken: string
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  readonly asOperator: (method: string, path: string, body?: unknown) => Promise<Answer>
  /** A new account with one key; the secret. */
  readonly newAccount: (name: string, plan?: string) => Promise<string>
  /** What the operator calls the account: on a shared server each file has accounts of its own. */
  readonly nameOf: (name: string) => string
}

export interface TestServer extends ServerCalls {
  /** URLs of the nodes of a cluster, which calls go to in turn; none: one machine. */
  readonly nodes: ReadonlyArray<string>
  readonly dataDirectory: string
  readonly process: ChildProcess
  /** One for each node. */
  readonly processes: ReadonlyArray<ServedProcess>
  /** SIGTERM, and the exit code. */
  readonly stop: () => Promise<number | null>
  readonly kill: () => Promise<void>
  /** What the process printed so far. */
  readonly output: () => string
}

export interface ServerOptions {
  /** Default: a new directory, removed by `stop`. */
  readonly dataDirectory?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Words before `node`, for instance to run it in a namespace of its own. */
  readonly wrapper?: ReadonlyArray<string>
  /** Why it is one machine where others of the run are clusters. */
  readonly oneBox?: OneBoxTest
}

export const startServer = async (options: ServerOptions = {}): Promise<TestServer> => {
  if (testNodes > 1 && options.oneBox === undefined) {
    // PostgreSQL and all that belongs to it is loaded by such a run only.
    const { startTestCluster } = await import("./TestCluster.ts")
    const cluster = await startTestCluster({
      nodes: testNodes,
      dataDirectory: options.dataDirectory,
      environment: environmentOf(options),
      freePort
    })
    await untilReady(cluster.url, () => null, cluster.output)
    return {
      ...callsOf(cluster),
      ...cluster,
      get process(): never {
        throw new Error("a cluster is several processes; a test of one process belongs in OneBox.ts")
      }
    }
  }
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), "muniment-test-"))
  const port = await freePort()
  const [command = process.execPath, ...wrapperArguments] = [...(options.wrapper ?? []), process.execPath]
  const child = spawn(command, [...wrapperArguments, entry, "serve"], {
    cwd: repository,
    env: {
      ...process.env,
      ...compiledOnce(entry),
      ...environmentOf(options),
      MUNIMENT_PORT: String(port),
      MUNIMENT_DATA_DIR: dataDirectory,
      ...options.environment
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  const collect = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout?.on("data", collect)
  child.stderr?.on("data", collect)
  const exited = once(child, "exit")
  const url = `http://127.0.0.1:${port}`
  await untilReady(
    url,
    () => child.exitCode,
    () => output
  )

  const tokenFile = join(dataDirectory, "operator-token")
  const operatorToken = existsSync(tokenFile) ? readFileSync(tokenFile, "utf8").trim() : ""
  const ended = async () => {
    await exited
    if (options.dataDirectory === undefined) rmSync(dataDirectory, { recursive: true, force: true })
  }

  return {
    ...serverCalls(url, operatorToken),
    nodes: [],
    dataDirectory,
    process: child,
    processes: [{ url, pid: child.pid }],
    stop: async () => {
      child.kill("SIGTERM")
      await ended()
      return child.exitCode
    },
    kill: async () => {
      child.kill("SIGKILL")
      await ended()
    },
    output: () => output
  }
}

const environmentOf = ({ environment }: ServerOptions): Readonly<Record<string, string | undefined>> => ({
  MUNIMENT_BOOTSTRAP_KEY: operatorKey,
  // Tests of money turn these back to what users have.
  MUNIMENT_RATE_LIMITS: "off",
  MUNIMENT_MONTHLY_ALLOWANCE: "1000000",
  // A machine without processor time to spare is not what tests are about; those of overload turn it back.
  MUNIMENT_QUEUE_WAIT_MILLIS: "60000",
  MUNIMENT_READING_WAIT_MILLIS: "60000",
  MUNIMENT_MODELS_DIR: process.env["MUNIMENT_MODELS_DIR"] ?? join(repository, "models"),
  ...environment
})

/**
 * Each call to the next node; again while a cluster cannot carry it out, as the contract tells callers: a busy machine ends
 * leases. What may have been done is repeated under one Idempotency-Key.
 */
export const callsOf = (
  { nodes, operatorToken, url }: Pick<TestServer, "nodes" | "operatorToken" | "url">,
  defaultKey = operatorKey
): ServerCalls => {
  const each = (nodes.length === 0 ? [url] : nodes).map((node) => serverCalls(node, operatorToken, defaultKey))
  let turn = 0
  const next = (): ServerCalls => each[turn++ % each.length]!
  const call: ServerCalls["call"] = async (method, path, options) => {
    if (nodes.length === 0) return next().call(method, path, options)
    const repeated = repeatable(method, path, options)
    for (const until = Date.now() + patienceMillis; ;) {
      const answer = await next().call(method, path, repeated ?? options)
      const isAgain = isWithoutOwner(answer) || (isLost(answer) && repeated !== undefined)
      if (answer.status !== 503 || !isAgain || Date.now() > until) return answer
      await new Promise((wake) => setTimeout(wake, 100))
    }
  }
  return { url, operatorToken, call, ...operatorCalls(call, operatorToken) }
}

/** Contract: Overload. Nothing was done. */
const isWithoutOwner = ({ body }: Answer): boolean =>
  body?.code === "overloaded" && body.details?.[0]?.path === "cluster"

/** Contract: Agents. Whether it was done is not known. */
const isLost = ({ body }: Answer): boolean => body?.code === "namespace_unavailable"

/** Undefined: it must not be sent twice. A header that was not signed would be refused. */
const repeatable = (method: string, path: string, options: CallOptions = {}): CallOptions | undefined => {
  if (method === "GET" || options.headers?.["idempotency-key"] !== undefined) return options
  const isSigned = options.headers?.["x-wallet-signature"] !== undefined
  if (isSigned || !path.startsWith("/v1/")) return undefined
  return { ...options, headers: { ...options.headers, "idempotency-key": `repeated-${randomUUID()}` } }
}

export const serverCalls = (url: string, operatorToken: string, defaultKey = operatorKey): ServerCalls => {
  const call = async (
    method: string,
    path: string,
    { body, rawBody, headers, key = defaultKey }: CallOptions = {}
  ): Promise<Answer> => {
    const hasBody = body !== undefined || rawBody !== undefined
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(hasBody && { "content-type": "application/json" }),
        ...headers
      },
      ...(hasBody && { body: rawBody ?? JSON.stringify(body) })
    })
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
  return { url, operatorToken, call, ...operatorCalls(call, operatorToken) }
}

const operatorCalls = (
  call: ServerCalls["call"],
  operatorToken: string
): Pick<ServerCalls, "asOperator" | "nameOf" | "newAccount"> => {
  const asOperator: ServerCalls["asOperator"] = (method, path, body) => call(method, path, { key: operatorToken, body })
  return {
    asOperator,
    nameOf: (name) => name,
    newAccount: async (name, plan = "free") => {
      const made = await asOperator("POST", "/admin/keys", { account: name, plan })
      if (made.status !== 200) throw new Error(`no account: ${JSON.stringify(made.body)}`)
      return made.body.secret
    }
  }
}

/**
 * A port that was free a moment ago. Each worker process takes its own block, below the ports that the system gives to
 * outgoing connections, in turn: between this look and the start of a server nothing else takes it.
 */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < portsPerWorker; tries++) {
    const port = firstPort + workerNumber * portsPerWorker + (portsTaken++ % portsPerWorker)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port among the ${portsPerWorker} of test worker ${workerNumber}`)
}

const firstPort = 20_000
const portsPerWorker = 1_000
const workersMax = 10
/** 0: the main process, where shared servers start. */
const workerNumber = Number(process.env["VITEST_POOL_ID"] ?? 0) % workersMax
/** Begins anywhere, so that two clones that test on one machine do not go through a block in step. */
let portsTaken = randomInt(portsPerWorker)

/** With its model, if it has one. */
const untilReady = async (url: string, exitCode: () => number | null, output: () => string): Promise<void> => {
  const deadline = Date.now() + patienceMillis
  for (let turn = 0; ; turn++) {
    await new Promise((wake) => setTimeout(wake, 20))
    if (exitCode() !== null) throw new Error(`the server ended with ${exitCode()}:\n${output()}`)
    if (Date.now() > deadline) throw new Error(`the server did not start:\n${output()}`)
    // Before it says so, most attempts are in vain, and each takes 1.5 ms of processor time.
    if (turn % 25 > 0 && !output().includes("Muniment is ready")) continue
    const isReady = await fetch(`${url}/health/ready`)
      .then(async (response) => {
        const { checks } = (await response.json()) as {
          checks: { embedding: { state: string }; quarantined: number }
        }
        // Damage that a round finds at once may make it unready for good.
        return (response.ok || checks.quarantined > 0) && checks.embedding.state !== "loading"
      })
      .catch(() => false)
    if (isReady) return
  }
}
