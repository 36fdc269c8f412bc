/**
 * Behind a reverse proxy on the same machine (packages/server/docs/security.md): which routes its two examples forward,
 * whose address counts, and that the operator's routes need their token. The proxies are nginx and Caddy where they are
 * installed, else proxies that follow the examples; clients have addresses of their own in 127.0.0.0/8. A proxy that
 * forwards too much: `proxied.test.ts`.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http"
import { type AddressInfo } from "node:net"
import { join } from "node:path"
import { normalize } from "node:path/posix"
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { freePort, operatorKey, patienceMillis, repository } from "../support/TestServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

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

interface Proxy {
  readonly origin: string
  readonly stop: () => void
}

const proxyOf = (server: Server): Proxy => ({
  origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  stop: () => server.close()
})

/** Debian has nginx where users have no programs. */
const searchPath = `${process.env["PATH"]}:/usr/sbin`
const isInstalled = (program: string): boolean =>
  spawnSync(program, ["-h"], { env: { PATH: searchPath } }).error === undefined

/** The example as it stands on the page, but for addresses and TLS. */
const realProxy = async (name: string, target: string): Promise<Proxy | undefined> => {
  const program = name.toLowerCase()
  if (!isInstalled(program)) return undefined
  const port = await freePort()
  const folder = temporaryDirectory()
  const file = join(folder, "settings")
  const service = new URL(target).host
  if (program === "nginx") {
    const block = nginx
      .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
      .replace(/^ +ssl_.*\n/gm, "")
      .replace("127.0.0.1:8787", service)
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path ${folder};`)
    const http = `http { access_log off; ${paths.join(" ")}\n${block} }`
    writeFileSync(file, `daemon off; pid ${folder}/pid; error_log ${folder}/log;\nevents {}\n${http}`)
  } else {
    const block = caddy
      .replace("{\n", "{\n  admin off\n")
      .replace("memory.example.com {", `http://127.0.0.1:${port}, http://memory.example.com:${port} {`)
      .replace("127.0.0.1:8787", service)
    writeFileSync(file, block)
  }
  const args = program === "nginx" ? ["-c", file] : ["run", "--adapter", "caddyfile", "--config", file]
  const child: ChildProcess = spawn(program, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { HOME: folder, PATH: searchPath }
  })
  let said = ""
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()))
  const origin = `http://127.0.0.1:${port}`
  await vi.waitFor(
    async () => {
      const answer = await fetch(`${origin}/health/live`).catch(() => undefined)
      if (answer?.ok !== true) throw new Error(`${program} does not answer: ${said}`)
    },
    { timeout: patienceMillis, interval: 50 }
  )
  return {
    origin,
    stop: () => {
      child.kill("SIGTERM")
    }
  }
}

/** Decoded, then without dot segments. */
const pathOf = (url: string): string => normalize(decodeURIComponent(url.split("?", 1)[0]!))

const server = useServer({
  environment: {
    MUNIMENT_EMBEDDING_MODEL: "none",
    MUNIMENT_PUBLIC_URL: "https://memory.example.com",
    MUNIMENT_TRUSTED_PROXIES: "127.0.0.1",
    MUNIMENT_WALLET_SIGNUP: "open",
    MUNIMENT_WALLET_ALLOWANCE: "7",
    MUNIMENT_RATE_LIMITS: "on"
  }
})
const proxies = new Map<string, Proxy>()
beforeAll(async () => {
  for (const [name, paths] of Object.entries(forwardedBy)) {
    const emulated = async () => proxyOf(await startProxy(server.url, "replaces", (url) => paths.test(pathOf(url))))
    proxies.set(name, (await realProxy(name, server.url)) ?? (await emulated()))
  }
  proxies.set("appends", proxyOf(await startProxy(server.url, "appends", () => true)))
})
afterAll(async () => {
  for (const proxy of proxies.values()) proxy.stop()
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
    const { origin } = proxies.get(name)!
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
    expect(text).toMatch(name === "nginx" ? /client_max_body_size 1m;/ : /dial_timeout 2s/)
    expect(text).toMatch(name === "nginx" ? /client_body_timeout 15s;/ : /read_body 15s/)
    expect([Limits.requestBodyBytesMax, Limits.requestTimeoutMillis]).toEqual([2 ** 20, 15_000])
  })

  it("forwards every public route of the service", async () => {
    const { body } = await server.call("GET", "/openapi.json", { key: null })
    const isOperators = (path: string) => path.startsWith("/admin/") || path === "/metrics"
    for (const path of Object.keys(body.paths)) expect([path, forwards(path)]).toEqual([path, !isOperators(path)])
    const more = ["/mcp", "/console", "/docs", "/docs/handbook/security", "/openapi.json", "/llms.txt", "/health/ready"]
    for (const path of [...more, "/.well-known/muniment-keys.json"]) {
      expect([path, forwards(path)]).toEqual([path, true])
      const { status } = await send(proxies.get(name)!.origin, path, { from: "127.0.0.6" })
      expect([path, status]).toEqual([path, path === "/mcp" ? 405 : 200])
    }
  })

  it.each(["/metrics", "/admin/accounts", "/v1/../metrics", "/v1/%2e%2e/metrics", "/docs/..%2fadmin/accounts", "/"])(
    "does not forward %s",
    async (path) => {
      const answer = await send(proxies.get(name)!.origin, path, { from: "127.0.0.6" })
      expect([answer.status, answer.text.includes("success")]).toEqual([404, false])
    }
  )
})

describe.each(["nginx", "Caddy"].filter((name) => isInstalled(name.toLowerCase())))(
  "the example in %s itself",
  (name) => {
    it("passes events on as they happen", async () => {
      const { origin } = proxies.get(name)!
      const key = await server.newAccount(`events ${name}`)
      const ended = new AbortController()
      const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" }
      const stream = await fetch(`${origin}/v1/events`, { headers, signal: ended.signal })
      const memories = [{ kind: "factual_memory", data: { subject: "Ann", fact: "Ann rows" } }]
      await server.call("POST", "/v1/memories", { key, body: { agentId: "a", memories } })
      let text = ""
      for await (const chunk of stream.body!) if (/memory\.created/.test((text += Buffer.from(chunk).toString()))) break
      ended.abort()
      expect(text).toContain("memory.created")
    })

    it.each([true, false])("refuses a body above 1 MiB in JSON, with a length %s", async (hasLength) => {
      const text = JSON.stringify({ agentId: "x".repeat(2 ** 21) })
      const body = hasLength ? text : new Blob([text]).stream()
      const init = { method: "POST", body, duplex: "half", headers: { "content-type": "application/json" } }
      const answer = await fetch(`${proxies.get(name)!.origin}/v1/memories`, init as RequestInit)
      expect([answer.status, answer.headers.get("content-type")]).toEqual([
        413,
        expect.stringMatching(/^application\/json/)
      ])
      expect(await answer.json()).toMatchObject({ success: false, code: "payload_too_large" })
    })

    it.skipIf(name === "nginx")("holds a read until a service that restarts is there again", async () => {
      const port = await freePort()
      const service = () => createServer((_, answer) => answer.end("here")).listen(port, "127.0.0.1")
      const before = service()
      const proxy = (await realProxy(name, `http://127.0.0.1:${port}`))!
      before.closeAllConnections()
      await once(before.close(), "close")
      const read = fetch(`${proxy.origin}/v1/memories`).then((answer) => answer.text())
      const isHeld = await Promise.race([read.then(() => false), pause(500, true)])
      const after = service()
      expect([isHeld, await read]).toEqual([true, "here"])
      proxy.stop()
      after.closeAllConnections()
      after.close()
    })

    it("gives the console's page and its files", async () => {
      const { origin } = proxies.get(name)!
      const page = await (await fetch(`${origin}/console`)).text()
      const [, file = ""] = /src="([^"]+\.js)"/.exec(page) ?? []
      expect((await fetch(new URL(file, `${origin}/console`))).status).toBe(200)
    })
  }
)

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
