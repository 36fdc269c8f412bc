/** A store that speaks the protocol of S3, behind a link that can be cut and held, or that answers every call with an error. */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { CutProxy } from "./CutProxy.ts"

interface S3Server {
  readonly run: () => Promise<{ readonly port: number }>
  readonly close: () => Promise<void>
}

// It has no types of its own.
const S3rver = createRequire(import.meta.url)("@20minutes/s3rver") as new (options: object) => S3Server
const bucket = "bases"

export class ObjectStore {
  readonly link: CutProxy
  readonly #store: S3Server
  readonly #port: number
  readonly #failing: Server

  private constructor(store: S3Server, port: number, failing: Server, link: CutProxy) {
    this.#store = store
    this.#port = port
    this.#failing = failing
    this.link = link
  }

  static async start(directory: string): Promise<ObjectStore> {
    const store = new S3rver({
      port: 0,
      address: "127.0.0.1",
      silent: true,
      directory,
      configureBuckets: [{ name: bucket }]
    })
    const { port } = await store.run()
    const failing = createServer((request, response) => {
      request.resume()
      response.writeHead(500).end("<Error><Code>InternalError</Code></Error>")
    }).listen(0, "127.0.0.1")
    await once(failing, "listening")
    return new ObjectStore(store, port, failing, await CutProxy.start(port))
  }

  /** Of a node. */
  get environment(): Readonly<Record<string, string>> {
    return {
      MUNIMENT_BASES: `s3://${bucket}/of/nodes`,
      AWS_ACCESS_KEY_ID: "S3RVER",
      AWS_SECRET_ACCESS_KEY: "S3RVER",
      AWS_ENDPOINT_URL: `http://127.0.0.1:${this.link.port}`
    }
  }

  /** Every call is answered with status 500 from now on. */
  fail(): void {
    this.link.pointTo((this.#failing.address() as AddressInfo).port)
  }

  mend(): void {
    this.link.pointTo(this.#port)
    this.link.mend()
  }

  async stop(): Promise<void> {
    this.link.stop()
    this.#failing.close()
    await this.#store.close()
  }
}
