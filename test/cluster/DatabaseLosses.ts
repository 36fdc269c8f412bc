/**
 * The database of three nodes is stopped and crashed while callers of paying accounts write and search: whatever is not
 * done says "again" (503), and in the end every account has paid for exactly what was acknowledged to it.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { ClusterProcesses } from "../../scripts/cluster/ClusterProcesses.ts"
import { startThreeNodes } from "../support/clusterEnvironment.ts"
import { fact } from "../support/MemoryCalls.ts"
import { SeededRandom } from "../support/SeededRandom.ts"
import { type Answer, patienceMillis, serverCalls } from "../support/TestServer.ts"

const operatorToken = "the operator's token of lost databases"
/** Credits of a month in `clusterEnvironment`. */
const allowance = 1_000_000
const accounts = 3
const callersPerAccount = 2
const writesPerSearch = 2
/** One answer lists them. */
const memoriesPerAgent = 100
/** Between two calls of a caller, and before a call is made again. */
const pauseMillis = 20
/** Callers are served for so long between two losses: sometimes a loss meets nodes that are not over the last one. */
const servedMillis = [500, 6_000] as const
/** The database is away: also for longer than a lease of 5 s. */
const awayMillis = [0, 7_000] as const
/** For a caller of a node that stands still. */
const answerMillis = 30_000

type Loss = "fast" | "immediate" | "crash"
const kinds: ReadonlyArray<Loss> = ["crash", "fast", "immediate"]

export interface LossReport {
  readonly seed: number
  readonly losses: Readonly<Record<Loss, number>>
  readonly answers: number
  /** Answers by status. */
  readonly statuses: Readonly<Record<number, number>>
  /** Neither right nor "again". */
  readonly refused: ReadonlyArray<string>
  /** Memories that were acknowledged and are not there, or the other way round. */
  readonly wrong: ReadonlyArray<string>
  /** Credits of each account: for what was acknowledged, and what the ledger took. */
  readonly acknowledged: ReadonlyArray<number>
  readonly charged: ReadonlyArray<number>
  /** What the proof of the ledger says against it. */
  readonly problems: ReadonlyArray<string>
  /** Lines of the nodes' logs that tell of a defect. */
  readonly defects: ReadonlyArray<string>
}

export const runDatabaseLosses = async (losses: number, seed: number): Promise<LossReport> => {
  const cluster = await startThreeNodes(operatorToken)
  try {
    return await new LossRun(cluster, seed).go(losses)
  } finally {
    await cluster.stop()
  }
}

interface Payer {
  readonly name: string
  readonly key: string
  /** Credits of the answers that it got. */
  acknowledged: number
  /** Ids by agent. */
  readonly written: Map<string, Array<string>>
}

class LossRun {
  readonly #cluster: ClusterProcesses
  readonly #seed: number
  readonly #random: SeededRandom
  readonly #payers: Array<Payer> = []
  readonly #losses: Record<Loss, number> = { crash: 0, fast: 0, immediate: 0 }
  readonly #statuses: Record<number, number> = {}
  readonly #refused: Array<string> = []
  #answers = 0
  #writes = 0
  #turn = 0
  #isOver = false

  constructor(cluster: ClusterProcesses, seed: number) {
    this.#cluster = cluster
    this.#seed = seed
    this.#random = new SeededRandom(seed)
  }

  async go(losses: number): Promise<LossReport> {
    const { newAccount } = serverCalls(this.#cluster.nodes[0]!.url, operatorToken)
    for (let at = 0; at < accounts; at++)
      this.#payers.push({
        name: `payer-${at}`,
        key: await newAccount(`payer-${at}`),
        acknowledged: 0,
        written: new Map()
      })
    const calling = Promise.all(
      this.#payers.flatMap((payer) =>
        Array.from({ length: callersPerAccount }, (_, caller) => this.#call(payer, `${payer.name}-${caller}`))
      )
    )
    try {
      for (let loss = 0; loss < losses; loss++) await this.#lose(kinds[loss % kinds.length]!)
      await pause(this.#random.between(...servedMillis))
    } finally {
      this.#isOver = true
      await calling
    }
    return this.#report()
  }

  async #lose(kind: Loss): Promise<void> {
    const { postgres } = this.#cluster
    await pause(this.#random.between(...servedMillis))
    this.#losses[kind]++
    await (kind === "crash" ? postgres.kill() : postgres.halt(kind))
    await pause(this.#random.between(...awayMillis))
    await postgres.startAgain()
  }

  async #call(payer: Payer, name: string): Promise<void> {
    for (let made = 0; !this.#isOver; made++) {
      const agent = `${name}-${Math.floor(made / memoriesPerAgent)}`
      await this.#write(payer, agent)
      if (made % writesPerSearch === 0) await this.#search(payer, agent)
      await pause(pauseMillis)
    }
  }

  /** Node after node under one key, until one has it. */
  async #write(payer: Payer, agent: string): Promise<void> {
    const number = ++this.#writes
    const body = { agentId: agent, memories: [fact(agent, `fact ${number}`)] }
    const answer = await this.#persistently(payer, "POST", "/v1/memories", {
      body,
      headers: { "idempotency-key": `write ${number}` }
    })
    payer.acknowledged += priceOfWrite
    const ids = payer.written.get(agent) ?? []
    payer.written.set(agent, [...ids, answer.body.created[0].id])
  }

  /** Once: what is not answered is not charged, and what is not charged may be asked again. */
  async #search(payer: Payer, agent: string): Promise<void> {
    const answer = await this.#once(payer, "GET", `/v1/memories/search?query=fact&agentId=${agent}`)
    if (answer?.status === 200) payer.acknowledged += priceOfSearch
  }

  async #persistently(payer: Payer, method: string, path: string, options: object = {}): Promise<Answer> {
    for (const until = Date.now() + patienceMillis; ; await pause(pauseMillis)) {
      const answer = await this.#once(payer, method, path, options)
      if (answer?.status === 200) return answer
      if (Date.now() > until) throw new Error(`no answer to ${method} ${path}: ${JSON.stringify(answer?.body)}`)
    }
  }

  async #once(payer: Payer, method: string, path: string, options: object = {}): Promise<Answer | undefined> {
    const node = this.#cluster.nodes[this.#turn++ % this.#cluster.nodes.length]!
    const call = serverCalls(node.url, operatorToken, payer.key).call(method, path, options)
    const answer = await Promise.race([call.catch(() => undefined), pause(answerMillis)])
    if (answer === undefined) return undefined
    this.#answers++
    this.#statuses[answer.status] = (this.#statuses[answer.status] ?? 0) + 1
    // 409: the call before it is under way in the node that had it.
    if (![200, 409, 503].includes(answer.status))
      this.#refused.push(`${answer.status} ${method} ${path} ${JSON.stringify(answer.body)}`)
    return answer
  }

  async #report(): Promise<LossReport> {
    const wrong: Array<string> = []
    for (const payer of this.#payers)
      for (const [agent, ids] of payer.written) {
        const answer = await this.#persistently(payer, "GET", `/v1/memories?agentId=${agent}&limit=${memoriesPerAgent}`)
        payer.acknowledged += priceOfList
        const listed = answer.body.memories.map(({ id }: { readonly id: string }) => id)
        wrong.push(...ids.filter((id) => !listed.includes(id)).map((id) => `${agent} lacks ${id}`))
        wrong.push(...listed.filter((id: string) => !ids.includes(id)).map((id: string) => `${agent} has ${id}`))
      }
    const acknowledged = this.#payers.map((payer) => payer.acknowledged)
    const charged = await this.#charged(acknowledged)
    const books = await serverCalls(this.#cluster.nodes[0]!.url, operatorToken).asOperator("GET", "/admin/ledger/check")
    return {
      seed: this.#seed,
      losses: this.#losses,
      answers: this.#answers,
      statuses: this.#statuses,
      refused: this.#refused,
      wrong,
      acknowledged,
      charged,
      problems: books.body.problems ?? [JSON.stringify(books.body)],
      defects: this.#cluster.nodes.flatMap((node) =>
        node
          .output()
          .split("\n")
          .filter((line) => /defect|UNIQUE|changes lost/u.test(line))
      )
    }
  }

  /** By the ledger: what an owner left open is decided a moment after its end. */
  async #charged(acknowledged: ReadonlyArray<number>): Promise<ReadonlyArray<number>> {
    for (const until = Date.now() + patienceMillis; ; await pause(answerMillis / 30)) {
      const charged: Array<number> = []
      for (const payer of this.#payers) {
        const { body } = await this.#persistently(payer, "GET", "/v1/credits")
        charged.push(allowance - body.allowance.credits)
      }
      if (charged.every((credits, at) => credits === acknowledged[at]) || Date.now() > until) return charged
    }
  }
}

const priceOfWrite = 5
const priceOfSearch = 2
const priceOfList = 1
