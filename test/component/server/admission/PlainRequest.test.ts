/**
 * What is read before Node reads it, Node reads alike: requests with doubled, folded and odd headers, lengths and line
 * ends. A difference would let one request hide in another behind a proxy (request smuggling).
 */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { buffer } from "node:stream/consumers"
import fc from "fast-check"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type PlainRequest, PlainRequests } from "@muniment/server/admission/Refusals"
import { repetitions } from "../../../support/Repetitions.ts"

type Seen = Omit<PlainRequest, "body" | "missing"> & { readonly body: string }

let server: Server
let seen: Array<Seen>
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { headers, method = "", url = "" } = request
    const body = (await buffer(request)).toString("latin1")
    seen.push({ method, url, headers: headers as PlainRequest["headers"], body })
    response.end()
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
})
afterAll(() => server.close())

/** A request of which Node expects more to come gets no answer. */
const answerMillisMax = 20_000

/** All that Node finds in the bytes of one connection; a request that it refuses is none. */
const seenByNode = async (bytes: Buffer): Promise<ReadonlyArray<Seen>> => {
  seen = []
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  socket.on("error", () => socket.destroy())
  socket.setTimeout(answerMillisMax, () => socket.destroy())
  socket.once("data", () => socket.end()).write(bytes)
  await once(socket, "close")
  return seen
}

const lengths = ["3", " 3 ", "03", "+3", "3\xa0", "\x853", "0x3", "3, 3", "3e0", "-3", "", "4", "999999999999"]
const lengthNames = ["Content-Length", "content-length", "Content_Length", "Content-Length ", "Content-Length\t"]
const others = [
  "Transfer-Encoding: chunked",
  "Transfer_Encoding: chunked",
  "transfer-encoding:\tidentity",
  " folded: 1",
  "\tfolded",
  "X: a\x00b",
  "X: a\rContent-Length: 2",
  "X: a\nContent-Length: 2",
  "X: \xff\x80",
  "X: \x7f",
  "X:",
  "X-A: 1",
  "X-\xe9: x",
  "-: 1",
  ":x",
  "Host: y",
  "Authorization: Bearer a",
  "Proxy-Connection: close",
  "Connection: keep-alive",
  "Connection: Keep-Alive, x",
  "Connection: close",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "Trailer: X",
  "constructor: y"
]
const header = fc.oneof(
  fc.tuple(fc.constantFrom(...lengthNames), fc.constantFrom(...lengths)).map((parts) => parts.join(":")),
  fc.constantFrom(...others)
)
const lineEnd = fc.oneof({ weight: 30, arbitrary: fc.constant("\r\n") }, fc.constantFrom("\n", "\r", "\r\r\n", "\x85"))
const line = (content: fc.Arbitrary<string>) => fc.tuple(content, lineEnd).map((parts) => parts.join(""))
const start = fc
  .tuple(
    fc.constantFrom("GET", "POST", "DELETE", "PATCH", "get"),
    fc.constantFrom("/v1/memories", "//x", "/a#b", "/%zz", '/"<{|^`\\', "http://h/x", "/a b", "*", "/\xe9"),
    fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.1 ")
  )
  .map((parts) => parts.join(" "))

const request = fc
  .record({
    start: line(start),
    host: fc.oneof({ weight: 6, arbitrary: fc.constant("Host: x\r\n") }, fc.constant("")),
    headers: fc.array(line(header), { maxLength: 3 }),
    end: lineEnd,
    body: fc.constantFrom("", "abc", "abcd", "3\r\nabc\r\n0\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  })
  .map((parts) => [parts.start, parts.host, ...parts.headers, parts.end, parts.body].join(""))

/** One connection for all, so that heads are met again. */
const requests = new PlainRequests()

it("a request that is read here is one to Node, and the same one", async () => {
  await fc.assert(
    fc.asyncProperty(request, async (made) => {
      const bytes = Buffer.from(made, "latin1")
      const read = requests.read(bytes)
      if (read === undefined || read.missing > 0) return
      const { body, headers, method, url } = read
      const byNode = await seenByNode(bytes)
      expect(byNode).toMatchObject([{ method, url, headers: { ...headers }, body: body.toString("latin1") }])
    }),
    { numRuns: repetitions(20_000) }
  )
})
