/**
 * A proxy before a JSON-RPC node that fails on demand: what a service must live through when its node
 * is away, silent, or answers nothing although it has done the work. A batch fails as a whole, as soon
 * as one of its calls is meant. HTTP only; subscriptions go to the node itself.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { readBody } from "./RequestBody.ts"

/**
 * `refuse`: the connection ends before the node hears of it. `drop-response`: the node has done it, and
 * the caller is not told. `http-500`: an answer that says nothing, and the node has not heard of it.
 * `hang`: no answer, and the node has not heard of it.
 */
export type FaultKind = "refuse" | "drop-response" | "http-500" | "hang"

export interface RpcCall {
  readonly method: string
  readonly params: unknown
}

export interface FaultyRpc {
  readonly url: string
  /** The next `times` (1) requests that hold a call of `method`, or one that it is true for, fail so. */
  readonly failNext: (method: string | ((call: RpcCall) => boolean), kind: FaultKind, times?: number) => void
  /** Every request is refused until `up`, which also forgets all faults that are still to come. */
  readonly down: () => void
  readonly up: () => void
  /** How often it was called, faults included; in all, without a method. */
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
    // It stays open until the caller gives up, or the proxy stops.
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

/** One call or a batch; what is neither goes on to the node, which says so. */
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
