/**
 * A data directory of the first build (commit 852b6eb) moves into a cluster over a real PostgreSQL, is served there, and
 * moves back; what a service was killed with moves as well, and comes back row by row.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ClusterProcesses } from "../../scripts/cluster/ClusterProcesses.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { runMuniment } from "../support/CliProcess.ts"
import { inDatabase } from "../support/ClusterDatabase.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { openToPostgres } from "../support/clusterEnvironment.ts"
import { firstBuildAnswers as expected, unpackFirstBuild } from "../support/FirstBuild.ts"
import { databasesOf, tablesOf } from "../support/movedRows.ts"
import { s3Environment, startS3Server } from "../support/S3Server.ts"
import { freePort, patienceMillis, serverCalls, startServer } from "../support/TestServer.ts"

const [first, second] = expected.accounts.map(({ key }: { readonly key: string }) => key) as [string, string]

let root: string
let cluster: ClusterProcesses
let environment: Record<string, string>

beforeAll(async () => {
  root = temporaryDirectory()
  openToPostgres(root)
  const node = {
    MUNIMENT_EMBEDDING_MODEL: "none",
    MUNIMENT_RATE_LIMITS: "off",
    MUNIMENT_QUEUE_WAIT_MILLIS: "60000"
  }
  cluster = await ClusterProcesses.start({ directory: root, nodes: 0, freePort, environment: node })
  environment = {
    MUNIMENT_DATABASE_URL: Redacted.value(cluster.postgres.url()),
    MUNIMENT_BASES: join(root, "bases"),
    MUNIMENT_CLUSTER_SECRET: readFileSync(join(root, "cluster.key"), "utf8"),
    MUNIMENT_DATA_DIR: join(root, "box")
  }
  unpackFirstBuild(box())
}, patienceMillis)
afterAll(() => cluster?.stop())

const withoutModel = { MUNIMENT_BOOTSTRAP_KEY: "", MUNIMENT_EMBEDDING_MODEL: "none" }

const box = () => join(root, "box")

const migrate = (args: ReadonlyArray<string>, other: Record<string, string> = {}) =>
  runMuniment(["migrate", ...args], { ...environment, ...other })

/** The first build had no versions. */
const withVersion = (memory: object) => ({ ...memory, version: expect.stringMatching(/^[0-9a-f]{32}$/) })

/** To look is charged, and the first look of a month renews the allowance. */
const isLasting = ({ kind }: { readonly kind: string }) => !/^(?:charge|allowance|allowance_expired)$/.test(kind)

/** What an account can see of itself: every version of every memory, schemas, movements of its purses. */
const seenBy = async (url: string, key: string) => {
  const { call } = serverCalls(url, "", key)
  const body = async (path: string) => {
    const answer = await call("GET", path)
    expect(answer.status, path).toBe(200)
    return answer.body
  }
  const { memories } = await body("/v1/memories?limit=100&includeSuperseded=true")
  const { account, agents } = await body("/v1/account")
  const { transactions } = await body("/v1/credits/transactions?limit=100")
  return {
    memories,
    account,
    agents,
    transactions: transactions.filter(isLasting),
    schemas: await body("/v1/schemas")
  }
}

const inCluster = <A, E>(name: string, use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.runPromise(inDatabase(cluster.postgres.url(name), use))

const leftIn = (folder: string, name: string): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), "half of a copy")
}

describe("muniment migrate", () => {
  it("refuses what it cannot move, and moves nothing", async () => {
    const absent = await migrate(["--to", "cluster"], { MUNIMENT_DATA_DIR: join(root, "nothing") })
    expect(absent).toMatchObject({ code: 1, err: expect.stringContaining("holds no installation") })
    const without = await migrate(["--to", "cluster"], { MUNIMENT_CLUSTER_SECRET: "" })
    expect(without).toMatchObject({ code: 1, err: expect.stringContaining("MUNIMENT_CLUSTER_SECRET") })
    const empty = await migrate(["--from", "cluster", "--to", join(root, "out")])
    expect(empty).toMatchObject({ code: 1, err: expect.stringContaining("no data of a cluster") })
    const dry = await migrate(["--to", "cluster", "--dry-run"])
    expect(dry).toMatchObject({ code: 0, out: expect.stringMatching(/\(\d+ agents with .* can be moved/) })
    expect(readdirSync(join(root, "bases"))).toEqual([])
  })

  it("moves the first build's directory into a cluster, which serves it", { timeout: patienceMillis }, async () => {
    const before = databasesOf(box())
    const moved = await migrate(["--to", "cluster"])
    expect(moved.err).toBe("")
    expect(moved).toMatchObject({ code: 0, out: expect.stringContaining("are in the cluster") })
    expect(databasesOf(box())).toEqual(before)
    const again = await migrate(["--to", "cluster"])
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("was moved into the cluster of 127.0.0.1") })
    await expect(startServer({ dataDirectory: box(), environment: withoutModel })).rejects.toThrow(
      /was moved into the cluster of 127\.0\.0\.1.*delete .*moved-to-cluster/s
    )
    rmSync(join(box(), "moved-to-cluster"))
    const used = await migrate(["--to", "cluster"])
    expect(used).toMatchObject({ code: 1, err: expect.stringContaining("empty database only") })
    const node = await cluster.startNode()
    for (const { account, key, memories, schemas, transactions } of expected.accounts) {
      const { call } = serverCalls(node.url, "", key)
      const seen = await seenBy(node.url, key)
      expect(seen.account).toEqual(account.account)
      expect(seen.agents).toEqual(expect.arrayContaining(account.agents))
      expect(seen.transactions).toEqual(transactions.transactions.filter(isLasting))
      expect(seen.schemas).toEqual(schemas)
      for (const { memory } of memories)
        expect((await call("GET", `/v1/memories/${memory.id}`)).body.memory).toEqual(withVersion(memory))
    }
    const keys = await serverCalls(node.url, "").call("GET", "/.well-known/muniment-keys.json", { key: null })
    expect(keys.body).toEqual(expected.keys)
    const running = await migrate(["--from", "cluster", "--to", join(root, "out")])
    expect(running).toMatchObject({ code: 1, err: expect.stringContaining("stop all of them") })
  })

  it("moves back what the cluster has since", { timeout: patienceMillis }, async () => {
    const [node] = cluster.nodes
    if (node === undefined) throw new Error("no node runs")
    const { call } = serverCalls(node.url, "", second)
    for (const fact of ["one", "two", "three"]) {
      const memories = [{ kind: "factual_memory", data: { subject: "the move", fact } }]
      const stored = await call("POST", "/v1/memories", { body: { agentId: "moved", memories } })
      expect(stored.status, JSON.stringify(stored.body)).toBe(200)
      const { id } = stored.body.created[0]
      if (fact === "three") expect((await call("DELETE", `/v1/memories/${id}`)).status).toBe(200)
    }
    const seen = [await seenBy(node.url, first), await seenBy(node.url, second)]
    expect(await node.stop()).toBe(0)
    const out = join(root, "out")
    const moved = await migrate(["--from", "cluster", "--to", out])
    expect(moved).toMatchObject({ code: 0, out: expect.stringContaining("every memory was read there") })
    await expect(cluster.startNode()).rejects.toThrow(/was moved into .*out on .*npm run muniment -- cluster reopen/s)
    const elsewhere = await migrate(["--from", "cluster", "--to", join(root, "elsewhere")])
    expect(elsewhere).toMatchObject({ code: 1, err: expect.stringContaining("npm run muniment -- cluster reopen") })
    const status = await runMuniment(["cluster", "status"], environment)
    expect(status.out).toContain(`Its data was moved into ${out} on `)
    expect((await runMuniment(["cluster", "reopen"], environment)).out).toContain("serves again")
    expect(await migrate(["--from", "cluster", "--to", join(root, "elsewhere"), "--dry-run"])).toMatchObject({
      code: 0
    })
    const onto = await migrate(["--from", "cluster", "--to", out])
    expect(onto).toMatchObject({ code: 1, err: expect.stringContaining("it is not empty") })
    const server = await startServer({ dataDirectory: out, environment: withoutModel })
    expect([await seenBy(server.url, first), await seenBy(server.url, second)]).toEqual(seen)
    const proof = await server.asOperator("GET", "/admin/ledger/check")
    expect(proof.status).toBe(200)
    const locked = await migrate(["--to", "cluster"], { MUNIMENT_DATA_DIR: out })
    expect(locked).toMatchObject({ code: 1, err: expect.stringContaining("is in use by another Muniment") })
    const memories = [{ kind: "factual_memory", data: { subject: "the move", fact: "killed behind this" } }]
    const last = await server.call("POST", "/v1/memories", { body: { agentId: "moved", memories }, key: second })
    expect(last.status).toBe(200)
    await server.kill()
  })

  it("brings back every row of a directory whose service was killed", { timeout: patienceMillis }, async () => {
    await inCluster("postgres", (sql) => sql`CREATE DATABASE second`)
    const from = join(root, "out")
    const to = join(root, "again")
    const place = { MUNIMENT_DATABASE_URL: Redacted.value(cluster.postgres.url("second")), MUNIMENT_DATA_DIR: from }
    expect(await migrate(["--to", "cluster"], place)).toMatchObject({ code: 0 })
    // Killed after its transaction: the repetition finds that it is done.
    const mark = join(from, "moved-to-cluster")
    const done = readFileSync(mark, "utf8")
    const interrupted = done.replace('"isDone":true', '"isDone":false')
    writeFileSync(mark, interrupted)
    expect(await migrate(["--to", "cluster"], place)).toMatchObject({ code: 0 })
    expect(readFileSync(mark, "utf8")).toBe(done)
    // What a move leaves that is killed before its transaction: bases, and a copy that is not whole.
    writeFileSync(mark, interrupted)
    await inCluster(
      "second",
      (sql) => sql`TRUNCATE muniment_log.namespace_owner, muniment_log.secret, muniment_log.move`
    )
    leftIn(join(from, "moving"), "copy.db")
    const bases = readdirSync(join(root, "bases"), { recursive: true }).toSorted()
    expect(await migrate(["--to", "cluster"], place)).toMatchObject({ code: 0 })
    expect(readdirSync(join(root, "bases"), { recursive: true }).toSorted()).toEqual(bases)
    expect(existsSync(join(from, "moving"))).toBe(false)
    // The same of a move into a directory.
    leftIn(join(to, "namespaces"), "000000000000.db")
    writeFileSync(join(to, "restore-unfinished"), "migrate\n")
    expect(await migrate(["--from", "cluster", "--to", to], place)).toMatchObject({ code: 0 })
    expect(databasesOf(to)).toEqual(databasesOf(from))
    expect(tablesOf(to)).toEqual(tablesOf(from))
    for (const secret of ["operator-token", "attestation-keys.json"])
      expect(readFileSync(join(to, secret), "utf8")).toBe(readFileSync(join(from, secret), "utf8"))
    expect(existsSync(join(to, "restore-unfinished"))).toBe(false)
  })

  if (isLongRun)
    it("moves with bases in a bucket, and back", { timeout: patienceMillis }, async () => {
      const store = await startS3Server(join(root, "s3"), "bases")
      try {
        await inCluster("postgres", (sql) => sql`CREATE DATABASE third`)
        const bucket = {
          MUNIMENT_DATABASE_URL: Redacted.value(cluster.postgres.url("third")),
          MUNIMENT_BASES: "s3://bases/of/muniment",
          MUNIMENT_DATA_DIR: join(root, "again"),
          ...s3Environment(store.port)
        }
        const wrongKey = await migrate(["--to", "cluster"], { ...bucket, AWS_SECRET_ACCESS_KEY: "another" })
        expect(wrongKey).toMatchObject({ code: 1, err: expect.stringContaining("s3://bases/of/muniment") })
        expect(await migrate(["--to", "cluster"], bucket)).toMatchObject({ code: 0 })
        const to = join(root, "from-bucket")
        expect(await migrate(["--from", "cluster", "--to", to], bucket)).toMatchObject({ code: 0 })
        expect(tablesOf(to)).toEqual(tablesOf(join(root, "again")))
      } finally {
        await store.close()
      }
    })
})
