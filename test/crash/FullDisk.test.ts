/**
 * A disk that is really full: creates answer 507 and nothing that was acknowledged is lost; reads go on; deletes work,
 * while their reserve is out nothing else is written; a restart works on the full disk.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { ballastName } from "@muniment/engine/host/FileGuard"
import { makeSmallDisk, type SmallDisk } from "../support/SmallDisk.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

/** Room for the ballast four times over, below which none is made, and for two segments of the log. */
const diskMebibytes = 128
/** Left by a file that has nothing to do with the service, so that few memories fill the rest. */
const roomMebibytes = 6
/** The words of more memories are on so many pages that the reserve may be too small for one commit. */
const removedTogether = 20
const untilSpare = { timeout: 60_000 }

let disk: SmallDisk
let server: TestServer
/** What was acknowledged and not deleted since. */
const acknowledged = new Set<string>()

const start = () =>
  startServer({
    dataDirectory: disk.outside,
    wrapper: disk.wrapper,
    // "none": the vectors would only take room from the text.
    environment: { MUNIMENT_DATA_DIR: disk.inside, MUNIMENT_EMBEDDING_MODEL: "none" }
  })

const create = async (count: number, words: number, agentId = "agent") => {
  const memories = Array.from({ length: count }, (_, at) => ({
    kind: "factual_memory",
    data: {
      subject: `parrot ${at}`,
      fact: Array.from({ length: words }, (_, word) => `w${(word * 7919 + at) % 50_021}`).join(" ")
    }
  }))
  const answer = await server.call("POST", "/v1/memories", { body: { agentId, memories } })
  if (answer.status === 200) for (const { id } of answer.body.created) acknowledged.add(id)
  return answer
}

/** Creates until even a single short memory finds no room. */
const fillUp = async () => {
  const statuses = new Set<number>()
  for (const [count, words] of [
    [100, 1_000],
    [20, 300],
    [1, 100],
    [1, 1]
  ] as const) {
    for (let isFull = false; !isFull;) {
      const { status, body } = await create(count, words)
      statuses.add(status)
      isFull = status !== 200
      if (isFull) expect([status, body.code]).toEqual([507, "insufficient_storage"])
    }
  }
  return statuses
}

const status = async () => (await server.asOperator("GET", "/admin/status")).body

/** Every acknowledged memory is there, and no other. */
const verify = async () => {
  const listed = new Set<string>()
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { status, body } = await server.call(
      "GET",
      `/v1/memories?limit=100${cursor === undefined ? "" : `&cursor=${cursor}`}`
    )
    expect(status).toBe(200)
    for (const { id } of body.memories) listed.add(id)
    cursor = body.nextCursor
  }
  expect([...acknowledged].filter((id) => !listed.has(id))).toEqual([])
  expect([...listed].filter((id) => !acknowledged.has(id))).toEqual([])
}

const remove = async (ids: ReadonlyArray<string>) => {
  const { status, body } = await server.call("POST", "/v1/memories/batch/delete", { body: { ids } })
  expect([status, body.deleted]).toEqual([200, ids.length])
  for (const id of ids) acknowledged.delete(id)
}

beforeAll(async () => {
  disk = await makeSmallDisk(diskMebibytes)
  server = await start()
  // The log begins a segment with it, and has another one ready before the disk gets full.
  expect((await create(1, 1)).status).toBe(200)
  await vi.waitUntil(() => existsSync(join(disk.outside, "log", "spare")), untilSpare)
  const taken = disk.freeBytes() - roomMebibytes * 1024 * 1024
  writeFileSync(join(disk.outside, "taken by others"), Buffer.alloc(taken))
})
afterAll(async () => {
  await server.stop()
  await disk.remove()
})

describe("on a disk that gets full", () => {
  it("creates are answered with 507 and nothing acknowledged is lost", async () => {
    expect((await status()).disk.ballastBytes).toBeGreaterThan(0)
    expect(await fillUp()).toEqual(new Set([200, 507]))
    expect(acknowledged.size).toBeGreaterThan(100)
    expect((await create(1, 1, "another agent")).status).toBe(507)
    await verify()
  })

  it("a kill and a restart find everything, on the full disk", async () => {
    await server.kill()
    server = await start()
    await verify()
    expect((await server.call("GET", "/health/ready")).status).toBe(200)
  })

  it("gets and searches go on", async () => {
    await fillUp()
    const [id] = acknowledged
    expect((await server.call("GET", `/v1/memories/${id}`)).status).toBe(200)
    const found = await server.call("GET", "/v1/memories/search?query=parrot&limit=100")
    expect([found.status, found.body.memories.length]).toEqual([200, 100])
    expect((await server.call("GET", "/v1/account")).status).toBe(200)
  })

  it("deletes work, by id, in a batch and by filter", async () => {
    const [first, ...others] = acknowledged
    expect((await server.call("DELETE", `/v1/memories/${first}`)).status).toBe(200)
    acknowledged.delete(first!)
    for (let from = 0; from < others.length / 2; from += removedTogether)
      await remove(others.slice(from, from + removedTogether))
    await verify()
    const { body } = await server.call("POST", "/v1/memories/batch/delete", {
      body: { filters: { agentId: "agent" } }
    })
    expect(body.deleted).toBe(acknowledged.size)
    acknowledged.clear()
    await verify()
  })

  it("the reserve is kept for deletes: while it is out creates answer 507, also after a kill and a restart", async () => {
    // Deletes have taken it, unless housekeeping found them room before.
    rmSync(join(disk.outside, ballastName), { force: true })
    for (let restarts = 0; restarts < 2; restarts++) {
      const before = disk.freeBytes()
      for (let again = 0; again < 20; again++) {
        const { status, body } = await create(100, 1_000, `agent ${again % 2}`)
        expect([status, body.code]).toEqual([507, "insufficient_storage"])
      }
      expect(disk.freeBytes()).toBeGreaterThan(before - 1_048_576)
      const removed = await server.call("POST", "/v1/memories/batch/delete", {
        body: { filters: { agentId: "agent" } }
      })
      expect(removed.status).toBe(200)
      await server.kill()
      server = await start()
    }
  })

  it("creates work again once there is room, and a clean restart keeps them", async () => {
    rmSync(join(disk.outside, "taken by others"))
    expect((await create(50, 200)).status).toBe(200)
    await verify()
    expect(await server.stop()).toBe(0)
    server = await start()
    await verify()
    expect((await create(50, 200, "another agent")).status).toBe(200)
  })
})
