/**
 * Erasure: what was deleted stands nowhere in the bytes of the data directory once the server has stopped: no row, no
 * full text, no vector, no graph, no kept answer.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeAll, describe, expect, it } from "vitest"
import { filesWith } from "../support/filesWith.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const kept = "ordinaryword"

const fact = (text: string) => ({
  kind: "factual_memory",
  data: { subject: text, fact: `It is said that ${text} came` }
})

/** The stored vectors by memory id. */
const storedVectors = (directory: string): ReadonlyMap<string, Buffer> => {
  const found = new Map<string, Buffer>()
  for (const name of readdirSync(join(directory, "namespaces")).filter((file) => file.endsWith(".db"))) {
    const database = new DatabaseSync(join(directory, "namespaces", name), { readOnly: true })
    const sql = "SELECT id, value FROM memory JOIN vector USING (slot)"
    for (const { id, value } of database.prepare(sql).all()) {
      if (value instanceof Uint8Array) found.set(String(id), Buffer.from(value))
    }
    database.close()
  }
  return found
}

const create = async (server: TestServer, text: string, more: object = {}, headers: Record<string, string> = {}) => {
  const body = { agentId: "agent", memories: Array.from({ length: 5 }, (_, at) => fact(`${text} ${at}`)), ...more }
  const made = await server.call("POST", "/v1/memories", { body, headers })
  expect(made.status).toBe(200)
  const ids: ReadonlyArray<string> = made.body.created.map(({ id }: { readonly id: string }) => id)
  return ids
}

interface Scenario {
  readonly name: string
  /** Stands in everything that the scenario stores and erases. */
  readonly secret: string
  readonly fill: (server: TestServer, secret: string) => Promise<ReadonlyArray<string>>
  readonly erase: (server: TestServer, secret: string, ids: ReadonlyArray<string>) => Promise<void>
}

const scenarios: ReadonlyArray<Scenario> = [
  {
    name: "a memory that was deleted by id",
    secret: "zanzibarone",
    fill: (server, secret) => create(server, secret),
    erase: async (server, _, ids) => {
      for (const id of ids) expect((await server.call("DELETE", `/v1/memories/${id}`)).status).toBe(200)
    }
  },
  {
    name: "memories that were deleted in a batch, tags and all",
    secret: "zanzibartwo",
    fill: async (server, secret) => {
      const ids = await create(server, secret)
      const body = { ids, update: { tags: [`${secret}tag`] } }
      expect((await server.call("POST", "/v1/memories/batch/update", { body })).status).toBe(200)
      return ids
    },
    erase: async (server, _, ids) => {
      const { body } = await server.call("POST", "/v1/memories/batch/delete", { body: { ids } })
      expect(body.deleted).toBe(5)
    }
  },
  {
    name: "memories that were deleted by a filter, some in the run that made them",
    secret: "zanzibarthree",
    fill: (server, secret) => create(server, secret, { threadId: "thread" }),
    erase: async (server, secret) => {
      await create(server, secret, { threadId: "thread" })
      const filters = { agentId: "agent", threadId: "thread" }
      const { body } = await server.call("POST", "/v1/memories/batch/delete", { body: { filters } })
      expect(body.deleted).toBe(10)
    }
  },
  {
    name: "the data that a memory had before it was replaced",
    secret: "zanzibarfour",
    fill: (server, secret) => create(server, secret),
    erase: async (server, _, ids) => {
      const memories = ids.map((id, at) => ({ ...fact(`harmless ${at}`), id }))
      const { body } = await server.call("POST", "/v1/memories", { body: { agentId: "agent", memories } })
      expect(body.updated).toHaveLength(5)
    }
  },
  {
    name: "a deleted memory whose create, change and delete carried an Idempotency-Key",
    secret: "zanzibarfive",
    fill: async (server, secret) => {
      const ids = await create(server, secret, {}, { "idempotency-key": "create it once" })
      const body = { tags: [`${secret}tag`] }
      const headers = { "idempotency-key": "tag it once" }
      expect((await server.call("PATCH", `/v1/memories/${ids[0]}`, { body, headers })).status).toBe(200)
      return ids
    },
    erase: async (server, _, ids) => {
      for (const [at, id] of ids.entries()) {
        const headers = { "idempotency-key": `delete it once ${at}` }
        expect((await server.call("DELETE", `/v1/memories/${id}`, { headers })).status).toBe(200)
      }
    }
  },
  {
    name: "a conversation whose subject was erased: its memories, its turns, what is remembered of them",
    secret: "Zanzibarsix",
    fill: async (server, secret) => {
      expect((await remembered(server, secret)).skippedMessages).toBe(0)
      const { body } = await server.call("GET", "/v1/memories?agentId=agent&subjectId=erased")
      return body.memories.map(({ id }: { readonly id: string }) => id)
    },
    erase: async (server, secret, ids) => {
      const filters = { agentId: "agent", subjectId: "erased" }
      const { body } = await server.call("POST", "/v1/memories/batch/delete", { body: { filters } })
      expect(body.deleted).toBe(ids.length)
      // The messages count as new again.
      const again = await remembered(server, secret)
      expect([again.skippedMessages, again.messages.stored]).toEqual([0, said(secret).length])
      await server.call("POST", "/v1/memories/batch/delete", { body: { filters } })
    }
  }
]

/** Sends the conversation and waits until more than its messages is stored, at once or, on a busy machine, later. */
const remembered = async (server: TestServer, secret: string) => {
  const { body } = await server.call("POST", "/v1/memories", { body: { ...talk(secret), conversation: said(secret) } })
  for (;;) {
    const { total } = (await server.call("GET", "/v1/memories?agentId=agent&subjectId=erased")).body
    if (total > said(secret).length) return body
    await new Promise((wake) => setTimeout(wake, 100))
  }
}

const talk = (secret: string) => ({ agentId: "agent", subjectId: "erased", threadId: `about ${secret}` })
const said = (secret: string) => [
  { id: "e1", role: "user", content: `My name is Ann and I live in ${secret}.` },
  { id: "e2", role: "user", content: `The weather in ${secret} is fine today, isn't it?` },
  { id: "e3", role: "assistant", content: `It is always fine in ${secret}.` }
]

interface Outcome {
  readonly before: ReadonlyArray<string>
  readonly text: ReadonlyArray<string>
  readonly vectors: ReadonlyArray<string>
  readonly vectorCount: number
}

/** Fills, stops and starts (so that everything is in the files), erases, stops, and looks at the bytes. */
const run = async (dataDirectory: string): Promise<ReadonlyMap<string, Outcome>> => {
  const first = await startServer({ dataDirectory })
  await create(first, kept)
  const ids = new Map<string, ReadonlyArray<string>>()
  for (const { secret, fill } of scenarios) ids.set(secret, await fill(first, secret))
  // On a busy machine vectors follow later than the memories.
  while ((await first.call("GET", "/health/ready")).body.checks.embedding.pending > 0)
    await new Promise((wake) => setTimeout(wake, 100))
  expect(await first.stop()).toBe(0)
  const vectors = storedVectors(dataDirectory)
  const before = new Map(scenarios.map(({ secret }) => [secret, filesWith(dataDirectory, secret)]))

  const second = await startServer({ dataDirectory })
  for (const { secret, erase } of scenarios) await erase(second, secret, ids.get(secret)!)
  expect(await second.stop()).toBe(0)
  expect(filesWith(dataDirectory, kept)).not.toEqual([])
  return new Map(
    scenarios.map(({ secret }) => {
      const erased = ids.get(secret)!.flatMap((id) => vectors.get(id) ?? [])
      return [
        secret,
        {
          before: before.get(secret)!,
          text: filesWith(dataDirectory, secret),
          vectors: [...new Set(erased.flatMap((vector) => filesWith(dataDirectory, vector)))],
          vectorCount: erased.length
        }
      ]
    })
  )
}

describe("after a stop, the data directory holds no byte of", () => {
  const dataDirectory = temporaryDirectory()
  let outcomes: ReadonlyMap<string, Outcome>
  beforeAll(async () => {
    outcomes = await run(dataDirectory)
  })

  it.each(scenarios)("$name", ({ secret }) => {
    const { before, vectorCount, ...after } = outcomes.get(secret)!
    expect(before).not.toEqual([])
    expect(vectorCount).toBeGreaterThan(0)
    expect(after).toEqual({ text: [], vectors: [] })
  })
})
