/**
 * Requests over kept-alive connections, timed from the call to the last byte, with as little of its
 * own cost as Node allows. An answer other than 2xx throws: a figure must not hide an error.
 */
import { Agent, request } from "node:http"
import { benchKey } from "./BenchServer.ts"

export interface Timed<A> {
  readonly body: A
  readonly millis: number
}

export class HttpClient {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true })

  constructor(port: number) {
    this.#port = port
  }

  async json<A>(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Timed<A>> {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const { text, millis } = await this.text(method, path, sent, idempotencyKey)
    return { body: JSON.parse(text) as A, millis }
  }

  text(
    method: string,
    path: string,
    body?: string,
    idempotencyKey?: string
  ): Promise<{ readonly text: string; readonly millis: number }> {
    return new Promise((succeed, fail) => {
      const startedMillis = performance.now()
      const call = request(
        {
          host: "127.0.0.1",
          port: this.#port,
          method,
          path,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${benchKey}`,
            ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
            ...(body !== undefined && {
              "content-type": "application/json",
              "content-length": String(Buffer.byteLength(body))
            })
          }
        },
        (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("error", fail)
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString("utf8")
            const status = response.statusCode ?? 0
            if (status >= 200 && status < 300) succeed({ text, millis: performance.now() - startedMillis })
            else fail(new Error(`${method} ${path.split("?")[0]} answered ${status}: ${text.slice(0, 300)}`))
          })
        }
      )
      call.on("error", (cause) => fail(new Error(`${method} ${path.split("?")[0]} broke off`, { cause })))
      call.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
