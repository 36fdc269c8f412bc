/**
 * Behind a reverse proxy on the same machine (packages/server/docs/security.md): which routes its two examples forward,
 * whose address counts, and that the operator's routes need their token. The proxies are real, and clients have addresses
 * of their own in 127.0.0.0/8. A proxy that forwards too much: `proxied.test.ts`.
 */
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http"
import { type AddressInfo } from "node:net"
import { join } from "node:path"
import { normalize } from "node:path/posix"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { operatorKey, repository, startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"

const page = readFileSync(join(repository, "packages/server/docs/security.md"), "utf8")

/** The block below a heading of the page. */
const exampleOf = (name: string): string => {
  const [, block = ""] = new RegExp(`^### ${name}$[^]*?^\`\`\`text\\n([^]*?)^\`\`\`$`, "m").exec(page) ?? []
  return block
}
const nginx = exampleOf("nginx")
const caddy = exampleOf("Caddy")

/** Which normalised paths each example forwards, as it says itself. */
const forwardedBy: Readonly<Record<string, RegExp>> = {
  nginx: new RegExp(/location ~ (\S+) \{/.exec(nginx)?.[1] ?? "no example"),
  Caddy: new RegExp(
    `^(?:${(/@public path (.+)/.exec(caddy)?.[1] ?? "no example")
      .split(" ")
      .map((glob) => glob.replaceAll(".", "\\.").replaceAll("*", ".*"))
      .join("|")})$`
  )
}

/** What a proxy makes of the `X-Forwarded-For` of its client. */
const headerRules = {
  replaces: (_: string | undefined, client: string) => client,
  appends: (sent: string | undefined, client: string) => (sent === undefined ? client : `${sent}, ${client}`)
} as const

interface Sent {
  readonly from: string
  readonly method?: string
  readonly headers?: IncomingHttpHeaders
}

const send = async (origin: string, path: string, { from, headers = {}, method = "GET" }: Sent) => {
  const { hostname, port } = new URL(origin)
  // The path goes out as it is; `fetch` would tidy it.
  const request = httpRequest({ hostname, port, path, method, headers, localAddress: from, agent: false })
  request.end()
  const [answer] = await once(request, "response")
  let text = ""
  for await (const chunk of answer) text += String(chunk)
  return { status: Number(answer.statusCode), text }
}

/** Hands the request line on as it came, as both examples do. */
const startProxy = async (target: string, rule: keyof typeof headerRules, isForwarded: (path: string) => boolean) => {
  const { hostname, port } = new URL(target)
  const proxy = createServer((incoming, outgoing) => {
    if (!isForwarded(incoming.url ?? "")) {
      outgoing.writeHead(404).end()
      return
    }
    const sent = incoming.headers["x-forwarded-for"]?.toString()
    const headers = {
      ...incoming.headers,
      "x-forwarded-for": headerRules[rule](sent, incoming.socket.remoteAddress ?? "")
    }
    const onward = httpRequest({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on("error", () => outgoing.destroy())
    incoming.pipe(onward)
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  return proxy
}

const originOf = (proxy: Server): string => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

/** Decoded, then without dot segments. */
const pathOf = (url: string): string => normalize(decodeURIComponent(url.split("?", 1)[0]!))

let server: TestServer
const proxies = new Map<string, Server>()
beforeAll(async () => {
  server = await startServer({
    environment: {
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_PUBLIC_URL: "https://memory.example.com",
      MUNIMENT_TRUSTED_PROXIES: "127.0.0.1",
      MUNIMENT_WALLET_SIGNUP: "open",
      MUNIMENT_WALLET_ALLOWANCE: "7",
      MUNIMENT_RATE_LIMITS: "on"
    }
  })
  for (const [name, paths] of Object.entries(forwardedBy)) {
    proxies.set(name, await startProxy(server.url, "replaces", (url) => paths.test(pathOf(url))))
  }
  proxies.set("appends", await startProxy(server.url, "appends", () => true))
})
afterAll(async () => {
  for (const proxy of proxies.values()) proxy.close()
  await server.stop()
})

/** Sign-ups from one address at one origin, or several in turn, each with another forged header; the statuses. */
const flood = async (
  origin: string | ReadonlyArray<string>,
  from: string,
  count: number
): Promise<ReadonlyArray<number>> => {
  const origins = [origin].flat()
  const statuses: Array<number> = []
  for (let at = 0; at < count; at += 1) {
    const headers = {
      ...(await walletHeaders(evmWallet(`${origins[0]} ${from} ${at}`), "GET", "/v1/memories")),
      "x-forwarded-for": `203.0.113.${at}`
    }
    statuses.push((await send(origins[at % origins.length]!, "/v1/memories", { from, headers })).status)
  }
  return statuses
}

const upToTheLimit = [...Array.from({ length: Limits.signUpsPerClientHour }, () => 200), 429]

describe("the address of a client", () => {
  it.each([
    ["nginx", "127.0.0.2"],
    ["Caddy", "127.0.0.3"],
    ["appends", "127.0.0.4"]
  ])("is what the proxy saw, whatever the client forwards itself: %s", async (name, from) => {
    const origin = originOf(proxies.get(name)!)
    expect(await flood(origin, from, Limits.signUpsPerClientHour + 1)).toEqual(upToTheLimit)
    expect(await flood(origin, `${from}0`, 1)).toEqual([200])
  })

  it("is its peer's for one who goes around the proxy", async () => {
    // Of a cluster each node: its balancer would be the peer.
    const origins = server.processes.map(({ url }) => url)
    expect(await flood(origins, "127.0.0.5", Limits.signUpsPerClientHour + 1)).toEqual(upToTheLimit)
  })
})

describe.each(["nginx", "Caddy"])("the example for %s", (name) => {
  const forwards = (path: string): boolean => forwardedBy[name]!.test(pathOf(path))

  it("sets the header itself, and bounds bodies and times", () => {
    const text = name === "nginx" ? nginx : caddy
    expect(text).toMatch(name === "nginx" ? /proxy_set_header X-Forwarded-For \$remote_addr;/ : /reverse_proxy 127/)
    // Caddy replaces the header unless it is told to trust who is before it, or to do something else with it.
    expect(text).not.toMatch(/trusted_proxies|header_up|proxy_add_x_forwarded_for/)
    expect(text).toMatch(name === "nginx" ? /client_max_body_size 1m;/ : /max_size 1MiB/)
    expect(text).toMatch(name === "nginx" ? /client_body_timeout 15s;/ : /read_body 15s/)
    expect([Limits.requestBodyBytesMax, Limits.requestTimeoutMillis]).toEqual([2 ** 20, 15_000])
  })

  it("forwards every public route of the service", async () => {
    const { body } = await server.call("GET", "/openapi.json", { key: null })
    const isOperators = (path: string) => path.startsWith("/admin/") || path === "/metrics"
    for (const path of Object.keys(body.paths)) expect([path, forwards(path)]).toEqual([path, !isOperators(path)])
    const more = ["/mcp", "/docs", "/docs/handbook/security", "/openapi.json", "/llms.txt", "/health/ready"]
    for (const path of [...more, "/.well-known/muniment-keys.json"]) {
      expect([path, forwards(path)]).toEqual([path, true])
      const { status } = await send(originOf(proxies.get(name)!), path, { from: "127.0.0.6" })
      expect([path, status]).toEqual([path, path === "/mcp" ? 405 : 200])
    }
  })

  it.each(["/metrics", "/admin/accounts", "/v1/../metrics", "/v1/%2e%2e/metrics", "/docs/..%2fadmin/accounts", "/"])(
    "does not forward %s",
    async (path) => {
      const answer = await send(originOf(proxies.get(name)!), path, { from: "127.0.0.6" })
      expect([answer.status, answer.text]).toEqual([404, ""])
    }
  )
})

describe("the operator's routes", () => {
  it("below /admin want the operator's token on this machine too", async () => {
    const codeWith = async (key: string | null) => (await server.call("GET", "/admin/accounts", { key })).body.code
    expect(await codeWith(null)).toBe("missing_credentials")
    expect(await codeWith(operatorKey)).toBe("operator_only")
    expect(await codeWith(`${server.operatorToken}x`)).toBe("operator_only")
  })

  it.each(["/v1/../metrics", "/v1/%2e%2e/metrics", "/v1/..%2fmetrics", "//metrics", "/METRICS", "/metrics/"])(
    "have one spelling: %s is no route",
    async (path) => {
      expect((await send(server.url, path, { from: "127.0.0.1" })).status).toBe(404)
    }
  )
})
