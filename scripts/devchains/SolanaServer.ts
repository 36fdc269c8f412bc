/**
 * A Solana node's two interfaces on one port: JSON-RPC over HTTP (single calls and batches) and the subscriptions that
 * clients wait with over WebSocket: `signatureSubscribe`, which ends with its one notification, and `slotSubscribe`.
 */
import { createServer } from "node:http"
import { type RawData, type WebSocket, WebSocketServer } from "ws"
import { rpcErrorCode, SolanaRpcError } from "./SolanaFault.ts"
import { readBody } from "./RequestBody.ts"
import type { Commitment, SolanaLedger } from "./SolanaLedger.ts"
import { commitmentIn, configAt, type RpcHandler, textAt } from "./SolanaRpc.ts"

export interface SolanaServer {
  readonly port: number
  /** Sends subscribers what is new. */
  readonly notifySlot: () => void
  readonly notifySignatures: () => void
  readonly close: () => Promise<void>
}

interface Subscription {
  readonly socket: WebSocket
  /** Undefined for a slot subscription. */
  readonly awaited: { readonly signature: string; readonly commitment: Commitment } | undefined
}

interface Call {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

const messageBytesMax = 1024 * 1024

export const startSolanaServer = async (ledger: SolanaLedger, rpc: RpcHandler, port: number): Promise<SolanaServer> => {
  const server = createServer((request, response) => {
    void readBody(request).then(
      (body) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(json(answerAll(rpc, body)))
      },
      () => void response.destroy()
    )
  })
  const subscriptions = new Subscriptions(ledger)
  const sockets = new WebSocketServer({ server, maxPayload: messageBytesMax })
  sockets.on("connection", (socket) => {
    socket.on("message", (data) => subscriptions.receive(socket, data))
    socket.on("close", () => subscriptions.forget(socket))
    // The socket closes itself after an error.
    socket.on("error", () => undefined)
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    // The WebSocket server re-emits the error, where nothing else handles it.
    sockets.on("error", reject)
    server.listen(port, "127.0.0.1", resolve)
  })
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    notifySlot: () => subscriptions.notifySlot(),
    notifySignatures: () => subscriptions.notifySignatures(),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets.clients) socket.terminate()
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

class Subscriptions {
  readonly #ledger: SolanaLedger
  readonly #open = new Map<number, Subscription>()
  #lastId = 0

  constructor(ledger: SolanaLedger) {
    this.#ledger = ledger
  }

  receive(socket: WebSocket, data: RawData): void {
    const answer = answerAll((method, params) => this.#answer(socket, method, params), String(data))
    socket.send(json(answer))
    this.notifySignatures()
  }

  forget(socket: WebSocket): void {
    for (const [id, subscription] of this.#open) if (subscription.socket === socket) this.#open.delete(id)
  }

  notifySlot(): void {
    const slot = { slot: this.#ledger.slot, parent: this.#ledger.slot - 1n, root: this.#ledger.slot - 32n }
    for (const [id, { socket, awaited }] of this.#open) {
      if (awaited === undefined) notify(socket, "slotNotification", id, slot)
    }
  }

  notifySignatures(): void {
    for (const [id, { socket, awaited }] of this.#open) {
      const found = awaited && this.#ledger.transaction(awaited.signature, awaited.commitment)
      if (found === undefined) continue
      this.#open.delete(id)
      const value = { err: found.execution.fault ?? null }
      notify(socket, "signatureNotification", id, { context: { slot: this.#ledger.slot }, value })
    }
  }

  #answer(socket: WebSocket, method: string, params: ReadonlyArray<unknown>): unknown {
    switch (method) {
      case "signatureSubscribe":
        return this.#subscribe(socket, { signature: textAt(params, 0), commitment: commitmentIn(configAt(params, 1)) })
      case "slotSubscribe":
        return this.#subscribe(socket, undefined)
      case "signatureUnsubscribe":
      case "slotUnsubscribe":
        return this.#open.delete(Number(params[0]))
      // Keep-alive of @solana/kit, which expects no particular answer.
      case "ping":
        return null
      default:
        throw new SolanaRpcError(rpcErrorCode.methodNotFound, `Method not found: ${method}`)
    }
  }

  #subscribe(socket: WebSocket, awaited: Subscription["awaited"]): number {
    this.#lastId++
    this.#open.set(this.#lastId, { socket, awaited })
    return this.#lastId
  }
}

const notify = (socket: WebSocket, method: string, subscription: number, result: unknown): void =>
  socket.send(json({ jsonrpc: "2.0", method, params: { subscription, result } }))

const answerAll = (rpc: RpcHandler, body: string): unknown => {
  let calls: unknown
  try {
    calls = JSON.parse(body)
  } catch {
    return { jsonrpc: "2.0", id: null, error: { code: rpcErrorCode.parse, message: "Parse error" } }
  }
  return Array.isArray(calls) ? calls.map((call: Call) => answerOne(rpc, call)) : answerOne(rpc, calls as Call)
}

const answerOne = (rpc: RpcHandler, { id, method, params }: Call): unknown => {
  try {
    return { jsonrpc: "2.0", id, result: rpc(String(method), Array.isArray(params) ? params : []) }
  } catch (cause) {
    const { code, message, data } =
      cause instanceof SolanaRpcError ? cause : new SolanaRpcError(rpcErrorCode.internal, String(cause))
    return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } }
  }
}

/** Slots, lamports and compute units stay below 2^53 here. */
const json = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? Number(one) : one))
