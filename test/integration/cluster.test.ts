/**
 * A cluster of three nodes as processes, over a real PostgreSQL: every node takes every request, and whatever was
 * acknowledged is there after its owner was killed, stopped or frozen.
 */
import { Agent, type IncomingMessage, request } from "node:http"
import { json } from "node:stream/consumers"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { ClusterProcesses, NodeProcess } from "../../scripts/cluster/ClusterProcesses.ts"
import { runMuniment } from "../support/CliProcess.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { startThreeNodes } from "../support/clusterEnvironment.ts"
import { accountCalls, fact } from "../support/MemoryCalls.ts"
import { sharedServer, withoutModel } from "../support/SharedServer.ts"
import { type Answer, type CallOptions, operatorKey, patienceMillis, serverCalls } from "../support/TestServer.ts"

let cluster: ClusterProcesses

beforeAll(async () => void (cluster = await startThreeNodes(operatorToken)), patienceMillis)
afterAll(() => cluster?.stop())

const operatorToken = "the operator's token of these tests"

const callsOf = (node: NodeProcess, key = operatorKey) => serverCalls(node.url, operatorToken, key)

/** As a caller does that repeats under one Idempotency-Key until it is answered. */
const persistently = async (node: NodeProcess, method: string, path: string, options: CallOptions) => {
  for (const until = Date.now() + patienceMillis; ;) {
    const answer = await callsOf(node)
      .call(method, path, options)
      .catch(() => undefined)
    if (answer !== undefined && answer.status < 500) return answer
    if (Date.now() > until) throw new Error(`no answer: ${answer?.status} ${JSON.stringify(answer?.body)}`)
    await new Promise((resume) => setTimeout(resume, 50))
  }
}

let written = 0
/** At once, while nodes are stopped. */
const callers = 6

const store = async (node: NodeProcess, agentId: string) => {
  const fact = `fact ${++written} of ${agentId}`
  const answer = await persistently(node, "POST", "/v1/memories", {
    body: { agentId, memories: [{ kind: "factual_memory", data: { subject: agentId, fact } }] },
    headers: { "idempotency-key": `write ${written}` }
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.created[0].id as string
}

const listed = async (node: NodeProcess, agentId: string): Promise<ReadonlyArray<string>> => {
  const { body, status } = await persistently(node, "GET", `/v1/memories?agentId=${agentId}&limit=100`, {})
  expect(status, JSON.stringify(body)).toBe(200)
  return body.memories.map(({ id }: { id: string }) => id).toSorted()
}

const ownerOf = async (): Promise<NodeProcess> => {
  for (const until = Date.now() + patienceMillis; Date.now() < until;) {
    const serving = cluster.nodes.filter((node) => node.pid !== undefined && servesNow(node))
    if (serving[0] !== undefined && serving.length === 1) return serving[0]
    await new Promise((resume) => setTimeout(resume, 100))
  }
  throw new Error("no node serves")
}

/** By its log. */
const servesNow = (node: NodeProcess): boolean =>
  node.output().lastIndexOf("this node serves the cluster") > node.output().lastIndexOf("another node may serve")

const others = (node: NodeProcess): ReadonlyArray<NodeProcess> => cluster.nodes.filter((one) => one !== node)

/** Over one connection that stays open. */
class Caller {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #node: NodeProcess

  constructor(node: NodeProcess) {
    this.#node = node
  }

  /** `sent` when the request is with the node; its answer. */
  get(path: string, sent: () => void = () => undefined): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${operatorKey}` }
    return new Promise((answered, failed) => {
      const asked = request(`${this.#node.url}${path}`, { agent: this.#agent, headers }, answered)
      asked.once("error", failed)
      asked.end(sent)
    })
  }
}

/** The owner stands still when the request comes, over a connection on which it has answered before. */
const frozenWith = async (owner: NodeProcess, through: NodeProcess, then?: () => void): Promise<IncomingMessage> => {
  const caller = new Caller(through)
  const before = await caller.get("/v1/account")
  expect(before.statusCode).toBe(200)
  await json(before)
  owner.signal("SIGSTOP")
  return caller.get("/v1/account", then)
}

const expectRepeatable = async (answer: IncomingMessage) => {
  expect(answer.statusCode).toBe(503)
  expect(answer.headers).toMatchObject({ "retry-after": "1", connection: "close" })
  expect(await json(answer)).toMatchObject({ success: false, code: "namespace_unavailable" })
}

interface Calls {
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
}

/** What is read of a small life of an agent, several times; ids, keys and times by the order in which they appear. */
const toldBy = async ({ call }: Calls, times: number): Promise<ReadonlyArray<unknown>> => {
  const done = async (method: string, path: string, body?: object): Promise<Answer["body"]> => {
    const answer = await call(method, path, { body })
    expect([path, answer.status], JSON.stringify(answer.body)).toEqual([path, 200])
    return answer.body
  }
  const place = { agentId: "alike", subjectId: "bob" }
  const conversation = [
    { id: "m1", role: "user", content: "My name is Bob and I live in Oslo.", sentAt: "2026-03-01T09:00:00Z" },
    { id: "m2", role: "assistant", content: "Nice to meet you, Bob!", sentAt: "2026-03-01T09:01:00Z" },
    { id: "m3", role: "user", content: "My sister visits me tomorrow.", sentAt: "2026-03-02T09:00:00Z" }
  ]
  const { created } = await done("POST", "/v1/memories", { ...place, threadId: "t", conversation, wait: "extraction" })
  await done("POST", "/v1/memories", {
    ...place,
    memories: [{ kind: "instruction_memory", data: { text: "Be brief." } }]
  })
  const home = created.find(({ data }: { readonly data: { readonly fact?: string } }) => data.fact?.includes("Oslo"))
  const data = { subject: "Bob", fact: "Bob lives in Bergen" }
  await done("PATCH", `/v1/memories/${home.id}`, { data })
  await done("POST", `/v1/memories/${home.id}/restore`)
  const asked = { ...place, query: "Where does Bob live?", now: "2026-03-03T12:00:00Z", format: "json" }
  const search = "/v1/memories/search?query=sister&kind=conversation_message&context=2&now=2026-03-03T12:00:00Z"
  const told: Array<unknown> = []
  for (let time = 0; time < times; time++) {
    told.push(
      alike([
        await done("POST", "/v1/context", asked),
        await done("GET", "/v1/subjects"),
        await done("GET", "/v1/subjects/bob/profile"),
        await done("GET", `/v1/memories/${home.id}/history`),
        await done("GET", search)
      ])
    )
  }
  return told
}

const alike = (answers: ReadonlyArray<unknown>): unknown => {
  const seen = new Map<string, string>()
  const named = (found: string): string => {
    const name = seen.get(found) ?? `id ${seen.size}`
    seen.set(found, name)
    return name
  }
  const plain = JSON.stringify(answers)
    .replaceAll(/(?:mem|key)_[0-9A-Za-z]+/g, named)
    .replaceAll(/"(?:searchedAt|version)":"[^"]*"/g, '"of":"this call"')
    .replaceAll(/\b\d{13}\b/g, "0")
  return JSON.parse(plain)
}

describe("a cluster of three nodes", () => {
  const kept = new Map<string, Array<string>>()
  const write = async (node: NodeProcess, agentId: string) => {
    const ids = kept.get(agentId) ?? []
    kept.set(agentId, ids)
    ids.push(await store(node, agentId))
  }
  const expectAll = async (nodes: ReadonlyArray<NodeProcess>) => {
    for (const node of nodes)
      for (const [agentId, ids] of kept) expect(await listed(node, agentId)).toEqual(ids.toSorted())
  }

  it("takes every request at every node", async () => {
    for (let round = 0; round < 4; round++) for (const node of cluster.nodes) await write(node, `agent-${round}`)
    await expectAll(cluster.nodes)
    const [first, second, third] = cluster.nodes as [NodeProcess, NodeProcess, NodeProcess]
    const secret = await callsOf(first).newAccount("one of all nodes")
    for (const node of cluster.nodes) {
      const mine = await callsOf(node, secret).call("GET", "/v1/credits")
      expect(mine.status).toBe(200)
    }
    const found = await callsOf(second).call("GET", "/v1/memories/search?query=fact&agentId=agent-1")
    expect(found.body.memories.length).toBe(3)
    const tools = await callsOf(third).call("POST", "/mcp", {
      body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
      headers: { accept: "application/json, text/event-stream" }
    })
    expect(tools.status).toBe(200)
    const keys = await Promise.all(
      cluster.nodes.map((node) => callsOf(node).call("GET", "/.well-known/muniment-keys.json", { key: null }))
    )
    expect(new Set(keys.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  })

  it(
    "hands over contexts, profiles, histories and turns alike at every node, and as one machine does",
    { timeout: patienceMillis },
    async () => {
      const box = await sharedServer(withoutModel)
      const [first, second, third] = cluster.nodes as [NodeProcess, NodeProcess, NodeProcess]
      const secret = await callsOf(first).newAccount("alike")
      const nodes = [second, third, first].map((node) => callsOf(node, secret))
      let turn = 0
      const told = {
        box: await toldBy(await accountCalls(box, "alike"), 1),
        // Each change and each read at another node.
        cluster: await toldBy({ call: (...call) => nodes[turn++ % nodes.length]!.call(...call) }, nodes.length)
      }
      for (const answers of told.cluster) expect(answers).toEqual(told.box[0])
    }
  )

  it("takes a request line and headers of 60 KB at every node, and refuses more with a body", async () => {
    const search = (node: NodeProcess, padding: number) =>
      callsOf(node).call("GET", `/v1/memories/search?query=${encodeURIComponent("\u{1F98A}".repeat(1_900))}`, {
        headers: { "x-padding": "x".repeat(padding) }
      })
    for (const node of cluster.nodes) {
      expect(await search(node, 35_000)).toMatchObject({ status: 200, body: { success: true } })
      expect(await search(node, 45_000)).toMatchObject({ status: 431, body: { code: "headers_too_large" } })
    }
  })

  it("says how its nodes are, by what PostgreSQL knows", { timeout: patienceMillis }, async () => {
    const environment = { MUNIMENT_DATABASE_URL: Redacted.value(cluster.postgres.url()) }
    const status = async () => JSON.parse((await runMuniment(["cluster", "status", "--json"], environment)).out)
    // Nodes that have just started may still hand shards to each other.
    await expect
      .poll(status, { timeout: patienceMillis })
      .toMatchObject({ shards: { held: 1_024, of: 1_024, holders: 3 } })
    const { control, nodes, tails } = await status()
    const names = cluster.nodes.map(({ ports }) => `127.0.0.1:${ports.nodePort}`).toSorted()
    expect(nodes.map(({ name }: { name: string }) => name)).toEqual(names)
    for (const { leaseMillis } of nodes) expect(leaseMillis).toBeGreaterThan(0)
    expect(control.owner).toBe(`127.0.0.1:${(await ownerOf()).ports.nodePort}`)
    expect(control.records).toBeGreaterThan(0)
    // Each agent was written to three times, which is too little for a base.
    expect(tails.agents).toBeGreaterThanOrEqual(4)
    expect(tails.records).toBeGreaterThanOrEqual(12)
    expect(tails.longest[0].records).toBeGreaterThanOrEqual(3)
    const { out } = await runMuniment(["cluster", "status"], environment)
    for (const name of names) expect(out).toContain(name)
    expect(out).toMatch(/owns control\.db\n/)
  })

  it("counts a caller by its own address, through whichever node it comes", async () => {
    for (const node of cluster.nodes) {
      // Answered on this machine only.
      expect((await callsOf(node).call("GET", "/metrics", { key: null })).status).toBe(200)
      const forwarded = await callsOf(node).call("GET", "/metrics", {
        key: null,
        headers: { "x-forwarded-for": "203.0.113.9" }
      })
      expect(forwarded.status).toBe(403)
    }
  })

  if (isLongRun)
    it("has all that was acknowledged after its owner was killed", { timeout: patienceMillis }, async () => {
      const owner = await ownerOf()
      const [left, right] = others(owner) as [NodeProcess, NodeProcess]
      const writing = Promise.all(
        [left, right].map(async (node, at) => {
          for (let round = 0; round < 20; round++) await write(node, `killed-${at}`)
        })
      )
      await new Promise((resume) => setTimeout(resume, 200))
      await expectRepeatable(await frozenWith(owner, left, () => void owner.kill()))
      await writing
      await expectAll([left, right])
      await owner.startAgain()
      await expectAll(cluster.nodes)
    })

  it(
    "loses no write and doubles none while its nodes are stopped one after the other",
    { timeout: 600_000 },
    async () => {
      /** What says neither that a write is done nor that it may come again. */
      const objections: Array<string> = []
      const writes: Array<{ readonly agent: string; readonly number: number; readonly id: string }> = []
      let [number, turn] = [0, 0]
      const pause = () => new Promise((resume) => setTimeout(resume, 20))
      /** Node after node, until one has it. */
      const writeOnce = async (agent: string, at: number): Promise<string> => {
        for (const until = Date.now() + patienceMillis; ; await pause()) {
          const answer = await callsOf(cluster.nodes[turn++ % cluster.nodes.length]!)
            .call("POST", "/v1/memories", {
              body: { agentId: agent, memories: [fact(agent, `fact ${at}`)] },
              headers: { "idempotency-key": `planned ${at}` }
            })
            .catch(() => undefined)
          if (answer?.status === 200) return answer.body.created[0].id
          if (answer !== undefined && (answer.status !== 503 || answer.headers.get("retry-after") === null))
            objections.push(`${answer.status} ${JSON.stringify(answer.body)}`)
          if (Date.now() > until) throw new Error(`no answer to write ${at}: ${JSON.stringify(answer?.body)}`)
        }
      }
      const over = new AbortController()
      const calling = Promise.all(
        Array.from({ length: callers }, async (_, caller) => {
          // One answer lists a hundred.
          for (let mine = 0; !over.signal.aborted; mine++) {
            const [agent, at] = [`planned-${caller}-${Math.floor(mine / 100)}`, ++number]
            writes.push({ agent, number: at, id: await writeOnce(agent, at) })
            await pause()
          }
        })
      )
      const left =
        /this node has left the service to others.*handOverMillis.*drainMillis.*servicesMillis.*releaseMillis/
      for (const node of cluster.nodes) {
        const before = writes.length
        await expect.poll(() => writes.length).toBeGreaterThan(before + callers)
        const isOwner = node === (await ownerOf())
        expect(await node.stop(), node.output()).toBe(0)
        if (isOwner) expect(node.output()).toMatch(left)
        const after = writes.length
        await expect.poll(() => writes.length).toBeGreaterThan(after + callers)
        await node.startAgain()
      }
      over.abort()
      await calling
      expect(objections).toEqual([])
      for (const { agent, id, number: at } of writes.slice(-100)) expect(await writeOnce(agent, at)).toBe(id)
      for (const [agent, mine] of Map.groupBy(writes, (one) => one.agent))
        expect(await listed(cluster.nodes[0]!, agent)).toEqual(mine.map(({ id }) => id).toSorted())
    }
  )

  it("is served by another node while its owner stands still", { timeout: patienceMillis }, async () => {
    const owner = await ownerOf()
    const [left, right] = others(owner) as [NodeProcess, NodeProcess]
    await expectRepeatable(await frozenWith(owner, left))
    await write(left, "frozen")
    await write(right, "frozen")
    owner.signal("SIGCONT")
    await write(owner, "frozen")
    await expectAll(cluster.nodes)
    const books = await callsOf(left).call("GET", "/admin/ledger/check", { key: operatorToken })
    expect(books.status).toBe(200)
  })

  it(
    "answers 503 with Retry-After while the database is away, and goes on afterwards",
    { timeout: patienceMillis },
    async () => {
      const [node] = cluster.nodes as [NodeProcess]
      await cluster.postgres.kill()
      const refused = await callsOf(node).call("POST", "/v1/memories", {
        body: {
          agentId: "away",
          memories: [{ kind: "factual_memory", data: { subject: "nobody", fact: "nobody keeps it" } }]
        }
      })
      expect(refused.status).toBe(503)
      expect(refused.headers.get("retry-after")).not.toBeNull()
      await cluster.postgres.startAgain()
      await write(node, "back")
      await expectAll(cluster.nodes)
    }
  )
})
