/** Routes at the origin, without credentials or charge (contract: Health and documents). */
import { describe, expect, it } from "vitest"
import { accountCalls, fact } from "../support/MemoryCalls.ts"
import { testNodes } from "../support/OneBox.ts"
import { sharedServer, withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer()

const get = (path: string) => server.call("GET", path, { key: null })

describe("health", () => {
  it("live says that the process answers", async () => {
    const { status, body } = await get("/health/live")
    expect([status, body]).toEqual([200, { status: "live" }])
  })

  it("ready says what works, and with which model", async () => {
    const { status, body } = await get("/health/ready")
    expect(status).toBe(200)
    expect(body).toEqual({
      status: "ready",
      checks: {
        clock: "ok",
        control: "ok",
        embedding: {
          state: "ready",
          model: expect.stringMatching(/\S/),
          search: "by words and meaning",
          reason: null,
          pending: expect.any(Number)
        },
        conversations: { pending: 0, oldestSeconds: 0 },
        quarantined: 0,
        agents: { total: expect.any(Number), setAside: 0, reason: null }
      }
    })
  })

  it("ready degrades without a model and says so, while search goes on by words", async () => {
    const wordsOnly = await sharedServer(withoutModel)
    const { status, body } = await wordsOnly.call("GET", "/health/ready", { key: null })
    expect([status, body.status]).toEqual([200, "degraded"])
    expect(body.checks.embedding).toMatchObject({ model: null, search: "by words alone" })
    const calls = await accountCalls(wordsOnly, "alice")
    const [entry] = await calls.create("a", [fact("Ann", "Ann keeps bees"), fact("Bo", "Bo sails")])
    const [hit] = await calls.search({ query: "bees", explain: "true" })
    expect([hit.id, hit.explain.dense]).toEqual([entry.id, null])
  })
})

describe("metrics", () => {
  const valueOf = (text: string, name: string) => {
    const line = text.split("\n").find((each) => each.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.slice(name.length + 1))
  }

  it("are Prometheus text: each sample with a number and a declared type", async () => {
    await get("/health/live")
    const { status, headers, body } = await get("/metrics")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/)
    const lines = (body as string).split("\n").filter((line) => line !== "")
    const types = new Set(lines.filter((line) => line.startsWith("# TYPE ")).map((line) => line.split(" ")[2]))
    for (const line of lines.filter((each) => !each.startsWith("#"))) {
      const sample = /^([a-z_][a-z0-9_]*)(?:\{[^}]*\})? (\S+)$/.exec(line)
      expect([line, sample !== null]).toEqual([line, true])
      expect(Number.isNaN(Number(sample?.[2]?.replace("+Inf", "Infinity")))).toBe(false)
      expect(types).toContain(sample?.[1]?.replace(/_(bucket|sum|count)$/, ""))
    }
  })

  it("count requests by route and status, and no label holds what a caller sent", async () => {
    const calls = await accountCalls(server, "canary-account")
    const [entry] = await calls.create("canary-agent", [fact("canary-subject", "canary-fact")])
    const counter = 'muniment_http_requests_total{route="/v1/memories/:id",status="200"}'
    const before = valueOf((await get("/metrics")).body, counter) ?? 0
    await calls.get(entry.id)
    await calls.get(entry.id)
    await calls.call("GET", "/v1/memories/canary-id")
    await calls.call("GET", "/canary-path?canary-query=1")
    await calls.search({ query: "canary-query", agentId: "canary-agent", tags: "canary-tag" })
    const { body } = await get("/metrics")
    expect(valueOf(body, counter)).toBe(before + 2)
    expect(valueOf(body, 'muniment_http_requests_total{route="unknown",status="404"}')).toBeGreaterThan(0)
    expect(body).not.toMatch(/canary|mem_/)
  })

  it("tell the state of the process", async () => {
    const { body } = await get("/metrics")
    expect(valueOf(body, "muniment_process_resident_bytes")).toBeGreaterThan(10_000_000)
    expect(valueOf(body, "muniment_scrub_files")).toBeGreaterThanOrEqual(0)
    // Of this machine: the agents of a cluster may be open on other nodes.
    expect(valueOf(body, "muniment_namespaces_open")).toBeGreaterThanOrEqual(testNodes > 1 ? 0 : 1)
    expect(valueOf(body, "muniment_namespaces_quarantined")).toBe(0)
    expect(valueOf(body, "muniment_event_loop_delay_p99_seconds")).toBeGreaterThanOrEqual(0)
  })
})

describe("documents", () => {
  it("docs is a page of this service alone, and browsers are held to it", async () => {
    const { status, headers, body } = await get("/docs")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^text\/html/)
    expect(headers.get("content-security-policy")?.split("; ")).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"])
    )
    expect(headers.get("content-security-policy")).not.toMatch(/unsafe|https?:|\*/)
    expect(body).toContain("<title>Muniment</title>")
    expect(body).not.toMatch(/<script>|<style>|\son\w+=|\sstyle=/)
    const parts = Array.from((body as string).matchAll(/(?:src|href)="([^"]+)"/g), ([, target]) => target!)
    expect(parts).toEqual(expect.arrayContaining(["docs/page.js", "docs/page.css", "openapi.json"]))
    for (const target of parts.filter((each) => each !== "data:,")) {
      expect(target).not.toMatch(/^\/|:/)
      const part = await get(`/${target}`)
      expect([target, part.status]).toEqual([target, 200])
      if (/\.(?:js|css)$/.test(target)) expect(part.body).not.toMatch(/https?:|\/\/\w/)
    }
    expect((await get("/docs/page.js")).headers.get("content-type")).toMatch(/^text\/javascript/)
    expect((await get("/docs/page.css")).headers.get("content-type")).toMatch(/^text\/css/)
  })

  it("llms.txt tells an agent what it needs, with calls that work", async () => {
    const { status, headers, body } = await get("/llms.txt")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^text\/plain/)
    const text = body as string
    expect(text).toMatch(/^# Muniment\n/)
    const paths = new Set(text.match(/\/(?:v1|openapi\.json|docs)[\w/]*/g))
    expect(paths.size).toBeGreaterThan(5)
    const example = /^POST (\/v1\/memories)\n(\{.*\})$/m.exec(text)
    const stored = await server.call("POST", example![1]!, { rawBody: example![2]! })
    expect(stored.status).toBe(200)
    const search = /^GET (\/v1\/memories\/search\?\S+)$/m.exec(text)
    const found = await server.call("GET", search![1]!)
    expect(found.body.memories[0].data.fact).toBe("Alice lives in Seattle")
  })
})
