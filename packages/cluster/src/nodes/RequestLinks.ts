/**
 * Connections of callers on their way from the node that took them to the node that serves them, over the sockets of
 * the cluster (`NodeSockets.ts`).
 *
 * Wire: the caller's address in ASCII, a line feed; one byte back if this node serves now; then the caller's bytes and
 * the answers, unchanged. A link that ends before that byte has carried nothing.
 */
import type { Socket } from "node:net"
import { connect, type ConnectionOptions, createServer, type Server } from "node:tls"
import type { Redacted } from "effect"
import { nodeListener } from "./NodeSockets.ts"

const accepted = 0x06
const lineFeed = 0x0a
/** The longest address of IPv6 with a zone. */
const addressBytesMax = 80
/** For the handshake, and for the byte that says yes. */
const openMillis = 2_000

/**
 * Takes links of other nodes. `take` gets the connection with its caller's address, or returns false: this node does not
 * serve now.
 */
export const requestLinkServer = (
  secret: Redacted.Redacted,
  take: (socket: Socket, address: string, begin: () => void) => boolean
): Server => {
  const server = createServer({ ...nodeListener(secret), allowHalfOpen: true, handshakeTimeout: openMillis })
  server.on("secureConnection", (socket) => {
    socket.setNoDelay(true)
    socket.on("error", () => socket.destroy())
    const late = () => socket.destroy()
    socket.setTimeout(openMillis, late)
    let said = Buffer.alloc(0)
    const read = () => {
      for (let chunk: Buffer | null; (chunk = socket.read(1) as Buffer | null) !== null;) {
        if (chunk[0] !== lineFeed) {
          said = Buffer.concat([said, chunk])
          if (said.byteLength > addressBytesMax) return void socket.destroy()
          continue
        }
        socket.off("readable", read)
        socket.off("timeout", late).setTimeout(0)
        const begin = () => void socket.write(Uint8Array.of(accepted))
        if (!take(socket, said.toString("latin1"), begin)) socket.destroy()
        return undefined
      }
      return undefined
    }
    socket.on("readable", read)
  })
  // A stranger's handshake fails; that is its end.
  server.on("tlsClientError", (_, socket) => socket.destroy())
  return server
}

/**
 * Carries a caller's connection to the node at that address, over a socket of `nodeConnection`; `refused` if that node
 * takes nothing, with nothing read.
 */
export const forward = (
  caller: Socket,
  to: { readonly host: string; readonly port: number },
  connection: ConnectionOptions,
  refused: () => void
): void => {
  // A caller may end its side and still wait for the answer.
  const options = { ...connection, host: to.host, port: to.port, allowHalfOpen: true }
  const link = connect(options)
  link.setNoDelay(true)
  let isOpen = false
  const end = () => {
    link.destroy()
    if (isOpen) caller.destroy()
    else if (!caller.destroyed) {
      caller.off("close", end)
      refused()
    }
  }
  link.setTimeout(openMillis, end)
  caller.once("close", end)
  link.on("error", end)
  link.once("close", end)
  link.once("secureConnect", () => link.write(`${caller.remoteAddress ?? ""}\n`))
  link.once("readable", () => {
    const answer = link.read(1) as Buffer | null
    if (answer?.[0] !== accepted) return end()
    link.off("timeout", end).setTimeout(0)
    isOpen = true
    caller.on("error", end)
    caller.pipe(link)
    link.pipe(caller)
    return undefined
  })
}
