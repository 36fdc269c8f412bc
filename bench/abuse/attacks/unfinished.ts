/** Requests that never end: headers a byte at a time, bodies that stop. */
import { connect, type Socket } from "node:net"
import { Limits } from "@muniment/domain/Limits"
import { type Attack, atMost, besideVictim, type Field, victimGoals } from "../Field.ts"
import { pause } from "../Load.ts"

const sockets = 400
const dripMillis = 500
/** The service looks at its connections once a second. */
const spareMillis = 4_000

const unfinished = async ({
  attackerKey,
  target
}: Field): Promise<{ readonly open: number; readonly lastMillis: number }> => {
  const startedMillis = performance.now()
  let lastMillis = 0
  const open = new Set<Socket>()
  for (let at = 0; at < sockets; at++) {
    const socket = connect(target)
    open.add(socket)
    socket.on("error", () => socket.destroy())
    socket.resume()
    socket.on("close", () => {
      open.delete(socket)
      lastMillis = performance.now() - startedMillis
    })
    const head = `POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attackerKey}\r\nContent-Type: application/json\r\n`
    socket.write(at % 2 === 0 ? head : `${head}Content-Length: ${100_000 + at}\r\n\r\n{`)
  }
  const endMillis = startedMillis + Limits.requestTimeoutMillis + spareMillis
  for (let count = 0; open.size > 0 && performance.now() < endMillis; count++) {
    await pause(dripMillis)
    for (const socket of open) if (socket.writable) socket.write(count % 2 === 0 ? "x" : " ")
  }
  const left = open.size
  for (const socket of open) socket.destroy()
  return { open: left, lastMillis }
}

export const unfinishedRequests: Attack = {
  name: "unfinished",
  title: `${sockets} requests whose headers or bodies never end`,
  run: async (field) => {
    const { result, ...victim } = await besideVictim(field, () => unfinished(field))
    return {
      said: `the last was closed after ${(result.lastMillis / 1_000).toFixed(1)} s`,
      goals: [
        atMost("unfinished requests: still open when their time was up", 0, result.open, ""),
        ...victimGoals("unfinished requests", victim, 500)
      ]
    }
  }
}
