/** More than the service can do (contract: Overload), on the running service. */
import { connect } from "node:net"
import { beforeAll, describe, expect, it, vi } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { type Answer, patienceMillis } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({
  environment: { ...withoutModel, MUNIMENT_QUEUE_WAIT_MILLIS: "100", MUNIMENT_REQUEST_LOG: "on" }
})
let noisy: string
let quiet: string

beforeAll(async () => {
  noisy = await server.newAccount("noisy")
  quiet = await server.newAccount("quiet")
})

const write = (key: string, ...texts: ReadonlyArray<string>): Promise<Answer> =>
  server.call("POST", "/v1/memories", { key, body: { agentId: "a", memories: texts.map((text) => fact("Ann", text)) } })
/** Enough for 600 at once to wait longer than the queue may. */
const muchToWrite = (at: number): ReadonlyArray<string> =>
  Array.from({ length: 10 }, (_, part) => `crowd ${at}, part ${part}`)
const metrics = async (): Promise<string> => (await server.call("GET", "/metrics", { key: null })).body
const sumOf = (text: string, name: string): number =>
  [...text.matchAll(new RegExp(`^muniment_${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].reduce(
    (sum, [, value]) => sum + Number(value),
    0
  )

describe("a crowd of one account's requests", () => {
  it("is served or told when to come again, and health and the operator's routes answer meanwhile", async () => {
    // Keys take turns of their own once they were right.
    for (const key of [noisy, quiet]) expect((await write(key, "first")).status).toBe(200)
    const crowd = Promise.all(Array.from({ length: 600 }, (_, at) => write(noisy, ...muchToWrite(at))))
    const health = await server.call("GET", "/health/live", { key: null })
    const status = await server.asOperator("GET", "/admin/status")
    expect([health.status, status.status]).toEqual([200, 200])
    expect((await write(quiet, "beside the crowd")).status).toBe(200)
    const answers = await crowd
    const refused = answers.filter((answer) => answer.status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.length).toBeGreaterThan(refused.length)
    for (const { body, headers, status: code } of refused) {
      expect([code, body.code]).toEqual(code === 429 ? [429, "rate_limited"] : [503, "overloaded"])
      expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
      expect(headers.get("x-request-id")).toMatch(/\S/)
      expect(["share", "wait"]).toContain(body.details[0].path)
    }
    const text = await metrics()
    expect(sumOf(text, "admission_refused_total")).toBe(refused.length)
    expect(sumOf(text, 'http_requests_total\\{route="/v1/memories",status="(?:429|503)"\\}')).toBe(refused.length)
    const logged = () => server.output().match(/"status":(?:429|503)/g)?.length ?? 0
    await vi.waitFor(() => expect(logged()).toBeGreaterThan(0), patienceMillis)
  })

  it("of strangers at the address of an operator who was added does not keep them out", async () => {
    const { body: added } = await server.asOperator("POST", "/admin/operators", { name: "nora", role: "viewer" })
    const asNora = () => server.call("GET", "/admin/status", { key: added.secret })
    expect((await asNora()).status).toBe(200)
    const crowd = Promise.all(
      Array.from({ length: 700 }, (_, at) => server.call("GET", "/v1/memories?limit=1", { key: `mun_stranger_${at}` }))
    )
    const nora: Array<number> = []
    for (let at = 0; at < 10; at++) nora.push((await asNora()).status)
    expect(new Set((await crowd).map(({ status }) => status))).toContain(503)
    expect(nora).toEqual(nora.map(() => 200))
  })

  it("leaves nothing in work when its clients leave", async () => {
    const leaving = new AbortController()
    const calls = Array.from({ length: 200 }, (_, at) =>
      fetch(`${server.url}/v1/memories?limit=${(at % 50) + 1}`, {
        headers: { authorization: `Bearer ${noisy}` },
        signal: leaving.signal
      }).catch(() => undefined)
    )
    leaving.abort()
    await Promise.all(calls)
    for (;;) {
      const text = await metrics()
      if (sumOf(text, "admission_in_work") + sumOf(text, "admission_waiting") === 0) break
    }
    expect((await write(quiet, "afterwards")).status).toBe(200)
  })
})

describe("bodies", () => {
  it("that announce much and send nothing hold no place, and their room only until others need it", async () => {
    const { hostname, port } = new URL(server.url)
    const sockets = Array.from({ length: 40 }, () => {
      const socket = connect(Number(port), hostname)
      socket.on("error", () => socket.destroy())
      socket.write(
        `POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${noisy}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{`
      )
      return socket
    })
    expect((await write(quiet, "small bodies pass")).status).toBe(200)
    const large = { agentId: "a", memories: [fact("Ann", "x".repeat(60_000))] }
    expect((await server.call("POST", "/v1/memories", { key: quiet, body: large })).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    for (;;) if (sumOf(await metrics(), "admission_body_bytes") === 0) break
  })
})
