/**
 * The load: writers that add, remove, replace and supersede so that the number of memories stays, and callers that
 * search, with and without filters. An error is counted and reported, and the soak goes on; a hit that was gone before
 * it was asked for is an error too.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { NamedText } from "../http/debianTexts.ts"
import type { HttpClient } from "../http/HttpClient.ts"
import type { Member, Population } from "./Population.ts"

const noteKind = "factual_memory"
export const stateKind = "soak_state"
export const subjects = 10
export const batchSize = 100
const resultsMax = 10
const shownErrorsMax = 20
/** One of this many initial batches holds states, the others notes. */
const batchesPerState = 5

interface Entry {
  readonly id: string
}

interface Written {
  readonly created: ReadonlyArray<Entry>
  readonly updated: ReadonlyArray<Entry>
}

interface One {
  readonly memory: { readonly context: { readonly isLatest: boolean } }
}

export interface Interval {
  readonly searchMillis: ReadonlyArray<number>
  readonly filteredMillis: ReadonlyArray<number>
  readonly writeMillis: ReadonlyArray<number>
  readonly errors: number
}

export interface ChurnOptions {
  readonly client: HttpClient
  readonly population: Population
  readonly texts: ReadonlyArray<NamedText>
  readonly questions: ReadonlyArray<string>
  readonly agents: ReadonlyArray<string>
  readonly writesPerSecond: number
  readonly searchesPerSecond: number
}

export class Churn {
  readonly #options: ChurnOptions
  #searchMillis: Array<number> = []
  #filteredMillis: Array<number> = []
  #writeMillis: Array<number> = []
  #errors = 0
  #shown = 0
  #isOver = false
  #loops: ReadonlyArray<Promise<void>> = []

  constructor(options: ChurnOptions) {
    this.#options = options
  }

  /** The first memories, in batches. */
  async fill(count: number, progress: (done: number) => void): Promise<void> {
    const { agents, client, population, texts } = this.#options
    for (let done = 0; done < count; done += batchSize) {
      const agentId = agents[(done / batchSize) % agents.length]!
      const kind: Member["kind"] = (done / batchSize) % batchesPerState === 0 ? "state" : "note"
      const drafts = Array.from({ length: Math.min(batchSize, count - done) }, () => ({
        key: population.newKey(),
        text: population.takeText()
      }))
      const subjectId = this.#subject()
      const { body } = await client.json<Written>("POST", "/v1/memories/batch/create", {
        agentId,
        subjectId,
        wait: "vectors",
        memories: drafts.map(({ key, text }) => memoryOf(kind, key, texts[text]!))
      })
      if (body.created.length !== drafts.length) throw new Error("not all memories of a batch were stored")
      for (const [at, { key, text }] of drafts.entries()) {
        population.add({ id: body.created[at]!.id, agentId, subjectId, kind, key, text })
      }
      progress(Math.min(count, done + batchSize))
    }
  }

  start(): void {
    const { searchesPerSecond, writesPerSecond } = this.#options
    this.#isOver = false
    let turn = 0
    this.#loops = [
      this.#every(1_000 / writesPerSecond, () => this.#write(turn++)),
      this.#every(1_000 / searchesPerSecond, () => this.#search())
    ]
  }

  /** Resolves when no call is in flight. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
  }

  /** What was measured since the last call. */
  interval(): Interval {
    const taken = {
      searchMillis: this.#searchMillis,
      filteredMillis: this.#filteredMillis,
      writeMillis: this.#writeMillis,
      errors: this.#errors
    }
    this.#searchMillis = []
    this.#filteredMillis = []
    this.#writeMillis = []
    this.#errors = 0
    return taken
  }

  /** One call at a time, at this pace or as fast as the service answers. */
  async #every(millis: number, call: () => Promise<void>): Promise<void> {
    for (let nextMillis = performance.now(); !this.#isOver; nextMillis += millis) {
      await pause(Math.max(0, nextMillis - performance.now()))
      // A late call is not caught up: the pace is an upper bound.
      nextMillis = Math.max(nextMillis, performance.now() - millis)
      await call().catch((cause: unknown) => this.#fail(cause))
    }
  }

  /** Of ten writes: three add and three remove, two replace, two supersede. */
  #write(turn: number): Promise<void> {
    const kind = turn % 10
    if (kind % 3 === 0 && kind < 9) return this.#add()
    if (kind % 3 === 1 && kind < 9) return this.#remove()
    return kind < 6 ? this.#replace() : this.#supersede()
  }

  async #add(): Promise<void> {
    const { agents, population } = this.#options
    const agentId = agents[population.below(agents.length)]!
    const member = {
      agentId,
      subjectId: this.#subject(),
      kind: "note" as const,
      key: population.newKey(),
      text: population.takeText()
    }
    population.add({ ...member, id: await this.#store(member) })
  }

  async #remove(): Promise<void> {
    await this.#delete(this.#options.population.draw("note"))
  }

  async #replace(): Promise<void> {
    const { population } = this.#options
    const old = population.draw("note")
    const text = population.takeText()
    const id = await this.#store({ ...old, text }, old.id)
    if (id !== old.id) throw new Error("a replaced memory got another id")
    population.freeText(old.text)
    population.add({ ...old, text })
  }

  /** The older version is removed at once: it would stay, and the number of memories grow. */
  async #supersede(): Promise<void> {
    const { client, population } = this.#options
    const old = population.draw("state")
    const text = population.takeText()
    const id = await this.#store({ ...old, text })
    population.add({ ...old, id, text })
    const { body } = await client.json<One>("GET", `/v1/memories/${old.id}`)
    if (id === old.id || body.memory.context.isLatest) throw new Error(`${old.id} was not superseded`)
    await this.#delete(old)
  }

  async #store({ agentId, key, kind, subjectId, text }: Omit<Member, "id">, id?: string): Promise<string> {
    const memory = { ...memoryOf(kind, key, this.#options.texts[text]!), ...(id !== undefined && { id }) }
    const { body, millis } = await this.#options.client.json<Written>("POST", "/v1/memories", {
      agentId,
      subjectId,
      wait: "vectors",
      memories: [memory]
    })
    this.#writeMillis.push(millis)
    const [entry] = [...body.created, ...body.updated]
    if (entry === undefined) throw new Error("a write was answered without a memory")
    return entry.id
  }

  async #delete(member: Member): Promise<void> {
    const { millis } = await this.#options.client.text("DELETE", `/v1/memories/${member.id}`)
    this.#writeMillis.push(millis)
    this.#options.population.retire(member, performance.now())
  }

  async #search(): Promise<void> {
    const { agents, client, population, questions } = this.#options
    const isFiltered = population.below(2) === 0
    const filter = isFiltered ? `&agentId=${agents[population.below(agents.length)]}&subjectId=${this.#subject()}` : ""
    const question = encodeURIComponent(questions[population.below(questions.length)]!)
    const askedMillis = performance.now()
    const { body, millis } = await client.json<{ readonly memories: ReadonlyArray<Entry> }>(
      "GET",
      `/v1/memories/search?query=${question}&limit=${resultsMax}${filter}`
    )
    ;(isFiltered ? this.#filteredMillis : this.#searchMillis).push(millis)
    if (!isFiltered && body.memories.length !== resultsMax) throw new Error(`${body.memories.length} hits`)
    const stale = body.memories.find(({ id }) => population.isStale(id, askedMillis))
    if (stale !== undefined) throw new Error(`${stale.id} was shown after it was gone`)
  }

  #subject(): string {
    return `user-${this.#options.population.below(subjects)}`
  }

  #fail(cause: unknown): void {
    this.#errors++
    if (this.#shown++ < shownErrorsMax)
      process.stderr.write(`  ${cause instanceof Error ? cause.message : String(cause)}\n`)
  }
}

const memoryOf = (kind: Member["kind"], key: string, { name, text }: NamedText) => ({
  kind: kind === "note" ? noteKind : stateKind,
  data: { subject: key, fact: `${name}: ${text}` }
})
