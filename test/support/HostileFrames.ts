/**
 * Hostile requests byte by byte, beside those that `HostileRequests.ts` makes up: JSON that parsers
 * disagree about, spellings of paths, junk in headers, broken framing, bodies that end early, and messages of MCP
 * that are none.
 */
import fc from "fast-check"
import { connect } from "node:net"
import { sendRaw } from "./RawHttp.ts"
import { operatorKey } from "./TestServer.ts"

export interface HostileFrame {
  readonly bytes: Buffer
  /** The client leaves before the request is whole. */
  readonly isCutOff: boolean
}

export const hostileFrame = (known: ReadonlyArray<string>): fc.Arbitrary<HostileFrame> =>
  fc.oneof(
    { weight: 4, arbitrary: mcpFrame(known) },
    { weight: 3, arbitrary: nastyJson(known) },
    { weight: 2, arbitrary: pathFrame(known) },
    { weight: 1, arbitrary: signInFrame },
    { weight: 2, arbitrary: headerFrame },
    { weight: 2, arbitrary: framing },
    { weight: 1, arbitrary: cutOff }
  )

/** Statuses of its answers; none if the connection was closed without one. */
export const sendFrame = async (url: string, { bytes, isCutOff }: HostileFrame): Promise<ReadonlyArray<string>> => {
  const text = isCutOff ? await sendAndLeave(url, bytes) : (await sendRaw(url, [bytes])).text
  return text.split(/^(?=HTTP\/1\.1 \d{3})/m).filter((part) => part !== "")
}

const sendAndLeave = (url: string, bytes: Buffer): Promise<string> =>
  new Promise((settle) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let text = ""
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk))
    socket.on("error", () => socket.destroy())
    socket.on("close", () => settle(text))
    socket.end(bytes)
  })

const authorization = `Authorization: Bearer ${operatorKey}`
const json = "Content-Type: application/json"

const frame = (start: string, headers: ReadonlyArray<string>, body: string | Buffer = ""): HostileFrame => {
  const content = Buffer.from(body as string)
  const length = content.length > 0 ? [`Content-Length: ${content.length}`] : []
  const head = [`${start} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, ...length].join("\r\n")
  return { bytes: Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), content]), isCutOff: false }
}

/** Texts that stand where a value belongs. */
const nastyValue = fc.oneof(
  fc.constantFrom(
    "NaN",
    "Infinity",
    "-Infinity",
    "undefined",
    "0x10",
    "01",
    "+1",
    "1e400",
    "-1e400",
    "1e-400",
    "1e20",
    "-2.5e+16",
    "-0",
    "1.",
    ".5",
    "9007199254740993",
    "123456789012345678901234567890",
    "'a'",
    '"\\ud800"',
    '"\\u0000"',
    '"\\x41"',
    "tru",
    "nul",
    '{"__proto__":{"isAdmin":true}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"toString":1,"valueOf":2}',
    '{"a":1,"a":2}',
    '{"":""}',
    "[,]",
    "[1,]",
    "{,}",
    '{"a"}',
    "/**/1",
    "// x\n1",
    "\u2028",
    "\ufeff1",
    '"NaN"',
    '"\\u202e\\u0000\\uffff"',
    '"../../../etc/passwd"',
    '"${jndi:ldap://x}"',
    '"\' OR 1=1 --"'
  ),
  fc.integer({ min: 60, max: 5_000 }).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
  fc.integer({ min: 60, max: 2_000 }).map((depth) => '{"a":'.repeat(depth) + "1" + "}".repeat(depth)),
  fc.integer({ min: 1, max: 3_000 }).map((count) => `"${"\\u0301".repeat(count)}"`),
  fc.jsonValue().map((value) => JSON.stringify(value))
)

const bodies = (known: ReadonlyArray<string>): fc.Arbitrary<readonly [string, string]> => {
  const name = fc.constantFrom(...known).map((text) => JSON.stringify(text))
  const memory = fc
    .tuple(name, nastyValue)
    .map(([kind, value]) => `{"kind":${kind},"data":{"subject":"s","fact":${value}}}`)
  return fc.oneof(
    fc.tuple(name, memory).map(([agent, one]) => ["/v1/memories", `{"agentId":${agent},"memories":[${one}]}`] as const),
    nastyValue.map((value) => ["/v1/memories", `{"agentId":"agent","memories":${value}}`] as const),
    nastyValue.map((value) => ["/v1/memories", `{"agentId":"agent","agentId":${value},"memories":[]}`] as const),
    nastyValue.map(
      (value) => ["/v1/memories", `{"agentId":"agent","conversation":[{"role":"user","content":${value}}]}`] as const
    ),
    nastyValue.map((value) => ["/v1/memories/batch/search", `{"queries":[{"query":"x","filters":${value}}]}`] as const),
    nastyValue.map((value) => ["/v1/schemas", `{"name":"n","description":"d","schema":${value}}`] as const),
    nastyValue.map((value) => ["/v1/attestations", value] as const),
    nastyValue.map((value) => ["/v1/memories/batch/delete", `{"filters":${value}}`] as const)
  )
}

const nastyJson = (known: ReadonlyArray<string>): fc.Arbitrary<HostileFrame> =>
  bodies(known).map(([path, body]) => frame(`POST ${path}`, [authorization, json], body))

/** Signing in to the console and out of it, by links and keys that are none, and at times by a right key. */
const signInFrame = fc
  .tuple(
    fc.constantFrom("POST", "POST", "POST", "GET", "DELETE", "PUT"),
    fc.oneof(
      nastyValue,
      nastyValue.map((value) => `{"link":${value}}`),
      nastyValue.map((value) => `{"key":${value}}`),
      nastyValue.map((value) => `{"link":${value},"key":"${operatorKey}"}`),
      fc.constant(`{"key":"${operatorKey}"}`)
    ),
    fc.constantFrom(json, "Content-Type: text/plain", "Origin: https://evil.example", "Cookie: muniment_session=x")
  )
  .map(([method, body, header]) => frame(`${method} /console/session`, [header], body))

const methods = ["initialize", "ping", "tools/list", "tools/call", "resources/list", "__proto__", "notifications/x", ""]
const tools = [
  "memory_search",
  "memory_create",
  "memory_get",
  "memory_batch_delete",
  "write_factual_memory",
  "constructor"
]

const mcpFrame = (known: ReadonlyArray<string>): fc.Arbitrary<HostileFrame> => {
  const value = fc.oneof(
    nastyValue,
    fc.constantFrom(...known).map((text) => JSON.stringify(text))
  )
  const fields = fc
    .tuple(value, value, value)
    .map(([agent, query, rest]) => `{"agentId":${agent},"query":${query},"filters":${rest},"memories":[${rest}]}`)
  const params = fc.oneof(
    value,
    fc
      .tuple(fc.constantFrom(...tools), fc.oneof(fields, value), value)
      .map(([tool, given, meta]) => `{"name":"${tool}","arguments":${given},"_meta":${meta}}`)
  )
  const message = fc
    .tuple(
      fc.constantFrom('"2.0"', '"1.0"', "2"),
      fc.oneof(value, fc.constant("1")),
      fc.constantFrom(...methods),
      params
    )
    .map(([version, id, method, given]) => `{"jsonrpc":${version},"id":${id},"method":"${method}","params":${given}}`)
  const body = fc.oneof(
    { weight: 6, arbitrary: message },
    { weight: 2, arbitrary: fc.array(message, { maxLength: 12 }).map((all) => `[${all.join(",")}]`) },
    value
  )
  const version = fc.constantFrom("2025-03-26", "2025-06-18", "1999-01-01", "", "x".repeat(200))
  return fc
    .tuple(body, fc.option(version))
    .map(([text, given]) =>
      frame("POST /mcp", [authorization, json, ...(given === null ? [] : [`MCP-Protocol-Version: ${given}`])], text)
    )
}

const pathFrame = (known: ReadonlyArray<string>): fc.Arbitrary<HostileFrame> => {
  const spelling = fc.constantFrom(
    "//v1/memories",
    "/v1/../admin/status",
    "/v1/%2e%2e/admin/status",
    "/./v1/memories",
    "/v1/memories/",
    "/V1/memories",
    "/v1/memories;x=1",
    "/v1/memories%00",
    "/v1/memories/%ff",
    "/v1/memories/%",
    "/v1/memories/%zz",
    "/v1/%6demories",
    "http://example.org/v1/memories",
    "*",
    "?",
    "/v1/memories?#x",
    "/v1/memories/%2F..%2F",
    "/mcp/../metrics",
    "\\v1",
    "/docs/..%5c..%5cetc",
    "/docs/handbook/../../../package.json",
    "/.well-known/../admin/status",
    "/openapi.json/",
    "/console",
    "/console/",
    "/console/session",
    "/console/session/",
    "/console/assets/page-AAAAAAAA.js",
    "/console/assets/..%2findex.html",
    "/console/assets/%00",
    "/console/../admin/sessions"
  )
  const parameter = fc.constantFrom(
    "limit=1e9",
    "limit=NaN",
    "limit=1&limit=2",
    "cursor=%00",
    "limit[]=1",
    "agentId[$ne]=",
    "__proto__[x]=1",
    "&&=",
    "%",
    "limit=%F0%9F%92%A9",
    "includeSuperseded=TRUE",
    "createdAfter=+275760-09-13T00:00:00.001Z",
    "now=-271821-04-20",
    "timeZone=../../etc/localtime",
    "tags=a,,b",
    "query=%ED%A0%80",
    `query=${"x".repeat(9_000)}`,
    "constructor=1"
  )
  const path = fc.oneof(
    spelling,
    fc
      .tuple(fc.constantFrom("/v1/memories", "/v1/memories/search", "/v1/schemas"), parameter)
      .map((parts) => parts.join("?")),
    fc.constantFrom(...known).map((text) => `/v1/memories/${encodeURIComponent(text)}/../${encodeURIComponent(text)}`),
    fc.integer({ min: 1, max: 15_000 }).map((length) => `/v1/memories/${"a".repeat(length)}`)
  )
  const method = fc.constantFrom("GET", "GET", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "CONNECT")
  return fc.tuple(method, path).map(([verb, target]) => frame(`${verb} ${target}`, [authorization]))
}

const headerFrame = fc
  .array(
    fc.constantFrom(
      "Content-Length: -1",
      "Content-Length: 1e3",
      "Content-Length: 99999999999999999999",
      "Transfer-Encoding: gzip",
      "Transfer-Encoding: chunked, identity",
      "Expect: 200-maybe",
      "Upgrade: h2c",
      "Connection: upgrade, close",
      "Authorization: Basic Og==",
      "Authorization: Bearer",
      "Authorization: Bearer \xff\xfe",
      `Cookie: ${"a".repeat(9_000)}`,
      "Cookie: muniment_session",
      "Cookie: muniment_session=; muniment_session=%ff; muniment_session=__proto__",
      `Cookie: ${"muniment_session=x; ".repeat(300)}`,
      "X-Forwarded-For: 127.0.0.1, ::1, unknown, \x7f",
      "Forwarded: for=_x",
      "Idempotency-Key: ",
      "Idempotency-Key: \xe9",
      "X-Request-Id: \x01",
      "X-Payment: e30=",
      "X-Payment: %%%",
      "PAYMENT-SIGNATURE: bnVsbA==",
      "X-Grants: bnVsbA==",
      "X-Grants: W10=",
      "X-Agent-Id: \xff",
      "Content-Encoding: gzip",
      "Content-Type: multipart/form-data",
      "Accept: \0",
      "Origin: null",
      "Origin: http://[::1",
      "Host: evil.example",
      " folded: x",
      "Range: bytes=0-,-1",
      "no colon",
      "X-Wallet-Address: 0x00",
      "X-Wallet-Timestamp: NaN",
      "X-Wallet-Signature: 0x",
      "__proto__: x",
      "Constructor: x"
    ),
    { minLength: 1, maxLength: 5 }
  )
  .chain((junk) =>
    fc.constantFrom(
      frame("GET /v1/memories/search?query=x", [authorization, ...junk]),
      frame("POST /v1/memories", [authorization, json, ...junk], '{"agentId":"agent","memories":[]}'),
      frame("POST /mcp", [authorization, json, ...junk], '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
      frame("GET /admin/sessions", junk)
    )
  )

const postHead = `POST /v1/memories HTTP/1.1\r\nHost: x\r\n${authorization}\r\n${json}\r\nConnection: close\r\n`

const framing = fc
  .constantFrom(
    `${postHead}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`,
    `${postHead}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx`,
    `${postHead}Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n0\r\n\r\n`,
    `${postHead}Transfer-Encoding: chunked\r\n\r\n2;${"x".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    `${postHead}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
    `${postHead}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
    `${postHead}Content-Length: 2\r\n\r\n{}GET /admin/status HTTP/1.1\r\nHost: x\r\n\r\n`,
    `${postHead}Content-Length: 0\r\n\r\n`,
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET /\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: close\r\n\r\n",
    "GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "GET /v1/memories HTTP/9.9\r\nHost: x\r\n\r\n",
    `GET /v1/memories HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${"a: b\r\n".repeat(3_000)}\r\n`
  )
  .map((text): HostileFrame => ({ bytes: Buffer.from(text, "latin1"), isCutOff: text.startsWith("\x16") }))

const cutOff = fc
  .tuple(
    fc.constantFrom("/v1/memories", "/v1/schemas", "/mcp", "/v1/memories/batch/search"),
    fc.nat(160),
    fc.nat(70_000)
  )
  .map(([path, sent, announced]): HostileFrame => {
    const text = `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n${json}\r\nContent-Length: ${announced + 40}\r\n\r\n{"agentId":"agent","m`
    return { bytes: Buffer.from(text.slice(0, 20 + sent), "latin1"), isCutOff: true }
  })
