/** A real HTTP server on a loopback port that records what arrives and answers what the test says. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface WireRequest {
  readonly method: string
  readonly url: string
  readonly headers: NodeJS.Dict<string | Array<string>>
  readonly body: unknown
}

export interface WireAnswer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string>
}

export interface WireServer extends AsyncDisposable {
  readonly url: string
  readonly requests: Array<WireRequest>
}

/** `answer` gives undefined to cut the connection without a word. */
export const startWireServer = async (
  answer: (request: WireRequest, index: number) => WireAnswer | undefined
): Promise<WireServer> => {
  const requests: Array<WireRequest> = []
  const server = createServer((incoming, outgoing) => {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      const text = Buffer.concat(chunks).toString()
      const { method = "", url = "", headers } = incoming
      const request: WireRequest = { method, url, headers, body: text === "" ? undefined : JSON.parse(text) }
      requests.push(request)
      const reply = answer(request, requests.length - 1)
      if (reply === undefined) return outgoing.destroy()
      outgoing.writeHead(reply.status, { "content-type": "application/json", ...reply.headers })
      return outgoing.end(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
