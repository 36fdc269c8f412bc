/** The HTTP around peers of bench/http that are libraries. */
import { once } from "node:events"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { jsonServer } from "../../../bench/http/contestants/JsonServer.ts"

const server = jsonServer({
  store: async () => {},
  search: async ({ limit }) => [{ id: "a", subject: "b", name: "c", text: "d" }].slice(0, limit),
  close: async () => {}
})
let url = ""
beforeEach(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

describe("a server of a peer", () => {
  it("answers what the engine finds, and 404 on other routes", async () => {
    const post = (path: string) => fetch(`${url}${path}`, { method: "POST", body: JSON.stringify({ limit: 1 }) })
    expect(await (await post("/search")).json()).toEqual({
      memories: [{ id: "a", subject: "b", name: "c", text: "d" }]
    })
    expect((await post("/other")).status).toBe(404)
  })
  it("keeps idle connections open while other contestants have their turn", async () => {
    const answer = await fetch(url)
    await answer.text()
    expect(server.keepAliveTimeout).toBe(0)
    expect(answer.headers.get("connection")).toBe("keep-alive")
    expect(answer.headers.has("keep-alive")).toBe(false)
  })
})
