/**
 * Requests over plain sockets, as cheap for the sender as Node allows: the load generator shares the processor with the
 * service, so whatever it saves it leaves to the service. A connection carries one request at a time.
 */
import { connect, type Socket } from "node:net"

export interface Reply {
  /** 0: the connection broke before an answer. */
  readonly status: number
  readonly hasRetryAfter: boolean
  /** From the writing of the request to the last byte of its answer. */
  readonly millis: number
  /** From the time for which the request was planned to its writing: what the sender is to blame for. */
  readonly lagMillis: number
}

export interface Target {
  readonly host: string
  readonly port: number
}

const headEnd = Buffer.from("\r\n\r\n")
const lengthPattern = /\r\ncontent-length: *(\d+)/i
const retryPattern = /\r\nretry-after: *\d+\r\n/i
const closePattern = /\r\nconnection: *close/i

/** The bytes of a request. */
export const requestBytes = (
  { host, port }: Target,
  method: string,
  path: string,
  options: {
    readonly key?: string
    readonly body?: string
    readonly headers?: Readonly<Record<string, string>>
  } = {}
): Buffer => {
  const { body, headers = {}, key } = options
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}:${port}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    ...(body === undefined ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`])
  ]
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body ?? ""}`)
}

interface Waiting {
  readonly dueMillis: number
  readonly writtenMillis: number
  readonly settle: (reply: Reply) => void
}

class Connection {
  readonly #socket: Socket
  readonly #onFree: (connection: Connection, isUsable: boolean) => void
  #received: Buffer = Buffer.alloc(0)
  #waiting: Waiting | undefined

  constructor(
    target: Target,
    localAddress: string | undefined,
    onFree: (connection: Connection, isUsable: boolean) => void
  ) {
    this.#onFree = onFree
    this.#socket = connect({ ...target, ...(localAddress !== undefined && { localAddress }) })
    this.#socket.setNoDelay(true)
    this.#socket.on("data", (chunk: Buffer) => this.#hear(chunk))
    this.#socket.on("error", () => this.#socket.destroy())
    this.#socket.on("close", () => this.#end({ status: 0, hasRetryAfter: false }, false))
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable
  }

  send(bytes: Buffer, dueMillis: number): Promise<Reply> {
    return new Promise((settle) => {
      this.#waiting = { dueMillis, writtenMillis: performance.now(), settle }
      this.#socket.write(bytes)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #hear(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf(headEnd)
    if (end < 0) return
    const head = this.#received.toString("latin1", 0, end + 2)
    const length = Number(lengthPattern.exec(head)?.[1] ?? 0)
    if (this.#received.length < end + headEnd.length + length) return
    this.#received = Buffer.alloc(0)
    const isUsable = !closePattern.test(head)
    this.#end({ status: Number(head.slice(9, 12)), hasRetryAfter: retryPattern.test(head) }, isUsable)
  }

  #end(reply: Pick<Reply, "status" | "hasRetryAfter">, isUsable: boolean): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (!isUsable) this.#socket.destroy()
    if (waiting === undefined) return
    this.#onFree(this, isUsable)
    const { dueMillis, settle, writtenMillis } = waiting
    settle({ ...reply, millis: performance.now() - writtenMillis, lagMillis: writtenMillis - dueMillis })
  }
}

/** A service takes `Limits.connectionsPerAddressMax` from one address; a crowd comes from several. */
const connectionsPerAddress = 900

/** As many connections as there are requests under way, at most `connectionsMax`; beyond it requests wait their turn. */
export class Wire {
  readonly target: Target
  readonly #connectionsMax: number
  readonly #free: Array<Connection> = []
  readonly #all = new Set<Connection>()
  readonly #waiting: Array<() => void> = []
  readonly #localAddress: string | undefined
  #opened = 0

  /** From `localAddress`, an address of this machine, or as the system chooses. */
  constructor(target: Target, connectionsMax = connectionsPerAddress, localAddress?: string) {
    this.target = target
    this.#localAddress = hasManyAddresses(target) ? localAddress : undefined
    this.#connectionsMax = hasManyAddresses(target) ? connectionsMax : Math.min(connectionsMax, connectionsPerAddress)
  }

  async send(bytes: Buffer, dueMillis = performance.now()): Promise<Reply> {
    for (;;) {
      const connection = this.#take()
      if (connection !== undefined) return connection.send(bytes, dueMillis)
      await new Promise<void>((wake) => this.#waiting.push(wake))
    }
  }

  close(): void {
    for (const connection of this.#all) connection.close()
  }

  #take(): Connection | undefined {
    for (;;) {
      const free = this.#free.pop()
      if (free === undefined) break
      if (free.isOpen) return free
      this.#all.delete(free)
    }
    if (this.#all.size >= this.#connectionsMax) return undefined
    const made = new Connection(this.target, this.#nextAddress(), (connection, isUsable) => {
      if (isUsable) this.#free.push(connection)
      else this.#all.delete(connection)
      this.#waiting.shift()?.()
    })
    this.#all.add(made)
    return made
  }

  /** In turn, so that none has more than its share. */
  #nextAddress(): string | undefined {
    const addresses = Math.ceil(this.#connectionsMax / connectionsPerAddress)
    return addresses === 1 ? this.#localAddress : `127.0.0.${2 + (this.#opened++ % addresses)}`
  }
}

/** Every address of 127.0.0.0/8 is this machine, on Linux without any configuration. */
const hasManyAddresses = ({ host }: Target): boolean => process.platform === "linux" && host === "127.0.0.1"
