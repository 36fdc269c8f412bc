/**
 * A data directory of commit 12d91ac4, the last build whose log records did not name the one before them, killed with
 * `kill -9` behind writes that only its log has, opens with all that it acknowledged: `test/vectors/logged-build` has the
 * directory (without what a start makes again) and what its API answered.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { idsOf } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { repository, startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

interface EarlierAccount {
  readonly key: string
  readonly memories: ReadonlyArray<{ readonly id: string; readonly metadata: object }>
  readonly account: ReadonlyArray<object>
  readonly credits: { readonly balance: object; readonly plan: string; readonly allowance: object }
}

const vectors = join(repository, "test/vectors/logged-build")
const expected: { readonly accounts: ReadonlyArray<EarlierAccount>; readonly searched: ReadonlyArray<string> } =
  JSON.parse(readFileSync(join(vectors, "expected.json"), "utf8"))
const [, second] = expected.accounts as [EarlierAccount, EarlierAccount]

const directory = temporaryDirectory()
let server: TestServer

beforeAll(async () => {
  const unpacked = spawnSync("tar", ["xzf", join(vectors, "data.tar.gz"), "-C", directory], { encoding: "utf8" })
  if (unpacked.status !== 0) throw new Error(`tar: ${unpacked.stderr}${unpacked.error?.message ?? ""}`)
  server = await startServer({
    dataDirectory: directory,
    environment: { ...withoutModel, MUNIMENT_BOOTSTRAP_KEY: "" }
  })
})

afterAll(async () => {
  await server?.stop()
})

const bodyOf = async (path: string, key: string) => {
  const { status, body } = await server.call("GET", path, { key })
  expect(status, path).toBe(200)
  return body
}

it("keeps every memory, agent and balance that was acknowledged", async () => {
  for (const { account, credits, key, memories } of expected.accounts) {
    const listed = await bodyOf("/v1/memories?limit=100&includeSuperseded=true", key)
    expect(listed.memories).toEqual(memories)
    const { agents } = await bodyOf("/v1/account", key)
    expect(agents).toEqual(expect.arrayContaining([...account]))
    expect(await bodyOf("/v1/credits", key)).toMatchObject({ balance: credits.balance, plan: credits.plan })
  }
})

it("searches them, and takes new ones, through a kill and another start", async () => {
  const search = "/v1/memories/search?query=fact+number+7&agentId=shop&limit=3"
  expect(idsOf((await bodyOf(search, second.key)).memories)).toEqual(expected.searched)
  const write = (number: number) =>
    server.call("POST", "/v1/memories", {
      key: second.key,
      headers: { "idempotency-key": `shop ${number}` },
      body: {
        agentId: "shop",
        ...(number % 3 > 0 && { subjectId: `s${number % 3}` }),
        memories: [
          {
            kind: "factual_memory",
            data: { subject: `number ${number}`, fact: `The fact number ${number} of an earlier build` }
          }
        ]
      }
    })
  const fresh = await write(100)
  expect(fresh.status, JSON.stringify(fresh.body)).toBe(200)
  expect((await bodyOf("/v1/memories?limit=1&includeSuperseded=true", second.key)).total).toBe(
    second.memories.length + 1
  )
  await server.kill()
  server = await startServer({ dataDirectory: directory, environment: { ...withoutModel, MUNIMENT_BOOTSTRAP_KEY: "" } })
  expect((await bodyOf("/v1/memories?limit=1&includeSuperseded=true", second.key)).total).toBe(
    second.memories.length + 1
  )
})
