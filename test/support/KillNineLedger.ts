/**
 * Record of what the writers of the kill -9 test asked for and were told: the next operation of each, and whether the
 * server's memories are what its answers promised. Each writer changes only memories of its own, so that what must be
 * there is known exactly.
 */
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import type { SeededRandom } from "./SeededRandom.ts"
import type { Answer, ServerCalls } from "./TestServer.ts"

/** Those of one account. */
export type LedgerCalls = Pick<ServerCalls, "call">

/** The service says that it cannot answer now: nothing is known of what it has. */
export class NoAnswer extends Error {
  constructor(what: string, { body, status }: Answer) {
    super(`${what}: ${status} ${JSON.stringify(body)}`)
  }
}

export interface Operation {
  readonly kind: "create" | "supersede" | "update" | "patch" | "delete"
  readonly writer: string
  readonly agent: string
  readonly key: string
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /** The memory that is changed. */
  readonly target?: Expected
  /** Stands in what is written, and nowhere else. */
  readonly marker: string
}

interface Expected {
  readonly id: string
  readonly writer: string
  readonly agent: string
  readonly kind: string
  data: unknown
  tags: ReadonlyArray<string>
}

interface Listed {
  readonly id: string
  readonly data: { readonly key?: string }
  readonly context: { readonly tags: ReadonlyArray<string>; readonly isLatest: boolean }
}

/** Beside its own keys, the writers of one agent contend for this one. */
const contendedKey = "everybody's"
/** A writer that has more deletes more often, so that the files stay small over hundreds of cycles. */
const memoriesPerWriterMax = 60
const lookUpsAtOnce = 8

export class Ledger {
  readonly #random: SeededRandom
  readonly #expected = new Map<string, Expected>()
  readonly #gone = new Set<string>()
  readonly #open = new Map<string, Operation>()
  readonly #touched = new Set<string>()
  /** Markers of facts that were replaced or removed. */
  readonly #erased = new Set<string>()
  readonly #lost: Array<string> = []
  readonly #duplicates: Array<string> = []
  readonly #refused: Array<string> = []
  readonly #acknowledged = { create: 0, supersede: 0, update: 0, patch: 0, delete: 0 }
  #count = 0
  #cutOff = 0
  #committedBeforeCut = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  get expectedCount(): number {
    return this.#expected.size
  }

  /** Of a memory that must be there; undefined: there is none. */
  get anyId(): string | undefined {
    return this.#expected.keys().next().value
  }

  open(): ReadonlyArray<Operation> {
    return [...this.#open.values()]
  }

  report() {
    return {
      acknowledged: this.#acknowledged,
      cutOff: this.#cutOff,
      committedBeforeCut: this.#committedBeforeCut,
      lost: this.#lost,
      duplicates: this.#duplicates,
      refused: this.#refused
    }
  }

  /** What was found wrong since the last call. */
  takeFaults(): ReadonlyArray<string> {
    return [this.#lost, this.#duplicates, this.#refused].flatMap((faults) => faults.splice(0))
  }

  next(writer: string, agent: string): Operation {
    const marker = `${writer}-${this.#count++}`
    const own = [...this.#expected.values()].filter((memory) => memory.writer === writer)
    const facts = own.filter(({ kind }) => kind === "factual_memory")
    const roll = own.length > memoriesPerWriterMax ? 0.95 : this.#random.next()
    const target = this.#random.pick(roll < 0.7 ? facts : own)
    const common = { writer, agent, key: `key-${marker}`, marker }
    const operation: Operation =
      target === undefined || roll < 0.35
        ? { ...common, kind: "create", ...this.#creation(agent, marker, this.#random.between(1, 4)) }
        : roll < 0.55
          ? { ...common, kind: "supersede", ...this.#supersession(writer, agent, marker) }
          : roll < 0.7
            ? { ...common, kind: "update", target, ...replacement(agent, marker, target.id) }
            : roll < 0.85
              ? { ...common, kind: "patch", target, method: "PATCH", ...byId(target), body: { tags: [marker] } }
              : { ...common, kind: "delete", target, method: "DELETE", ...byId(target) }
    this.#open.set(operation.key, operation)
    return operation
  }

  /** How much of what was cut off had been committed: the measure of how close to a commit the kills fell. */
  async lookBeforeRetry(server: LedgerCalls): Promise<void> {
    const look = async ([agent, operations]: readonly [string, ReadonlyArray<Operation>]): Promise<void> => {
      const found = await listAll(server, agent)
      const isDone = ({ kind, target, marker }: Operation): boolean =>
        kind === "delete" ? found.every(({ id }) => id !== target?.id) : found.some((memory) => holds(memory, marker))
      this.#cutOff += operations.length
      this.#committedBeforeCut += operations.filter(isDone).length
    }
    await Promise.all(
      Map.groupBy(this.open(), ({ agent }) => agent)
        .entries()
        .map(look)
    )
  }

  answered(operation: Operation, answer: Answer): void {
    this.#open.delete(operation.key)
    if (answer.status !== 200) {
      this.#refused.push(`${operation.kind} ${operation.marker}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return
    }
    this.#acknowledged[operation.kind]++
    const { target, marker } = operation
    if (operation.kind === "create" || operation.kind === "supersede") {
      for (const { id, kind, data } of answer.body.created) {
        if (this.#expected.has(id) || this.#gone.has(id)) this.#duplicates.push(`${id} was given out twice`)
        this.#expected.set(id, { id, writer: operation.writer, agent: operation.agent, kind, data, tags: [] })
        this.#touched.add(id)
      }
    } else if (target !== undefined) {
      this.#touched.add(target.id)
      if (operation.kind !== "patch") this.#erase(target)
      if (operation.kind === "delete") {
        this.#expected.delete(target.id)
        this.#gone.add(target.id)
      } else if (operation.kind === "patch") target.tags = [marker]
      else target.data = { subject: marker, fact: factOf(marker) }
    }
  }

  /** Words of erased facts that these bytes still hold. */
  erasedWordsIn(bytes: Buffer): ReadonlyArray<string> {
    // In one pass: to look for each of some thousand words in each segment took longer than all kills.
    const held = new Set([...bytes.toString("latin1").matchAll(tellingWords)].map(([word]) => word))
    return [...this.#erased].filter((marker) => held.has(wordOf(marker).slice(-tellingCharacters)))
  }

  #erase({ data }: Expected): void {
    const [, marker] = /noted (\S+)/.exec(JSON.stringify(data)) ?? []
    if (marker !== undefined) this.#erased.add(marker)
  }

  /** Looks up by id what the last cycle wrote. */
  async verifyTouched(server: LedgerCalls): Promise<void> {
    const left = [...this.#touched]
    this.#touched.clear()
    const lookUp = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const answer = await server.call("GET", `/v1/memories/${id}`)
        if (answer.status !== 200 && answer.status !== 404) throw new NoAnswer(`memory ${id}`, answer)
        this.#compare(id, answer.status === 200 ? answer.body.memory : undefined)
      }
    }
    await Promise.all(Array.from({ length: lookUpsAtOnce }, lookUp))
  }

  /** Everything, by listing: what must be there and nothing else, and one latest version for each key. */
  async verifyAll(server: LedgerCalls, agents: ReadonlyArray<string>): Promise<void> {
    const seen = new Set<string>()
    for (const agent of agents) {
      const latest = new Map<string, number>()
      for (const memory of await listAll(server, agent)) {
        if (seen.has(memory.id)) this.#duplicates.push(`${memory.id} is listed twice`)
        seen.add(memory.id)
        this.#compare(memory.id, memory)
        const key = memory.data.key
        if (key !== undefined && memory.context.isLatest) latest.set(key, (latest.get(key) ?? 0) + 1)
        else if (key !== undefined && !latest.has(key)) latest.set(key, 0)
      }
      for (const [key, count] of latest) if (count !== 1) this.#duplicates.push(`${agent} ${key}: ${count} are latest`)
    }
    for (const id of this.#expected.keys()) if (!seen.has(id)) this.#lost.push(`${id} is not listed`)
  }

  /** One of them, by a word that it alone has. */
  async verifySearch(server: LedgerCalls, agent: string): Promise<void> {
    const facts = [...this.#expected.values()].filter((memory) => memory.agent === agent && memory.kind !== "slot")
    const wanted = this.#random.pick(facts)
    const [, marker] = /noted (\S+)/.exec(JSON.stringify(wanted?.data)) ?? []
    if (wanted === undefined || marker === undefined) return
    const parameters = new URLSearchParams({ agentId: agent, query: wordOf(marker) })
    const answer = await server.call("GET", `/v1/memories/search?${parameters}`)
    if (answer.status !== 200) throw new NoAnswer(`a search of ${agent}`, answer)
    const found: ReadonlyArray<Listed> = answer.body.memories
    if (found.every(({ id }) => id !== wanted.id)) this.#lost.push(`${wanted.id} is not found by ${wordOf(marker)}`)
  }

  #compare(id: string, found: Listed | undefined): void {
    const expected = this.#expected.get(id)
    if (expected === undefined && found === undefined) return
    if (expected === undefined) {
      if (this.#gone.has(id)) this.#lost.push(`the removal of ${id}`)
      else this.#duplicates.push(`${id}: nobody was told of it: ${JSON.stringify(found)}`)
    } else if (found === undefined) this.#lost.push(`${expected.kind} ${id}`)
    else if (!isEqual(found.data, expected.data)) this.#lost.push(`the data of ${id}: ${JSON.stringify(found.data)}`)
    else if (!isEqual(found.context.tags, expected.tags)) this.#lost.push(`the tags of ${id}`)
  }

  #creation(agent: string, marker: string, count: number) {
    const memories = Array.from({ length: count }, (_, at) => ({
      kind: "factual_memory",
      data: { subject: `${marker}.${at}`, fact: factOf(`${marker}.${at}`) }
    }))
    return { method: "POST", path: "/v1/memories", body: { agentId: agent, memories } }
  }

  #supersession(writer: string, agent: string, marker: string) {
    const key = this.#random.pick([contendedKey, `${writer} 1`, `${writer} 2`])
    const memories = [{ kind: "slot", data: { key, value: marker } }]
    return { method: "POST", path: "/v1/memories", body: { agentId: agent, memories } }
  }
}

const factOf = (marker: string): string => `The writer noted ${marker} ${wordOf(marker)} on the board`

/** One token, as the full text holds it. */
const wordOf = (marker: string): string => `${sha256Hex(marker).slice(0, 12)}z`
/** Of such a word: the full text stores terms without what they share with the one before. */
const tellingCharacters = 9
const tellingWords = new RegExp(`[0-9a-f]{${tellingCharacters - 1}}z`, "g")

const byId = ({ id }: Expected) => ({ path: `/v1/memories/${id}` })

const replacement = (agent: string, marker: string, id: string) => ({
  method: "POST",
  path: "/v1/memories",
  body: {
    agentId: agent,
    memories: [{ kind: "factual_memory", id, data: { subject: marker, fact: factOf(marker) } }]
  }
})

const holds = ({ data, context }: Listed, marker: string): boolean =>
  Object.values(data).some((value) => value === marker || value === `${marker}.0`) || context.tags.includes(marker)

const isEqual = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right)

const listAll = async (server: LedgerCalls, agent: string): Promise<ReadonlyArray<Listed>> => {
  const found: Array<Listed> = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const parameters = new URLSearchParams({ agentId: agent, includeSuperseded: "true", limit: "100" })
    if (cursor !== undefined) parameters.set("cursor", cursor)
    const answer = await server.call("GET", `/v1/memories?${parameters}`)
    if (answer.status !== 200) throw new NoAnswer(`the list of ${agent}`, answer)
    found.push(...answer.body.memories)
    cursor = answer.body.nextCursor
  }
  return found
}
