/** Backups of directories that no service uses: of the first build, and of a service that was killed. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { done, environmentOf, fill, restored, scratch } from "../support/BackupRun.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { repository, startServer } from "../support/TestServer.ts"

it("a directory of the first build is backed up and comes back whole", async () => {
  const vectors = join(repository, "test/vectors/first-build")
  const expected = JSON.parse(readFileSync(join(vectors, "expected.json"), "utf8"))
  const dataDirectory = scratch("first-build")
  expect(spawnSync("tar", ["xzf", join(vectors, "data.tar.gz"), "-C", dataDirectory]).status).toBe(0)
  const to = scratch("backup")
  await done(["backup", "create", "--to", to], environmentOf({ dataDirectory }))
  await done(["backup", "verify", "--from", to])
  const again = await restored(to)
  for (const { key, memories, transactions } of expected.accounts) {
    expect((await again.call("GET", "/v1/memories?limit=1", { key })).body.total).toBe(memories.length)
    for (const { memory } of memories) {
      expect((await again.call("GET", `/v1/memories/${memory.id}`, { key })).body.memory).toEqual({
        ...memory,
        version: expect.any(String)
      })
    }
    const found = await again.call("GET", "/v1/credits/transactions?limit=100", { key })
    const known = transactions.transactions.map(({ id }: { readonly id: number }) => id)
    expect(found.body.transactions.map(({ id }: { readonly id: number }) => id)).toEqual(expect.arrayContaining(known))
  }
  const books = await again.asOperator("GET", "/admin/ledger/check")
  expect(books.body).toMatchObject({ ok: true, problems: [] })
  await again.stop()
})

if (isLongRun)
  it("a directory whose service was killed is backed up with all that was acknowledged", async () => {
    const dataDirectory = scratch("killed")
    const server = await startServer({ dataDirectory, environment: withoutModel })
    const key = await server.newAccount("killed", "pro")
    const body = {
      agentId: "last",
      memories: [{ kind: "factual_memory", data: { subject: "last", fact: "The last" } }]
    }
    const ids = []
    for (let count = 0; count < 5; count++) {
      const made = await server.call("POST", "/v1/memories", { key, body })
      expect(made.status, JSON.stringify(made.body)).toBe(200)
      ids.push(made.body.created[0].id)
    }
    ids.push(...(await fill(server, "last", ["operator"])))
    await server.kill()
    const to = scratch("backup")
    await done(["backup", "create", "--to", to], environmentOf({ dataDirectory }))
    const again = await restored(to)
    for (const id of ids.slice(0, 5)) expect((await again.call("GET", `/v1/memories/${id}`, { key })).status).toBe(200)
    expect((await again.call("GET", `/v1/memories/${ids[5]}`)).status).toBe(200)
    const spent = await again.call("GET", "/v1/credits/transactions?limit=100", { key })
    const charges = spent.body.transactions.filter(({ type }: { readonly type: string }) => type !== "allowance")
    expect(charges.length, JSON.stringify(spent.body)).toBeGreaterThan(0)
    const books = await again.asOperator("GET", "/admin/ledger/check")
    expect(books.body).toMatchObject({ ok: true, problems: [] })
    await again.stop()
  })
