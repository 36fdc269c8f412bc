/**
 * In the place of a test's server a cluster of nodes (`MUNIMENT_TEST_NODES`): the same calls go to its nodes in turn, and
 * connections to its URL as a load balancer without stickiness would give them.
 */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { type AddressInfo, connect, createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ClusterProcesses } from "../../scripts/cluster/ClusterProcesses.ts"
import type { ServedProcess } from "./ServedProcess.ts"
import { dropTestDatabase, testDatabase } from "./TestDatabases.ts"

export interface TestClusterOptions {
  readonly nodes: number
  /** Default: a new directory, removed at the end. */
  readonly dataDirectory: string | undefined
  /** Of each node. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly freePort: () => Promise<number>
}

export interface TestCluster {
  /** Of the balancer. */
  readonly url: string
  /** URLs of the nodes. */
  readonly nodes: ReadonlyArray<string>
  readonly processes: ReadonlyArray<ServedProcess>
  readonly operatorToken: string
  /** Of its first node. */
  readonly dataDirectory: string
  /** SIGTERM, and the first exit code that is not 0. */
  readonly stop: () => Promise<number | null>
  readonly kill: () => Promise<void>
  /** Of all nodes. */
  readonly output: () => string
}

export const startTestCluster = async ({
  dataDirectory,
  environment,
  freePort,
  nodes
}: TestClusterOptions): Promise<TestCluster> => {
  const directory = dataDirectory ?? mkdtempSync(join(tmpdir(), "muniment-cluster-"))
  // Found again when the test starts the same directory once more.
  const database = `test_${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`
  const balancer = createServer({ allowHalfOpen: true, noDelay: true })
  balancer.listen(await freePort(), "127.0.0.1")
  await once(balancer, "listening")
  const url = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`
  const databaseUrl = await testDatabase(database)
  const cluster = await ClusterProcesses.start({
    directory,
    nodes,
    freePort,
    databaseOf: () => databaseUrl,
    environment: { ...likeOneBox(url, environment), ...environment }
  })
  const ended = async (): Promise<void> => {
    balancer.close()
    if (dataDirectory !== undefined) return
    await dropTestDatabase(database)
    rmSync(directory, { recursive: true, force: true })
  }
  spread(
    balancer,
    cluster.nodes.map(({ ports }) => ports.port)
  )
  const urls = cluster.nodes.map((node) => node.url)
  const output = () => cluster.nodes.map((node) => node.output()).join("\n")
  const operatorToken = readFileSync(join(directory, "node-1", "operator-token"), "utf8").trim()
  return {
    url,
    nodes: urls,
    processes: cluster.nodes.map(({ pid, url: own }) => ({ url: own, pid })),
    operatorToken,
    dataDirectory: join(directory, "node-1"),
    stop: async () => {
      const codes = await cluster.stop()
      await ended()
      return codes.find((code) => code !== 0) ?? 0
    },
    kill: async () => {
      await Promise.all(cluster.nodes.map((node) => node.kill()))
      await ended()
    },
    output
  }
}

/** What a server on loopback has by default, and one with a public address, which the test may give, has to be told. */
const likeOneBox = (url: string, environment: Readonly<Record<string, string | undefined>>) =>
  environment["MUNIMENT_PUBLIC_URL"] === undefined
    ? {
        MUNIMENT_PUBLIC_URL: url,
        MUNIMENT_WALLET_SIGNUP: "open",
        MUNIMENT_WALLET_ALLOWANCE: environment["MUNIMENT_MONTHLY_ALLOWANCE"]
      }
    : {}

/** Gives each connection to the next port. */
const spread = (balancer: Server, ports: ReadonlyArray<number>): void => {
  let turn = 0
  balancer.on("connection", (caller) => {
    const link = connect({ host: "127.0.0.1", port: ports[turn++ % ports.length]!, allowHalfOpen: true, noDelay: true })
    const end = () => {
      caller.destroy()
      link.destroy()
    }
    for (const socket of [caller, link]) socket.on("error", end).once("close", end)
    caller.pipe(link)
    link.pipe(caller)
  })
}
