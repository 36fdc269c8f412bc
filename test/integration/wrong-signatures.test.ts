/** Wrong wallet signatures have a budget by client, and use up nobody else's (contract: Wallet signatures). */
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import type { Answer } from "../support/TestServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({
  environment: {
    MUNIMENT_EMBEDDING_MODEL: "none",
    MUNIMENT_TRUSTED_PROXIES: "127.0.0.1",
    MUNIMENT_RATE_LIMITS: "off"
  }
})

const path = "/v1/memories"

const list = async (from: string, wallet: string, more: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  server.call("GET", path, {
    key: null,
    headers: { ...(await walletHeaders(evmWallet(wallet), "GET", path)), "x-forwarded-for": from, ...more }
  })

describe("wrong signatures", () => {
  it("are looked at up to the bound of their client, then refused with Retry-After", async () => {
    const statuses: Record<number, number> = {}
    for (let sent = 0; sent < 2 * Limits.wrongSignaturesPerMinute; sent += 1) {
      const { headers, status } = await list("192.0.2.1", "mallory", { "x-wallet-signature": `0x${"5a".repeat(65)}` })
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
    }
    expect(Object.keys(statuses)).toEqual(["401", "429"])
    expect(statuses[401]).toBeGreaterThanOrEqual(Limits.wrongSignaturesPerMinute)
    // Two are forgotten each second.
    let own = await list("192.0.2.1", "mallory")
    for (let tries = 0; own.status !== 429 && tries < 100; tries += 1) {
      await list("192.0.2.1", "mallory", { "x-wallet-signature": `0x${"5a".repeat(65)}` })
      own = await list("192.0.2.1", "mallory")
    }
    expect([own.status, own.body.code]).toEqual([429, "rate_limited"])
    const allowed = `${Limits.wrongSignaturesPerMinute} signatures in vain a minute`
    expect(own.body.details).toEqual([{ path: "signatures", message: expect.stringContaining(allowed) }])
    const { body } = await server.call("GET", "/metrics", { key: null })
    expect(body).toMatch(/^muniment_signatures_open 0$/m)
    expect(body).toMatch(/^muniment_inner_refused_total\{bound="signatures"\} [1-9]\d*$/m)
  })

  it("of one client leave others alone, and right ones cost nothing", async () => {
    for (let sent = 0; sent < 10; sent += 1) expect((await list("192.0.2.2", "ada")).status).toBe(200)
    const key = await server.newAccount("keyed")
    const byKey = await server.call("GET", path, { key, headers: { "x-forwarded-for": "192.0.2.1" } })
    expect(byKey.status).toBe(200)
  })
})
