/** Response headers and exact paths (contract: Headers). */
import { describe, expect, it } from "vitest"
import { fact, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { operatorKey, refusalOf } from "../support/TestServer.ts"

const server = useSharedServer(withoutModel)
const alice = useAccount(server, "alice")

const requestId = async (sent?: string, path = "/v1/account") => {
  const { headers } = await alice.call("GET", path, sent === undefined ? {} : { headers: { "x-request-id": sent } })
  return headers.get("x-request-id")
}

describe("x-request-id", () => {
  it("is echoed, on successes and on failures", async () => {
    expect(await requestId("trace-1:2.3_4")).toBe("trace-1:2.3_4")
    for (const path of ["/nothing", "/v1/memories/none", "/v1/memories/search", "/health/live"]) {
      expect(await requestId("trace-2", path)).toBe("trace-2")
    }
  })

  it("is made when there is none, or none that can be echoed, and never twice", async () => {
    const made = await Promise.all([
      requestId(),
      requestId(),
      requestId("has spaces in it"),
      requestId("x".repeat(129))
    ])
    for (const id of made) expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(made).size).toBe(4)
  })
})

describe("WWW-Authenticate", () => {
  it("says Bearer on every 401 and nowhere else", async () => {
    const tries = [
      ["/v1/account", null],
      ["/v1/account", "mun_unknown"],
      ["/v1/memories/search?query=q", null],
      ["/admin/status", null]
    ] as const
    for (const [path, key] of tries) {
      const { status, headers } = await server.call("GET", path, { key })
      expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"])
    }
    expect((await alice.call("GET", "/v1/account")).headers.get("www-authenticate")).toBeNull()
    expect((await alice.call("GET", "/admin/status")).headers.get("www-authenticate")).toBeNull()
  })
})

describe("Allow", () => {
  it.each([
    ["PUT", "/v1/memories", "GET, POST"],
    ["POST", "/v1/memories/mem_x", "DELETE, GET, PATCH"],
    ["GET", "/v1/memories/batch/delete", "POST"],
    ["DELETE", "/v1/schemas", "GET, POST"],
    ["PUT", "/v1/schemas/contact", "DELETE, GET, PATCH"],
    ["POST", "/v1/account", "GET"],
    ["PUT", "/v1/memories/search", "GET, POST"],
    ["OPTIONS", "/v1/account", "GET"],
    ["POST", "/health/live", "GET"]
  ])("tells a %s to %s that it takes %s", async (method, path, allowed) => {
    const { status, headers, body } = await server.call(method, path, { key: null })
    expect([status, body.code]).toEqual([405, "method_not_allowed"])
    expect(headers.get("allow")?.split(", ").toSorted().join(", ")).toBe(allowed)
  })
})

describe("the content type", () => {
  it("of every JSON answer is application/json, and browsers are told not to guess", async () => {
    for (const path of ["/v1/account", "/v1/memories", "/v1/nothing", "/openapi.json", "/health/ready"]) {
      const { headers } = await alice.call("GET", path)
      expect(headers.get("content-type")).toMatch(/^application\/json/)
      expect(headers.get("x-content-type-options")).toBe("nosniff")
    }
  })

  it.each([
    ["application/json", 200],
    ["application/json; charset=utf-8", 200],
    ["APPLICATION/JSON", 200],
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/jsonp", 415],
    ["", 415]
  ])("of a body may be %j: %i", async (contentType, status) => {
    const rawBody = JSON.stringify({ agentId: "types", memories: [fact("a", "b")] })
    const answer = await alice.call("POST", "/v1/memories", { rawBody, headers: { "content-type": contentType } })
    expect(answer.status).toBe(status)
  })
})

describe("a path", () => {
  it.each([
    "/v1/account/",
    "/V1/account",
    "/v1/Account",
    "//v1/account",
    "/v1//account",
    "/account",
    "/v1",
    "/v2/account",
    "/docs/",
    "/health",
    "/v1/memories/%zz",
    "/v1/schemas/%E2%82"
  ])("%s does not exist, because paths are exact", async (path) => {
    expect(refusalOf(await alice.call("GET", path))).toEqual([404, "route_not_found"])
  })

  it("with an id of any length or kind is a memory that is not found", async () => {
    for (const id of ["x", "x".repeat(2_000), "a%2Fb", "%00", "mem_", "MEM_01KAJ8Q0V7E5XK9D2M4N6P8R0T", "..%2f.."]) {
      expect(refusalOf(await alice.call("GET", `/v1/memories/${id}`))).toEqual([404, "memory_not_found"])
    }
  })

  it("answers HEAD as GET without a body", async () => {
    const response = await fetch(`${server.url}/v1/account`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${operatorKey}` }
    })
    expect([response.status, await response.text()]).toEqual([200, ""])
  })
})
