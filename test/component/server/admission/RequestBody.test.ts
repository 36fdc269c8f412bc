/** Bodies of requests over real connections: received whole, or thrown away without keeping their memory. */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { Agent, createServer, request, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "vitest"
import { discardBody, receiveBody, releaseBytes } from "@muniment/server/admission/RequestBody"

const bytesMax = 1_048_576

/** What the listener sees of a body of `bytesMax` random bytes, sent twice on one connection. */
const served = async (listener: RequestListener) => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const body = randomBytes(bytesMax)
  let isReused = false
  for (let round = 0; round < 2; round++) {
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent })
    sent.end(body)
    const [response] = await once(sent, "response")
    for await (const _ of response) continue
    isReused = sent.reusedSocket
  }
  agent.destroy()
  server.close()
  return { body, isReused }
}

describe("a large body", () => {
  it("is received whole, and the pieces that it came in are freed", async () => {
    const bodies: Array<Buffer> = []
    const { body } = await served((incoming, response) => {
      receiveBody(incoming, bytesMax, (received) => {
        bodies.push(Buffer.from(received))
        incoming.resume()
        response.end()
      })
    })
    expect(bodies.map((received) => received.equals(body))).toEqual([true, true])
  })

  it("that nobody wants is read, so that the connection serves again, and freed", async () => {
    const pieces: Array<Buffer> = []
    const { isReused } = await served((incoming, response) => {
      incoming.on("data", (piece: Buffer) => pieces.push(piece))
      discardBody(incoming)
      response.writeHead(429).end()
    })
    expect(isReused).toBe(true)
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.filter(({ buffer }) => buffer.byteLength > 0)).toEqual([])
  })
})

it("bytes that are released stay where others share their memory", () => {
  const pooled = Buffer.from("shared")
  releaseBytes(pooled)
  expect(pooled.toString()).toBe("shared")
  const whole = Buffer.from(new ArrayBuffer(20_000))
  releaseBytes(whole.subarray(1))
  expect(whole.length).toBe(20_000)
  releaseBytes(whole)
  expect(whole.buffer.byteLength).toBe(0)
})
