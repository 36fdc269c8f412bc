/** Which bytes are a request that may be read before Node reads it. */
import { expect, it } from "vitest"
import { PlainRequests } from "@muniment/server/admission/Refusals"

const read = (text: string) => new PlainRequests().read(Buffer.from(text, "latin1"))

it("a request in its plainest form is read", () => {
  expect(read("GET /v1/memories?limit=2 HTTP/1.1\r\nHost: x\r\nAuthorization:Bearer key \r\n\r\n")).toEqual({
    method: "GET",
    url: "/v1/memories?limit=2",
    headers: { host: "x", authorization: "Bearer key" },
    body: Buffer.alloc(0),
    missing: 0
  })
  const posted = read("POST /mcp HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 7\r\n\r\n{}\r\n")
  expect([posted?.body.toString(), posted?.missing]).toEqual(["{}\r\n", 3])
})

it.each([
  ["without a host", "GET / HTTP/1.1\r\nAccept: x\r\n\r\n"],
  ["that is not whole", "GET / HTTP/1.1\r\nHost: x\r\n"],
  ["with another behind it", "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n"],
  ["of an older protocol", "GET / HTTP/1.0\r\nHost: x\r\n\r\n"],
  ["whose answer has no body", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["to another server", "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["in chunks", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["with two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1"],
  ["with an odd length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n1"],
  ["with a length and a no-break space", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\xa0\r\n\r\n1"],
  ["with a space before the colon", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\n1"],
  ["with a header in two lines", "GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n"],
  ["with a bare line feed", "GET / HTTP/1.1\r\nHost: x\nContent-Length: 5\r\n\r\n"],
  ["with a zero", "GET / HTTP/1.1\r\nHost: x\0\r\n\r\n"],
  ["that asks for leave", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1"],
  ["that wants another protocol", "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
  ["that ends the connection", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  ["without a header's name", "GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n"]
])("one %s is left to Node", (_, text) => {
  expect(read(text)).toBeUndefined()
})

it("names of headers that objects have by nature are names like others", () => {
  expect(read("GET / HTTP/1.1\r\nHost: x\r\nconstructor: x\r\n\r\n")?.headers["constructor"]).toBe("x")
  expect(read("GET / HTTP/1.1\r\nHost: x\r\n__proto__: x\r\n\r\n")?.headers["__proto__"]).toBe("x")
})

it("requests with the same head have bodies of their own", () => {
  const requests = new PlainRequests()
  const next = (head: string, body: string) => requests.read(Buffer.from(`${head}\r\n\r\n${body}`, "latin1"))
  const post = "POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: 3"
  expect(next(post, "one")?.body.toString()).toBe("one")
  expect(next(post, "two")).toMatchObject({ method: "POST", url: "/v1/memories", body: Buffer.from("two"), missing: 0 })
  expect(next(post, "th")?.missing).toBe(1)
  expect(next(post, "three")).toBeUndefined()
  expect(next("GET /b HTTP/1.1\r\nHost: x", "")).toMatchObject({ method: "GET", url: "/b", missing: 0 })
  expect(next(post, "one")?.url).toBe("/v1/memories")
})

it("many heads are forgotten, and read again", () => {
  const requests = new PlainRequests()
  for (let round = 0; round < 2; round++)
    for (let item = 0; item < 1_000; item++)
      expect(requests.read(Buffer.from(`GET /${item} HTTP/1.1\r\nHost: x\r\n\r\n`))?.url).toBe(`/${item}`)
})
