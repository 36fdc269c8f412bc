/** A proxy on loopback that can be cut: connections end, and new ones are refused; or held: nothing passes, nothing ends. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

export class CutProxy {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #state: "open" | "cut" | "held" = "open"
  #targetPort: number

  private constructor(server: Server, targetPort: number) {
    this.#server = server
    this.#targetPort = targetPort
  }

  static async start(targetPort: number): Promise<CutProxy> {
    const server = createServer({ noDelay: true })
    const proxy = new CutProxy(server, targetPort)
    server.on("connection", (caller) => proxy.#join(caller))
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Of connections from now on; those that are there end. */
  pointTo(targetPort: number): void {
    this.#targetPort = targetPort
    this.#end()
  }

  cut(): void {
    this.#state = "cut"
    this.#end()
  }

  hold(): void {
    this.#state = "held"
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  mend(): void {
    this.#state = "open"
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  stop(): void {
    this.cut()
    this.#server.close()
  }

  #end(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }

  #join(caller: Socket): void {
    if (this.#state === "cut") return void caller.destroy()
    const target = connect({ port: this.#targetPort, host: "127.0.0.1", noDelay: true })
    const pair = [caller, target] as const
    this.#pairs.add(pair)
    const end = () => {
      this.#pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.on("error", end).once("close", end)
    const pass = (from: Socket, to: Socket) =>
      from.on("data", (chunk: Buffer) => {
        if (to.write(chunk) || this.#state === "held") return
        from.pause()
        to.once("drain", () => void (this.#state === "held" ? undefined : from.resume()))
      })
    pass(caller, target)
    pass(target, caller)
    if (this.#state === "held") for (const socket of pair) socket.pause()
  }
}
