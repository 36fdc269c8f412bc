/** An x402 facilitator on a loopback port that answers by script, and keeps what it was asked. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

export interface FacilitatorAnswer {
  readonly status: number
  readonly body: unknown
}

export interface ScriptedFacilitator {
  readonly url: string
  /** By path: `/verify`, `/settle`, `/supported`. */
  readonly answers: Map<string, FacilitatorAnswer>
  readonly asked: Array<{ readonly path: string; readonly body: unknown }>
}

export const hash = "0xfacilitated"

/** As it comes it takes every payment. */
export const startFacilitator = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<ScriptedFacilitator & { readonly close: () => void }>((resolve) => {
        const answers = new Map<string, FacilitatorAnswer>([
          ["/verify", { status: 200, body: { isValid: true } }],
          ["/settle", { status: 200, body: { success: true, transaction: hash, network: "eip155:84532" } }],
          ["/supported", { status: 200, body: { kinds: [], extensions: [], signers: {} } }]
        ])
        const asked: Array<{ path: string; body: unknown }> = []
        const server = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => void chunks.push(chunk))
          request.on("end", () => {
            const path = request.url ?? ""
            const text = Buffer.concat(chunks).toString()
            asked.push({ path, body: text === "" ? undefined : JSON.parse(text) })
            const { body, status } = answers.get(path) ?? { status: 404, body: {} }
            if (status === 0) return void request.socket.destroy()
            response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as AddressInfo
          const close = () => void server.close()
          resolve({ url: `http://127.0.0.1:${port}`, answers, asked, close })
        })
      })
  ),
  ({ close }) => Effect.sync(close)
)
