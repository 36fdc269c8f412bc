/** Pages of other origins: nothing unless configured, then `/v1` alone, with the headers that a payer needs. */
import { expect, it } from "vitest"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { ServerCalls } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const page = "https://page.example"
const stranger = "https://stranger.example"

const closed = useSharedServer(withoutModel)
const open = useServer({ environment: { ...withoutModel, MUNIMENT_CORS_ORIGINS: page } })

const preflight = (server: ServerCalls, path: string, origin: string) =>
  server.call("OPTIONS", path, {
    key: null,
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,x-payment"
    }
  })

it("without configuration no page of another origin may call", async () => {
  const answer = await preflight(closed, "/v1/credits/deposit", page)
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([405, null])
  const called = await closed.call("GET", "/v1/schemas", { headers: { origin: page } })
  expect(called.headers.get("access-control-allow-origin")).toBeNull()
})

it("a configured page may send its key and its payment, and read what it paid", async () => {
  const asked = await preflight(open, "/v1/credits/deposit", page)
  expect(asked.status).toBe(204)
  expect(asked.headers.get("access-control-allow-origin")).toBe(page)
  expect(asked.headers.get("access-control-allow-methods")).toContain("POST")
  expect(asked.headers.get("access-control-allow-headers")).toContain("x-payment")
  const called = await open.call("GET", "/v1/memories", { headers: { origin: page } })
  expect(called.status).toBe(200)
  expect(called.headers.get("access-control-allow-origin")).toBe(page)
  for (const name of ["x-payment-response", "payment-required", "x-credits-remaining", "retry-after"]) {
    expect(called.headers.get("access-control-expose-headers")).toContain(name)
  }
  const refused = await open.call("GET", "/v1/memories", { key: "mun_wrong", headers: { origin: page } })
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, page])
})

it("other pages and other paths stay closed", async () => {
  expect((await preflight(open, "/v1/memories", stranger)).headers.get("access-control-allow-origin")).toBeNull()
  expect((await preflight(open, "/admin/accounts", page)).headers.get("access-control-allow-origin")).toBeNull()
})
