/**
 * The HTTP around a peer that is a library: two routes on node:http and nothing between, which is
 * less than any product would put there. Requests and answers are those of `Peer.ts`.
 */
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { FoundMemory, PeerQuery, PeerStore } from "./Peer.ts"

export interface PeerEngine {
  /** Resolves when the peer says that they are stored. */
  readonly store: (memories: PeerStore["memories"]) => Promise<void>
  readonly search: (query: PeerQuery) => Promise<ReadonlyArray<FoundMemory>>
  readonly close: () => Promise<void>
}

export const serveJson = (engine: PeerEngine): void => {
  const server = jsonServer(engine)
  server.listen(Number(process.env["PEER_PORT"]), "127.0.0.1")
  process.once("SIGTERM", () => {
    server.close()
    server.closeAllConnections()
    void engine.close().then(() => process.exit(0))
  })
}

/**
 * Idle connections stay open. Node's server would close those that were idle for five seconds while the other
 * contestants had their turn, also one on which a request already waits, if the thread was busy meanwhile.
 */
export const jsonServer = (engine: PeerEngine): Server => {
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown) => {
      const text = JSON.stringify(body)
      response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
      response.end(text)
    }
    respond(engine, request).then(
      (body) => (body === undefined ? answer(404, { error: "no such route" }) : answer(200, body)),
      (cause: unknown) => answer(500, { error: cause instanceof Error ? cause.message : String(cause) })
    )
  })
  server.keepAliveTimeout = 0
  return server
}

const respond = async (engine: PeerEngine, request: IncomingMessage): Promise<unknown> => {
  if (request.method === "GET") return { ready: true }
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"))
  if (request.url === "/store") {
    const { memories } = body as PeerStore
    await engine.store(memories)
    return { stored: memories.length }
  }
  return request.url === "/search" ? { memories: await engine.search(body as PeerQuery) } : undefined
}
