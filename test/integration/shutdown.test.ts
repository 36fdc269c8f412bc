/** The end of a server, and the bounds of its listener. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { describe, expect, it, vi } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { acceptedRequest } from "../support/PendingRequest.ts"
import { operatorKey, patienceMillis, startServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const memory = (text: string) => ({
  agentId: `agent ${text.length % 3}`,
  memories: [{ kind: "factual_memory", data: { subject: text, fact: `It was said that ${text} came` } }]
})

describe.concurrent("SIGTERM under load", () => {
  const dataDirectory = temporaryDirectory()

  it("cuts no accepted request, ends with 0, and all that was answered is there afterwards", async () => {
    const server = await startServer({ dataDirectory })
    const stored: Array<string> = []
    const load = { isOver: false }
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      for (let at = 0; !load.isOver; at++) {
        const body = memory(`worker ${worker} ${"x".repeat(at % 5)} ${at}`)
        const answer = await server.call("POST", "/v1/memories", { body }).catch(() => undefined)
        if (answer === undefined) return
        expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        stored.push(answer.body.created[0].id)
      }
    })
    const pending = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        acceptedRequest(server.url, operatorKey, "/v1/memories", JSON.stringify(memory(`pending ${at}`)))
      )
    )
    const stopped = server.stop()
    await refusesConnections(server.url)
    const answers = await Promise.all(pending.map(({ finish }) => finish()))
    expect(await stopped).toBe(0)
    load.isOver = true
    await Promise.all(workers)
    expect(answers.map((answer) => answer?.status)).toEqual(pending.map(() => 200))
    for (const answer of answers) stored.push(JSON.parse(answer!.text).created[0].id)

    const again = await startServer({ dataDirectory })
    for (const id of stored) expect((await again.call("GET", `/v1/memories/${id}`)).status).toBe(200)
    expect(await again.stop()).toBe(0)
  })

  it("does not wait for ever for a body that never comes", async () => {
    const server = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    await acceptedRequest(server.url, operatorKey, "/v1/memories", JSON.stringify(memory("never sent")))
    expect(await server.stop()).toBe(0)
  })

  it("ends at once when only idle connections are left", async () => {
    const server = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    const draining = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    const idle = await Promise.all(Array.from({ length: 20 }, () => open(server.url)))
    await server.call("GET", "/health/live")
    // Last, since the time for which its body is waited for runs from here.
    await acceptedRequest(draining.url, operatorKey, "/v1/memories", JSON.stringify(memory("never sent")))
    const ended: Array<string> = []
    const ending = [draining.stop().then(() => ended.push("draining"))]
    ending.push(server.stop().then((code) => ended.push(`idle with ${code}`)))
    await Promise.all(ending)
    expect(ended).toEqual(["idle with 0", "draining"])
    for (const socket of idle) socket.destroy()
  })
})

describe.concurrent("connections", () => {
  const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })

  it("that send their headers drop by drop are closed", async () => {
    const startedMillis = performance.now()
    const closed = Array.from({ length: 48 }, async (_, at) => {
      // An address that the other test does not fill.
      const socket = await open(server.url, "127.0.0.3")
      if (at % 3 > 0) socket.write("GET /v1/account HTTP/1.1\r\nhost: x\r\n")
      const drops = setInterval(() => socket.writable && at % 3 === 2 && socket.write("x-slow: y\r\n"), 500)
      // A drop after the end resets the connection, which `once` would take for a failure.
      await new Promise((resume) => socket.resume().once("close", resume))
      clearInterval(drops)
      return performance.now() - startedMillis
    })
    const millis = Math.max(...(await Promise.all(closed)))
    expect(millis).toBeGreaterThan(Limits.headerTimeoutMillis - 500)
    expect(await statusFrom("127.0.0.3", server.url)).toBe(200)
  })

  it("above the cap of one address are closed, and others are served", async ({ expect }) => {
    const more = 40
    const sockets: Array<Socket> = []
    let refused = 0
    for (let at = 0; at < Limits.connectionsPerAddressMax + more; at++) {
      const socket = await open(server.url)
      socket.on("close", () => refused++).resume()
      sockets.push(socket)
    }
    await expect.poll(() => refused, { timeout: patienceMillis }).toBeGreaterThanOrEqual(more)
    expect(await statusFrom("127.0.0.2", server.url)).toBe(200)
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => statusFrom("127.0.0.1", server.url), { timeout: patienceMillis }).toBe(200)
  })
})

const open = async (url: string, localAddress = "127.0.0.1"): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress })
  await once(socket, "connect")
  // A connection that the server resets is closed, which is what the tests look at.
  socket.on("error", () => socket.destroy())
  return socket
}

/** Status of a request from this address; undefined when the connection was closed. */
const statusFrom = async (localAddress: string, url: string): Promise<number | undefined> => {
  const socket = await open(url, localAddress)
  socket.write("GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
  })
  await once(socket, "close")
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** Waits until the listener is closed. Not by `expect.poll`, which knows one test at a time. */
const refusesConnections = (url: string): Promise<boolean> =>
  vi.waitUntil(
    () =>
      open(url).then(
        (socket) => {
          socket.destroy()
          return false
        },
        () => true
      ),
    { timeout: patienceMillis, interval: 20 }
  )
