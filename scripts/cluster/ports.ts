/** Ports of loopback on which nothing listens at the moment. */
import { once } from "node:events"
import { createServer } from "node:net"

export const isFree = async (port: number): Promise<boolean> => {
  const probe = createServer()
  const isListening = await new Promise<boolean>((settle) => {
    probe.once("error", () => settle(false))
    probe.listen(port, "127.0.0.1", () => settle(true))
  })
  if (isListening) await new Promise((closed) => probe.close(closed))
  return isListening
}

/** One of the system's choice. */
export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  await new Promise((closed) => probe.close(closed))
  if (address === null || typeof address === "string") throw new Error("there is no free port")
  return address.port
}
