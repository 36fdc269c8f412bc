/** Requests that Node's HTTP server answers by itself, or does not hand on: every answer has the contract's body. */
import { connect } from "node:net"
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { sendRaw } from "../support/RawHttp.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const server = useSharedServer({ MUNIMENT_EMBEDDING_MODEL: "none" })

const head = (first: string, ...lines: ReadonlyArray<string>): string => [first, ...lines, "", ""].join("\r\n")
const get = (path: string, ...lines: ReadonlyArray<string>): string =>
  head(`GET ${path} HTTP/1.1`, "host: localhost", ...lines)
const post = (...lines: ReadonlyArray<string>): string =>
  head("POST /v1/memories HTTP/1.1", "host: localhost", "content-type: application/json", ...lines)
const beyond = "x".repeat(Limits.headerBytesMax)

/** Name -> what is sent, status, code. */
const refused: Readonly<Record<string, readonly [string, number, string]>> = {
  "a line that is no request": ["Hello!\r\n\r\n", 400, "invalid_request"],
  TLS: ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "invalid_request"],
  "an unknown method": [head("FETCH / HTTP/1.1", "host: localhost"), 400, "invalid_request"],
  "a method in lower case": [head("get / HTTP/1.1", "host: localhost"), 400, "invalid_request"],
  "another version": [head("GET / HTTP/3.0", "host: localhost"), 400, "invalid_request"],
  "the preface of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "invalid_request"],
  "a space in the path": [get("/v1/memories/search?query=two words"), 400, "invalid_request"],
  "a header without a colon": [get("/health/live", "nonsense"), 400, "invalid_request"],
  "a blank in a header's name": [get("/health/live", "x y: 1"), 400, "invalid_request"],
  "a control character in a header": [get("/health/live", "x-y: \x01"), 400, "invalid_request"],
  "no Host": [head("GET /health/live HTTP/1.1"), 400, "invalid_request"],
  "two Hosts": [get("/health/live", "host: localhost"), 400, "invalid_request"],
  "a length that is no number": [post("content-length: two") + "{}", 400, "invalid_request"],
  "a length below nothing": [post("content-length: -1") + "{}", 400, "invalid_request"],
  "two lengths": [post("content-length: 2", "content-length: 3") + "{}", 400, "invalid_request"],
  "a length beside chunks": [post("content-length: 2", "transfer-encoding: chunked"), 400, "invalid_request"],
  "a chunk that has no length": [post("transfer-encoding: chunked") + "zz\r\n", 400, "invalid_request"],
  "a long path": [get(`/${beyond}`), 431, "headers_too_large"],
  "a long query": [get(`/v1/memories/search?query=${beyond}`), 431, "headers_too_large"],
  "a long header": [get("/v1/memories", `x-grants: ${beyond}`), 431, "headers_too_large"],
  "many headers": [
    get("/v1/memories", ...Array.from({ length: 8_000 }, (_, at) => `x-${at}: y`)),
    431,
    "headers_too_large"
  ],
  "ten times what is taken": [get(`/${beyond.repeat(10)}`), 431, "headers_too_large"],
  "long extensions of a chunk": [
    post("transfer-encoding: chunked") + `1;${"e".repeat(20_000)}\r\n{\r\n`,
    413,
    "payload_too_large"
  ],
  "an expectation": [get("/health/live", "expect: wonders"), 417, "expectation_failed"],
  "a tunnel": [head("CONNECT example.com:443 HTTP/1.1", "host: example.com:443"), 405, "method_not_allowed"],
  "a method that no path takes": [head("PROPFIND /v1/memories HTTP/1.1", "host: localhost"), 405, "method_not_allowed"],
  TRACE: [head("TRACE /v1/memories HTTP/1.1", "host: localhost"), 405, "method_not_allowed"],
  "OPTIONS for all": [head("OPTIONS * HTTP/1.1", "host: localhost"), 404, "route_not_found"],
  "GET of MCP": [get("/mcp"), 405, "method_not_allowed"],
  "PUT of the console": [
    head("PUT /console HTTP/1.1", "host: localhost", "content-length: 0"),
    405,
    "method_not_allowed"
  ],
  "an upgrade": [get("/v1/nowhere", "connection: upgrade", "upgrade: websocket"), 404, "route_not_found"]
}

describe("a request that is none, or too large, is answered in the contract's shape:", () => {
  for (const [name, [sent, status, code]] of Object.entries(refused)) {
    it(name, async () => {
      const { status: given, text } = await sendRaw(server.url, [Buffer.from(sent, "latin1")])
      expect(given).toBe(status)
      const [top = "", body = ""] = text.split("\r\n\r\n")
      expect(top.toLowerCase()).toContain("content-type: application/json")
      expect(JSON.parse(body)).toMatchObject({ success: false, code, error: expect.stringMatching(/\w{3}/) })
    })
  }
})

it.concurrent("headers that do not come in time are answered 408", { timeout: 60_000 }, async () => {
  const { status, text } = await sendRaw(server.url, ["GET /health/live HTTP/1.1\r\nhost: localhost\r\n"])
  expect(status).toBe(408)
  expect(text).toMatch(/\r\nretry-after: 1\r\n/i)
  expect(JSON.parse(text.split("\r\n\r\n")[1] ?? "")).toMatchObject({ success: false, code: "request_timeout" })
})

it.concurrent("a body that does not come in time is answered 408", { timeout: 60_000 }, async () => {
  const { status, text } = await sendRaw(server.url, [post("content-length: 100") + "{"])
  expect(status).toBe(408)
  expect(JSON.parse(text.split("\r\n\r\n")[1] ?? "")).toMatchObject({ success: false, code: "request_timeout" })
})

it("what follows an answered request is refused behind its answer", async () => {
  const answers = await new Promise<string>((resolve) => {
    const { hostname, port } = new URL(server.url)
    const chunks: Array<Buffer> = []
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(get("/health/live")))
    socket.once("data", () => socket.write("nonsense\r\n\r\n"))
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("close", () => resolve(Buffer.concat(chunks).toString()))
  })
  expect(answers).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 400 Bad Request\r\n.*"code":"invalid_request"}$/s)
})
