/**
 * A data directory of the first build (commit 852b6eb), killed with `kill -9` so that its write-ahead logs are full,
 * opens with everything in it: `test/vectors/first-build` has the directory and what its API answered.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { repository, startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

interface FirstBuildAccount {
  readonly key: string
  readonly account: { readonly account: object; readonly agents: ReadonlyArray<object> }
  readonly memories: ReadonlyArray<{ readonly memory: { readonly id: string; readonly data: { fact?: string } } }>
  readonly schemas: object
  readonly transactions: { readonly transactions: ReadonlyArray<{ readonly id: number }> }
  readonly credits: { readonly balance: object; readonly plan: string }
}

const vectors = join(repository, "test/vectors/first-build")
const expected: { readonly accounts: ReadonlyArray<FirstBuildAccount>; readonly keys: object } = JSON.parse(
  readFileSync(join(vectors, "expected.json"), "utf8")
)
const [operator, second] = expected.accounts as [FirstBuildAccount, FirstBuildAccount]

const directory = temporaryDirectory()
let server: TestServer

beforeAll(async () => {
  const unpacked = spawnSync("tar", ["xzf", join(vectors, "data.tar.gz"), "-C", directory], { encoding: "utf8" })
  if (unpacked.status !== 0) throw new Error(`tar: ${unpacked.stderr}${unpacked.error?.message ?? ""}`)
  server = await startServer({ dataDirectory: directory, environment: { MUNIMENT_BOOTSTRAP_KEY: "" } })
})

afterAll(async () => {
  await server?.stop()
})

const bodyOf = async (path: string, key: string | null) => {
  const { status, body } = await server.call("GET", path, { key })
  expect(status, path).toBe(200)
  return body
}

describe("a data directory of the first build", () => {
  it("keeps its accounts, their keys, plans and agents", async () => {
    for (const { key, account } of expected.accounts) {
      const body = await bodyOf("/v1/account", key)
      expect(body.account).toEqual(account.account)
      expect(body.agents).toHaveLength(account.agents.length)
      expect(body.agents).toEqual(expect.arrayContaining([...account.agents]))
    }
  })

  it("keeps every memory with its data, versions, tags, times and hashes", async () => {
    for (const { key, memories } of expected.accounts) {
      expect((await bodyOf("/v1/memories?limit=1", key)).total).toBe(memories.length)
      for (const { memory } of memories) {
        expect((await bodyOf(`/v1/memories/${memory.id}`, key)).memory).toEqual({
          ...memory,
          version: expect.any(String)
        })
      }
    }
  })

  it("counts what these take for quotas", async () => {
    for (const { key } of expected.accounts) {
      const { memories } = await bodyOf("/v1/memories?limit=100&includeSuperseded=true", key)
      const bytes: ReadonlyArray<number> = memories.map(
        ({ context, data }: { readonly context: { readonly tags: object }; readonly data: object }) =>
          1_024 + Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(context.tags))
      )
      const { quotas } = await bodyOf("/v1/account", key)
      const used = quotas.find(({ name }: { readonly name: string }) => name === "bytes").used
      expect(used).toBe(bytes.reduce((sum, each) => sum + each, 0))
    }
  })

  it("finds what it stored, by words and by meaning", async () => {
    for (const [query, fact, key] of [
      ["oboe", "Kai plays the oboe", operator.key],
      ["who mends musical instruments", "Zoe repairs accordions", second.key]
    ] as const) {
      const { memories } = await bodyOf(`/v1/memories/search?query=${encodeURIComponent(query)}&limit=3`, key)
      expect(memories.map(({ data }: { data: { fact?: string } }) => data.fact)).toContain(fact)
    }
  })

  it("keeps schemas, balances and the movements of credits", async () => {
    for (const { key, schemas, credits, transactions } of expected.accounts) {
      expect(await bodyOf("/v1/schemas", key)).toEqual(schemas)
      expect(await bodyOf("/v1/credits", key)).toMatchObject({ balance: credits.balance, plan: credits.plan })
      const kept = (await bodyOf("/v1/credits/transactions?limit=100", key)).transactions
      expect(kept).toEqual(expect.arrayContaining([...transactions.transactions]))
    }
  })

  it("keeps the key that signed its attestations", async () => {
    expect(await bodyOf("/.well-known/muniment-keys.json", null)).toEqual(expected.keys)
  })

  it("takes new memories: the next version of a unique key supersedes the last one of the first build", async () => {
    const contact = { kind: "contact", data: { email: "bob@example.org", city: "Ghent" } }
    const stored = await server.call("POST", "/v1/memories", {
      key: operator.key,
      body: { agentId: "assistant", memories: [contact] }
    })
    expect(stored.status).toBe(200)
    const { memories } = await bodyOf("/v1/memories/search?query=bob&kind=contact", operator.key)
    expect(memories.map(({ data }: { data: object }) => data)).toEqual([contact.data])
  })
})
