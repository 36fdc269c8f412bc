/** Clients that take and do not read: large answers left in the connection, requests sent without waiting for any. */
import { connect, type Socket } from "node:net"
import { type Attack, atMost, type Field } from "../Field.ts"
import { growthDuring } from "../Bodies.ts"
import { openLoop, p99, pause } from "../Load.ts"
import { requestBytes, Wire } from "../Wire.ts"

const megabytesMax = 150
const sockets = 300
/** A page of them is some six megabytes, more than the system takes of an answer at once. */
const memories = 100
const factLength = 60_000
const victimPerSecond = 10
const agentId = "unread"
const pollMillis = 100

/** Memories of the attacker, and one of the victim. */
const stored = async ({ attackerKey, target, victimKey }: Field): Promise<void> => {
  const wire = new Wire(target, 1)
  const write = async (key: string, fact: string) => {
    const body = JSON.stringify({ agentId, memories: [{ kind: "factual_memory", data: { subject: "Ann", fact } }] })
    const { status } = await wire.send(requestBytes(target, "POST", "/v1/memories", { key, body }))
    if (status !== 200) throw new Error(`seeding answered ${status}`)
  }
  await write(victimKey, "Ann reads")
  for (let at = 0; at < memories; at++) await write(attackerKey, "x ".repeat(factLength / 2))
  wire.close()
  await untilEmbedded(target)
}

/** The vectors of what was stored are made: their threads take memory, too. */
const untilEmbedded = async ({ host, port }: Field["target"]): Promise<void> => {
  for (;;) {
    const response = await fetch(`http://${host}:${port}/health/ready`)
    const { checks } = (await response.json()) as {
      readonly checks: { readonly embedding: { readonly pending: number } }
    }
    if (checks.embedding.pending === 0) return
    await pause(pollMillis)
  }
}

/** Opens a connection that sends and reads nothing. */
const deaf = (target: Field["target"], bytes: Buffer): Socket => {
  const socket = connect(target).pause()
  socket.on("error", () => socket.destroy())
  socket.write(bytes)
  return socket
}

/** Reads of the victim meanwhile; `open` begins the attack, `close` ends it. */
const besideReads = async (field: Field, open: () => ReadonlyArray<Socket>) => {
  const { seconds, target, victimKey, view } = field
  const wire = new Wire(target, 16)
  const read = () => requestBytes(target, "GET", `/v1/memories?agentId=${agentId}`, { key: victimKey })
  await openLoop(wire, read, victimPerSecond, 1)
  const { grownBytes, result } = await growthDuring(view.residentBytes, async () => {
    const opened = open()
    return { opened, tally: await openLoop(wire, read, victimPerSecond, seconds) }
  })
  for (const socket of result.opened) socket.destroy()
  wire.close()
  return { tally: result.tally, grownMegabytes: grownBytes / 1e6 }
}

const goalsOf = (name: string, { grownMegabytes, tally }: Awaited<ReturnType<typeof besideReads>>) => [
  atMost(`${name}: growth of resident memory`, megabytesMax, grownMegabytes, "MB"),
  atMost(`${name}: p99 of another account's reads`, 500, p99(tally.servedMillis), "ms"),
  atMost(`${name}: reads of another account not served`, 0, tally.sent - tally.servedMillis.length, "")
]

export const unreadAnswers: Attack = {
  name: "unread",
  title: `${sockets} connections that ask for a page of ${memories} large memories and do not read it`,
  run: async (field) => {
    await stored(field)
    const { attackerKey: key, target } = field
    const ask = requestBytes(target, "GET", `/v1/memories?agentId=${agentId}&limit=${memories}`, { key })
    const found = await besideReads(field, () => Array.from({ length: sockets }, () => deaf(target, ask)))
    return { said: `${found.tally.servedMillis.length} reads beside it`, goals: goalsOf("unread answers", found) }
  }
}

const pipelines = 8
const requestsInPipeline = 50_000

export const pipelinedRequests: Attack = {
  name: "pipelined",
  title: `${pipelines} connections without a key that send ${requestsInPipeline} requests each and wait for none`,
  run: async (field) => {
    const { target } = field
    const flood = Buffer.concat(
      Array.from({ length: requestsInPipeline }, () => requestBytes(target, "GET", "/v1/schemas"))
    )
    const found = await besideReads(field, () => Array.from({ length: pipelines }, () => deaf(target, flood)))
    return { said: `${found.tally.servedMillis.length} reads beside it`, goals: goalsOf("pipelined requests", found) }
  }
}
