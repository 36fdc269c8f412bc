/**
 * A proxy before a JSON-RPC node that fails on demand: the node is away, silent, or does the work without answering. A
 * batch fails as a whole if a fault matches one of its calls. HTTP only; subscriptions go to the node itself.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { readBody } from "./RequestBody.ts"

/**
 * `refuse`: the connection ends before the request reaches the node. `drop-response`: the node acts, the response is
 * lost. `http-500`: an empty error response; the node gets nothing. `hang`: no response; the node gets nothing.
 */
export type FaultKind = "refuse" | "drop-response" | "http-500" | "hang"

export interface RpcCall {
  readonly method: string
  readonly params: unknown
}

export interface FaultyRpc {
  readonly url: string
  /**
   * The next `times` (default 1) requests with a call of `method`, or one that the predicate accepts, fail this way.
   */
  readonly failNext: (method: string | ((call: RpcCall) => boolean), kind: FaultKind, times?: number) => void
  /** Every request is refused until `up`, which also clears all pending faults. */
  readonly down: () => void
  readonly up: () => void
  /** Number of calls of `method`, faults included; of all methods without one. */
  readonly calls: (method?: string) => number
  readonly stop: () => Promise<void>
}

interface Fault {
  readonly isMeant: (call: RpcCall) => boolean
  readonly kind: FaultKind
  timesLeft: number
}

export const startFaultyRpc = async (targetUrl: string): Promise<FaultyRpc> => {
  const counts = new Map<string, number>()
  let faults: ReadonlyArray<Fault> = []
  let isDown = false

  const faultFor = (calls: ReadonlyArray<RpcCall>): FaultKind | undefined => {
    const fault = faults.find(({ isMeant, timesLeft }) => timesLeft > 0 && calls.some(isMeant))
    if (fault === undefined) return undefined
    fault.timesLeft--
    return fault.kind
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request)
    const calls = callsIn(body)
    for (const { method } of calls) counts.set(method, (counts.get(method) ?? 0) + 1)
    const kind = isDown ? "refuse" : faultFor(calls)
    if (kind === "refuse") return void response.destroy()
    // The connection stays open until the caller gives up or the proxy stops.
    if (kind === "hang") return
    if (kind === "http-500") return void response.writeHead(500).end("Internal Server Error")
    const answered = await fetch(targetUrl, { method: "POST", headers: { "content-type": "application/json" }, body })
    const text = await answered.text()
    if (kind === "drop-response") return void response.destroy()
    response.writeHead(answered.status, { "content-type": "application/json" }).end(text)
  }

  const server = createServer((request, response) => {
    // The node is away: so is its proxy.
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy has no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    failNext: (method, kind, times = 1) => {
      const isMeant = typeof method === "string" ? (call: RpcCall) => call.method === method : method
      faults = [...faults, { isMeant, kind, timesLeft: times }]
    },
    down: () => {
      isDown = true
    },
    up: () => {
      isDown = false
      faults = []
    },
    calls: (method) =>
      method === undefined ? [...counts.values()].reduce((sum, count) => sum + count, 0) : (counts.get(method) ?? 0),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** One call or a batch; anything else is passed to the node, which rejects it. */
const callsIn = (body: string): ReadonlyArray<RpcCall> => {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return []
  }
  return (Array.isArray(parsed) ? parsed : [parsed]).filter(isCall)
}

const isCall = (value: unknown): value is RpcCall =>
  typeof value === "object" && value !== null && "method" in value && typeof value.method === "string"
