/** A store that speaks the protocol of S3, behind a link that can be cut and held, or that answers every call with an error. */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { CutProxy } from "./CutProxy.ts"
import { s3Environment, type S3Server, startS3Server } from "./S3Server.ts"

const bucket = "bases"

export class ObjectStore {
  readonly link: CutProxy
  readonly #store: S3Server
  readonly #failing: Server

  private constructor(store: S3Server, failing: Server, link: CutProxy) {
    this.#store = store
    this.#failing = failing
    this.link = link
  }

  static async start(directory: string): Promise<ObjectStore> {
    const store = await startS3Server(directory, bucket)
    const failing = createServer((request, response) => {
      request.resume()
      response.writeHead(500).end("<Error><Code>InternalError</Code></Error>")
    }).listen(0, "127.0.0.1")
    await once(failing, "listening")
    return new ObjectStore(store, failing, await CutProxy.start(store.port))
  }

  /** Of a node. */
  get environment(): Readonly<Record<string, string>> {
    return {
      MUNIMENT_BASES: `s3://${bucket}/of/nodes`,
      ...s3Environment(this.link.port)
    }
  }

  /** Every call is answered with status 500 from now on. */
  fail(): void {
    this.link.pointTo((this.#failing.address() as AddressInfo).port)
  }

  mend(): void {
    this.link.pointTo(this.#store.port)
    this.link.mend()
  }

  async stop(): Promise<void> {
    this.link.stop()
    this.#failing.close()
    await this.#store.close()
  }
}
