/**
 * A proxy between a client and PostgreSQL that cuts or holds one statement. It is armed with bytes that only this
 * statement carries; every other connection and statement passes.
 */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

/** Message "ready for query" outside of a transaction: what was asked has committed. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/**
 * `beforeStatement`: the server never sees it. `afterStatement`: it has committed, and its answer is lost. `garbled`: it has
 * committed, and other bytes come in the place of its answer.
 */
export type Fault = "beforeStatement" | "afterStatement" | "garbled" | "hold"

/** No message of the protocol, as of a damaged answer: an unknown kind, and a length below that of the length itself. */
const garbage = Buffer.from([0xff, 0, 0, 0, 1, 0xff, 0xff])

export class TcpProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #armed: { readonly bytes: string; readonly fault: Fault; readonly met: () => void } | undefined
  #letGo: (() => void) | undefined

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer()
    const proxy = new TcpProxy(server)
    server.on("connection", (client) => proxy.#join(client, connect(targetPort, "127.0.0.1")))
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** For the next statement with these bytes; resolves when the fault has happened. */
  arm(bytes: string, fault: Fault): Promise<void> {
    return new Promise((met) => (this.#armed = { bytes, fault, met }))
  }

  /** Sends on what is held. */
  letGo(): void {
    this.#letGo?.()
    this.#letGo = undefined
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, "close")
  }

  #join(client: Socket, server: Socket): void {
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on("close", () => {
        this.#sockets.delete(socket)
        end()
      })
      // A close follows every error.
      socket.on("error", end)
    }
    /** Set once the statement has gone out whose answer is lost. */
    let lost: (() => void) | undefined
    let isGarbled = false
    client.on("data", (chunk) => {
      const armed = this.#armed
      if (armed === undefined || !chunk.includes(armed.bytes)) return void server.write(chunk)
      this.#armed = undefined
      isGarbled = armed.fault === "garbled"
      if (isGarbled || armed.fault === "afterStatement") lost = armed.met
      if (armed.fault === "hold") {
        client.pause()
        this.#letGo = () => {
          server.write(chunk)
          client.resume()
        }
      } else if (armed.fault === "beforeStatement") end()
      else server.write(chunk)
      if (lost === undefined) armed.met()
    })
    server.on("data", (chunk) => {
      if (lost === undefined) return void client.write(chunk)
      if (!chunk.includes(ready)) return
      lost()
      if (!isGarbled) return end()
      lost = undefined
      client.write(garbage)
    })
  }
}
