/** One spelling for each path (contract: Conventions): aliases of a route are unknown, whatever a router makes of them. */
import { request as send } from "node:http"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { beforeAll, expect, it } from "vitest"
import { fact, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
const caller = useAccount(server, "aliases")
let id: string
beforeAll(async () => {
  const [made] = await caller.create("a", [fact("tea", "sencha")])
  id = made.id
})

/** The path as it stands: `fetch` would normalise it. */
const get = async (path: string) => {
  const { hostname, port } = new URL(server.url)
  const sent = send({ host: hostname, port, path, headers: { authorization: `Bearer ${caller.key}` } }).end()
  const [answer] = await once(sent, "response")
  return { status: answer.statusCode as number, body: await text(answer) }
}

it.each([
  "/v1/memories;x",
  "/v1/memories;x=1?limit=1",
  "/v1/memories/ID;x",
  "/v1/%6demories",
  "/v1/memories/se%61rch?query=tea",
  "/v1%2Fmemories",
  "/%761/account",
  "/v1/account;",
  "/health/live;x",
  "/metric%73",
  "/%61dmin/status"
])("%s is unknown", async (path) => {
  const { body, status } = await get(path.replace("ID", id))
  expect([status, JSON.parse(body).code]).toEqual([404, expect.stringMatching(/^(?:route|memory)_not_found$/)])
})

it.each(["/v1/memories", "/v1/memories/ID", "/v1/memories/search?query=tea;x", "/health/live"])(
  "%s is known",
  async (path) => {
    expect((await get(path.replace("ID", id))).status).toBe(200)
  }
)
