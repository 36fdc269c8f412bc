/**
 * Faults of a cluster of three nodes over a real PostgreSQL while clients write: every client repeats a write under its
 * Idempotency-Key until it is answered, and then lists its agent through another node. What was acknowledged is exactly
 * what has to be there: less is lost, more is doubled, and a list without it is stale.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { ClusterProcesses, type NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { PostgresServer } from "../../scripts/cluster/PostgresServer.ts"
import { clusterEnvironment, openToPostgres } from "../support/clusterEnvironment.ts"
import { CutProxy } from "../support/CutProxy.ts"
import { fact } from "../support/MemoryCalls.ts"
import { ObjectStore } from "../support/ObjectStore.ts"
import { SeededRandom } from "../support/SeededRandom.ts"
import { type Answer, freePort, patienceMillis, repository, serverCalls } from "../support/TestServer.ts"
import type { Fault, Scene } from "./faults/Fault.ts"
import { faults } from "./faults/faults.ts"
import { NodeMeans } from "./NodeMeans.ts"

const operatorToken = "the operator's token of the faults"
const nodeCount = 3
const clientCount = 4
const accounts = 2
/** Of a client, at most; then it takes another agent. */
const memoriesPerAgentMax = 40
/** After every so many writes a client forgets its agent's oldest memory, which publishes a base. */
const writesPerRemoval = 8
/** A frozen or cut node is longer away than its lease of 5 s, and sometimes than its locks of 15 s. */
const awayMillis = [7_000, 18_000] as const
/** Of a rolling upgrade, beside this source as it is published: the command line of an earlier build, or of the source. */
const otherBuild = process.env["MUNIMENT_OTHER_BUILD"] ?? join(repository, "packages/cli/src/bin.ts")
/** Between two writes of a client. */
const pauseMillis = 100
/** For a caller of a node that stands still. */
const answerMillis = 10_000

export interface Takeover {
  /** Its name. */
  readonly fault: string
  /** Until a write that was begun after the fault was acknowledged: the first client's and the last one's. */
  readonly firstMillis: number
  readonly lastMillis: number
  /** Until the process had ended; of a planned stop. */
  readonly exitMillis?: number
  /** Attempts that had to be repeated. */
  readonly repeated: number
}

export interface FaultReport {
  readonly acknowledged: number
  readonly reads: number
  readonly lost: ReadonlyArray<string>
  readonly doubled: ReadonlyArray<string>
  readonly stale: ReadonlyArray<string>
  /** Answers that are neither right nor "again". */
  readonly refused: ReadonlyArray<string>
  /** What the proof of the ledger says against it. */
  readonly books: ReadonlyArray<string>
  readonly takeovers: ReadonlyArray<Takeover>
}

export const runClusterFaults = async (
  rounds: number,
  seed: number,
  kinds: ReadonlyArray<Fault> = faults
): Promise<FaultReport> => {
  const run = await FaultRun.start(seed)
  try {
    await run.go(rounds, kinds)
    return run.report()
  } finally {
    await run.stop()
  }
}

/** Percentiles of the takeovers by fault, as text. */
export const faultSummary = (seed: number, { takeovers, ...counts }: FaultReport): string => {
  const names = [...new Set(takeovers.map(({ fault }) => fault))]
  const lines = names.map((name) => {
    const of = takeovers.filter(({ fault }) => fault === name)
    const figures = (values: ReadonlyArray<number>) => `p50 ${percentile(values, 50)}, p99 ${percentile(values, 99)} ms`
    const exits = of.flatMap(({ exitMillis }) => (exitMillis === undefined ? [] : [exitMillis]))
    return (
      `${name}: ${of.length} times; first client ${figures(of.map(({ firstMillis }) => firstMillis))}; ` +
      `all clients ${figures(of.map(({ lastMillis }) => lastMillis))}` +
      `${exits.length === 0 ? "" : `; exit ${figures(exits)}`}; ` +
      `${of.reduce((sum, { repeated }) => sum + repeated, 0)} attempts repeated`
    )
  })
  const { acknowledged, doubled, lost, reads, refused, stale } = counts
  return [
    `seed ${seed}: ${acknowledged} acknowledged writes, ${reads} reads; ${lost.length} lost, ${doubled.length} doubled, ` +
      `${stale.length} stale, ${refused.length} refused`,
    ...lines
  ].join("\n")
}

const percentile = (values: ReadonlyArray<number>, at: number): number => {
  const sorted = values.toSorted((one, other) => one - other)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * at) / 100))] ?? 0)
}

/** One caller with agents of its own. */
interface Client {
  readonly name: string
  readonly key: string
  /** Undefined: it takes another one. */
  agent: string | undefined
  readonly written: Map<string, Array<string>>
}

/** For its next write. */
const agentOf = (client: Client): string => {
  const known = client.agent
  if (known !== undefined && client.written.get(known)!.length < memoriesPerAgentMax) return known
  const taken = `${client.name}-${client.written.size}`
  client.written.set(taken, [])
  return (client.agent = taken)
}

interface PersistentCall {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** What a repeated removal is answered when the first one has happened. */
  readonly gone?: number
}

interface Acknowledgement {
  readonly client: string
  readonly begunMillis: number
  readonly atMillis: number
}

class FaultRun {
  readonly #directory: string
  #postgres: PostgresServer
  readonly #store: ObjectStore
  readonly #proxies: ReadonlyMap<string, CutProxy>
  readonly #cluster: ClusterProcesses
  readonly #means: NodeMeans
  readonly #builds: ReadonlyArray<string>
  readonly #random: SeededRandom
  readonly #clients: Array<Client> = []
  readonly #acknowledgements: Array<Acknowledgement> = []
  readonly #takeovers: Array<Takeover> = []
  readonly #lost: Array<string> = []
  readonly #doubled: Array<string> = []
  readonly #stale: Array<string> = []
  readonly #refused: Array<string> = []
  readonly #books: Array<string> = []
  #reads = 0
  #writes = 0
  #repeated = 0
  #turn = 0
  /** Of this round. */
  #fault: Fault | undefined
  #isOver = false

  private constructor(
    directory: string,
    postgres: PostgresServer,
    store: ObjectStore,
    proxies: ReadonlyMap<string, CutProxy>,
    cluster: ClusterProcesses,
    means: NodeMeans,
    seed: number
  ) {
    this.#directory = directory
    this.#postgres = postgres
    this.#store = store
    this.#proxies = proxies
    this.#cluster = cluster
    this.#means = means
    this.#builds = [cluster.nodes[0]!.entry, otherBuild]
    this.#random = new SeededRandom(seed)
  }

  static async start(seed: number): Promise<FaultRun> {
    const directory = mkdtempSync(join(tmpdir(), "muniment-faults-"))
    openToPostgres(directory)
    const postgres = await PostgresServer.start({ kept: join(directory, "postgres") })
    const store = await ObjectStore.start(join(directory, "store"))
    const proxies = new Map<string, CutProxy>()
    for (let node = 1; node <= nodeCount; node++) proxies.set(`node-${node}`, await CutProxy.start(postgres.port))
    let means: NodeMeans | undefined
    const cluster = await ClusterProcesses.start({
      directory,
      nodes: nodeCount,
      freePort,
      databaseOf: (name) => postgres.url("postgres", proxies.get(name)?.port),
      environment: { ...clusterEnvironment(operatorToken), ...store.environment },
      prepare: async (nodes) => {
        means = await NodeMeans.prepare(nodes, directory)
      }
    })
    return new FaultRun(directory, postgres, store, proxies, cluster, means!, seed)
  }

  async stop(): Promise<void> {
    for (const node of this.#cluster.nodes) node.signal("SIGCONT")
    for (const proxy of this.#proxies.values()) proxy.mend()
    this.#store.mend()
    await Promise.all(this.#cluster.nodes.map((node) => node.kill()))
    for (const proxy of this.#proxies.values()) proxy.stop()
    await this.#means.stop()
    await this.#postgres.stop()
    await this.#store.stop()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  report(): FaultReport {
    return {
      acknowledged: this.#acknowledgements.length,
      reads: this.#reads,
      lost: this.#lost,
      doubled: this.#doubled,
      stale: this.#stale,
      refused: this.#refused,
      books: this.#books,
      takeovers: this.#takeovers
    }
  }

  async go(rounds: number, kinds: ReadonlyArray<Fault>): Promise<void> {
    const { newAccount } = serverCalls((await this.#serving()).url, operatorToken)
    const keys = await Promise.all(Array.from({ length: accounts }, (_, at) => newAccount(`account ${at}`, "owner")))
    for (let at = 0; at < clientCount; at++)
      this.#clients.push({ name: `client-${at}`, key: keys[at % accounts]!, agent: undefined, written: new Map() })
    const writing = Promise.all(this.#clients.map((client) => this.#write(client)))
    try {
      // Slices of other seeds begin with other faults.
      const first = this.#random.between(0, kinds.length - 1)
      for (let round = 0; round < rounds; round++) await this.#round(kinds[(first + round) % kinds.length]!)
    } finally {
      this.#isOver = true
      await writing
    }
    await this.#checkAll()
  }

  async #write(client: Client): Promise<void> {
    while (!this.#isOver) {
      const agent = agentOf(client)
      const written = client.written.get(agent)!
      const number = ++this.#writes
      const begunMillis = performance.now()
      const answer = await this.#persistently(client, "POST", "/v1/memories", {
        body: { agentId: agent, memories: [fact(agent, `fact ${number}`)] },
        headers: { "idempotency-key": `write ${number}` }
      })
      if (answer?.status !== 200) continue
      this.#acknowledgements.push({ client: client.name, begunMillis, atMillis: performance.now() })
      written.push(answer.body.created[0].id)
      const listed = await this.#listed(client, agent)
      const missing = written.filter((id) => !listed.includes(id))
      if (missing.length > 0) this.#stale.push(`${agent}: ${missing.length} of ${written.length}`)
      if (written.length % writesPerRemoval === 0) await this.#forgetOldest(client, written)
      await pause(pauseMillis)
    }
  }

  async #forgetOldest(client: Client, written: Array<string>): Promise<void> {
    const [id] = written
    const answer = await this.#persistently(client, "DELETE", `/v1/memories/${id}`, { gone: 404 })
    if (answer.status === 200 || answer.status === 404) written.shift()
  }

  /** Node after node, until one answers something else than "again". */
  async #persistently(
    client: Pick<Client, "key">,
    method: string,
    path: string,
    { gone, ...options }: PersistentCall = {}
  ): Promise<Answer> {
    for (const until = Date.now() + patienceMillis; ;) {
      const node = this.#cluster.nodes[this.#turn++ % nodeCount]!
      const call = serverCalls(node.url, operatorToken, client.key).call(method, path, options)
      const late = pause(answerMillis).then(() => undefined)
      const answer = await Promise.race([call.catch(() => undefined), late])
      if (answer?.status === 200 || (answer !== undefined && answer.status === gone)) return answer
      if (answer !== undefined && ![409, 503, this.#fault?.again].includes(answer.status)) {
        this.#refused.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
        return answer
      }
      if (Date.now() > until)
        throw new Error(
          `no answer to ${method} ${path} (${this.#fault?.name}): ${answer?.status} ${JSON.stringify(answer?.body)}`
        )
      this.#repeated++
      await pause(pauseMillis)
    }
  }

  async #listed(client: Client, agent: string): Promise<ReadonlyArray<string>> {
    const answer = await this.#persistently(client, "GET", `/v1/memories?agentId=${agent}&limit=100`)
    this.#reads++
    return answer.status === 200 ? answer.body.memories.map(({ id }: { readonly id: string }) => id) : []
  }

  /** One fault, its end, and every client's next acknowledgement. */
  async #round(fault: Fault): Promise<void> {
    const scene = await this.#scene()
    const before = this.#acknowledgements.length
    const repeated = this.#repeated
    const begunMillis = performance.now()
    this.#fault = fault
    const { exitMillis, heal, sinceMillis = begunMillis } = await fault.strike(scene)
    const lasts = await this.#next(before, sinceMillis)
    await heal()
    await this.#next(this.#acknowledgements.length, performance.now())
    this.#fault = undefined
    this.#takeovers.push({
      fault: fault.name,
      firstMillis: Math.min(...lasts) - sinceMillis,
      lastMillis: Math.max(...lasts) - sinceMillis,
      ...(exitMillis !== undefined && { exitMillis: await exitMillis }),
      repeated: this.#repeated - repeated
    })
  }

  async #scene(): Promise<Scene> {
    const { nodes } = this.#cluster
    const serving = await this.#serving()
    return {
      nodes,
      serving,
      other: this.#random.pick(nodes.filter((node) => node !== serving))!,
      postgres: this.#postgres,
      replacePostgres: (by) => {
        this.#postgres = by
        for (const proxy of this.#proxies.values()) proxy.pointTo(by.port)
      },
      store: this.#store,
      databaseLink: ({ name }) => this.#proxies.get(name)!,
      means: this.#means,
      servingNow: () => this.#serving(),
      builds: this.#builds,
      newAgents: () => {
        for (const client of this.#clients) client.agent = undefined
      },
      away: () => pause(this.#random.between(...awayMillis)),
      object: (text) => void this.#refused.push(text)
    }
  }

  /** When each client's first write that was begun after `sinceMillis` was acknowledged. */
  async #next(from: number, sinceMillis: number): Promise<ReadonlyArray<number>> {
    for (const until = Date.now() + patienceMillis; ;) {
      const firsts = this.#clients.flatMap(({ name }) => {
        const found = this.#acknowledgements
          .slice(from)
          .find(({ begunMillis, client }) => client === name && begunMillis > sinceMillis)
        return found === undefined ? [] : [found.atMillis]
      })
      if (firsts.length === clientCount) return firsts
      if (Date.now() > until)
        throw new Error(`no write is acknowledged any more (${this.#fault?.name}):\n${this.#outputs()}`)
      await pause(pauseMillis)
    }
  }

  #outputs(): string {
    return this.#cluster.nodes.map((node) => `${node.name}: ${node.output().slice(-1_500)}`).join("\n")
  }

  async #serving(): Promise<NodeProcess> {
    for (const until = Date.now() + patienceMillis; Date.now() < until; await pause(pauseMillis)) {
      const found = this.#cluster.nodes.filter((node) => {
        if (node.pid === undefined) return false
        const said = node.output()
        return said.lastIndexOf("this node serves the cluster") > said.lastIndexOf("another node may serve")
      })
      if (found.length === 1) return found[0]!
    }
    throw new Error(`no node serves:\n${this.#outputs()}`)
  }

  /** Every agent through every node, and the books. */
  async #checkAll(): Promise<void> {
    for (const client of this.#clients)
      for (const [agent, ids] of client.written) {
        const listed = await this.#listed(client, agent)
        this.#lost.push(...ids.filter((id) => !listed.includes(id)))
        this.#doubled.push(...listed.filter((id) => !ids.includes(id)))
        if (new Set(ids).size !== ids.length) this.#doubled.push(`${agent}: one memory answered two keys`)
      }
    const books = await this.#persistently({ key: operatorToken }, "GET", "/admin/ledger/check")
    if (books.body.ok !== true) this.#books.push(JSON.stringify(books.body))
  }
}
