/**
 * Signatures that name their service (contract: Wallet signatures): which name counts where, what is bound beside the
 * body, and what a service answers that wants to be named.
 */
import { once } from "node:events"
import { createServer, request as send, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { fact } from "../support/MemoryCalls.ts"
import { runsOnOneBox } from "../support/OneBox.ts"
import { evmWallet, fullHeaders, grantsHeader, signedGrant, solWallet, walletHeaders } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const publicUrl = "https://memory.example"
const signer = evmWallet("audience")
const path = "/v1/account"

/** As a proxy with another name passes requests on. */
const startProxy = async (port: string): Promise<Server> => {
  const proxy = createServer((request, response) => {
    const headers = { ...request.headers, "x-forwarded-for": "203.0.113.9" }
    const onward = send({ host: "127.0.0.1", port, method: request.method, path: request.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  return proxy
}

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_WALLET_SIGNUP: "open" }

describe("a service without a public URL", () => {
  const server = useServer({ environment })

  const status = async (audience: string) => {
    const headers = await fullHeaders(signer, "GET", path, { audience })
    const answer = await server.call("GET", path, { key: null, headers })
    return [answer.status, answer.body.code]
  }

  it.runIf(runsOnOneBox("ownPort"))("is what it listens on, and the names of loopback", async () => {
    const { port } = new URL(server.url)
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      expect([host, ...(await status(`http://${host}:${port}`))]).toEqual([host, 200, undefined])
    }
    const others = ["http://localhost", "http://localhost:1", `https://localhost:${port}`, `http://LOCALHOST:${port}`]
    for (const other of [...others, `${server.url}/`, publicUrl, "memory", ""]) {
      expect([other, ...(await status(other))]).toEqual([other, 401, "wrong_audience"])
    }
  })

  it("is not what the Host header says", async () => {
    const headers = { ...(await fullHeaders(signer, "GET", path, { audience: "http://evil.example" })) }
    const { hostname, port } = new URL(server.url)
    const sent = send({ host: hostname, port, path, headers: { ...headers, host: "evil.example" } }).end()
    const [answer] = await once(sent, "response")
    expect(answer.statusCode).toBe(401)
  })

  it("takes the plain text beside it", async () => {
    const headers = await walletHeaders(signer, "GET", path)
    expect((await server.call("GET", path, { key: null, headers })).status).toBe(200)
  })

  it("refuses another idempotency key, agent or grants than were signed", async () => {
    const body = JSON.stringify({ agentId: "a", memories: [fact("tea", "green")] })
    const audience = server.url
    const bound = { "idempotency-key": "first" }
    const headers = await fullHeaders(signer, "POST", "/v1/memories", { audience, body, bound })
    const create = async (changed: Readonly<Record<string, string>>) => {
      const answer = await server.call("POST", "/v1/memories", {
        key: null,
        headers: { ...bound, ...headers, ...changed },
        rawBody: body
      })
      return answer.body.code ?? answer.status
    }
    const refused = [{ "idempotency-key": "second" }, { "x-grants": "W10=" }, { "x-agent-id": "b" }]
    for (const changed of refused) expect(await create(changed)).toBe("invalid_signature")
    expect(await create({})).toBe(200)
    // A paying client repeats its headers with the payment.
    expect(await create({ "x-payment": "e30=" })).toBe(200)
    const { body: list } = await server.call("GET", "/v1/memories", {
      key: null,
      headers: await walletHeaders(signer, "GET", "/v1/memories")
    })
    expect(list.memories).toHaveLength(1)
  })

  it("takes from MCP the agent that was signed, and no other", async () => {
    const message = (name: string, given: object) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: given }
    })
    const body = JSON.stringify(message("write_factual_memory", { subject: "Kim", fact: "Kim paints" }))
    const bound = { "x-agent-id": "studio" }
    const headers = await fullHeaders(solWallet("mcp"), "POST", "/mcp", { audience: server.url, body, bound })
    const write = (agent: string) =>
      server.call("POST", "/mcp", { key: null, headers: { ...headers, "x-agent-id": agent }, rawBody: body })
    expect((await write("bank")).status).toBe(401)
    const { body: told } = await write("studio")
    const [{ id }] = JSON.parse(told.result.content[0].text).created
    const at = `/v1/memories/${id}`
    const read = await server.call("GET", at, {
      key: null,
      headers: await fullHeaders(solWallet("mcp"), "GET", at, { audience: server.url })
    })
    expect(read.body.memory.metadata.agentId).toBe("studio")
  })
})

describe("a service behind a proxy that wants to be named", () => {
  const server = useServer({
    environment: {
      ...environment,
      MUNIMENT_PUBLIC_URL: `${publicUrl}/`,
      MUNIMENT_REQUIRE_AUDIENCE: "all",
      MUNIMENT_WALLET_ALLOWANCE: "1000"
    }
  })
  let proxy: Server
  let proxied: string
  const owner = evmWallet("owner of memories")
  beforeAll(async () => {
    proxy = await startProxy(new URL(server.url).port)
    proxied = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    proxy.close()
  })

  const through = async (audience: string | undefined) => {
    const headers =
      audience === undefined
        ? await walletHeaders(signer, "GET", path)
        : await fullHeaders(signer, "GET", path, { audience })
    const answer = await fetch(`${proxied}${path}`, { headers })
    const body = (await answer.json()) as { readonly code?: string; readonly error?: string }
    return { status: answer.status, code: body.code, error: body.error }
  }

  it("has the name of its public URL, and says so to who names another", async () => {
    expect(await through(publicUrl)).toMatchObject({ status: 200 })
    for (const other of ["https://other.example", server.url, proxied, `${publicUrl}/`, "http://memory.example"]) {
      const refusal = await through(other)
      expect(refusal).toMatchObject({ status: 401, code: "wrong_audience" })
      expect(refusal.error).toContain(publicUrl)
    }
  })

  it("refuses the plain text, and says what to sign", async () => {
    const refusal = await through(undefined)
    expect(refusal).toMatchObject({ status: 401, code: "audience_required" })
    expect(refusal.error).toContain("METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH")
    expect(refusal.error).toContain(publicUrl)
  })

  it.runIf(runsOnOneBox("ownPort"))("is called on its own machine by its own address too", async () => {
    const headers = await fullHeaders(signer, "GET", path, { audience: server.url })
    expect((await server.call("GET", path, { key: null, headers })).status).toBe(200)
  })

  it("is called by the client without further ado", async () => {
    const wallet = { address: signer.wallet.address, sign: signer.sign }
    const { account } = await new Muniment({ baseUrl: proxied, wallet, audience: publicUrl }).whoami()
    expect(account.id).toBe(signer.wallet.address)
    await expect(new Muniment({ baseUrl: proxied, wallet, audience: false }).whoami()).rejects.toMatchObject({
      code: "audience_required"
    })
  })

  it("takes grants for itself alone, from outside too", async () => {
    const wallet = { address: owner.wallet.address, sign: owner.sign }
    const client = new Muniment({ baseUrl: proxied, wallet, audience: publicUrl })
    await client.create({ agentId: "a", memories: [fact("tea", "jasmine")] })
    const found = async (more: { readonly o?: string }) => {
      const grant = await signedGrant(owner, { g: signer.wallet.address, ...more })
      const at = "/v1/memories/search?query=jasmine&scope=shared"
      const bound = grantsHeader([grant])
      const headers = await fullHeaders(signer, "GET", at, { audience: publicUrl, bound })
      const answer = await fetch(`${proxied}${at}`, { headers: { ...headers, ...bound } })
      const body = (await answer.json()) as { readonly memories: ReadonlyArray<unknown> }
      return body.memories.length
    }
    expect(await found({ o: publicUrl })).toBe(1)
    expect([await found({}), await found({ o: "https://other.example" }), await found({ o: server.url })]).toEqual([
      0, 0, 0
    ])
  })
})
