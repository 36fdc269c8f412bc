/**
 * A service that is written to while its backups are continued, and what a directory has that is restored at a random
 * moment of that time.
 */
import { randomUUID } from "node:crypto"
import { expect } from "vitest"
import { done, environmentOf, restored, scratch } from "./BackupRun.ts"
import { startMuniment } from "./CliProcess.ts"
import type { SeededRandom } from "./SeededRandom.ts"
import { patienceMillis, type ServerCalls, type TestServer } from "./TestServer.ts"

/** A memory, and between which times it came to be. Milliseconds. */
interface Written {
  readonly agentId: string
  readonly word: string
  readonly sentAt: number
  readonly acknowledgedAt: number
}

export interface MomentsRun {
  readonly to: string
  readonly written: ReadonlyArray<Written>
  /** Times that the last backup can be restored at. */
  readonly times: readonly [from: number, through: number]
}

interface Listed {
  readonly until: { readonly times: readonly [number, number]; readonly ordinals: readonly [number, number] } | null
}

export const listed = async (to: string): Promise<ReadonlyArray<Listed>> => {
  const { out } = await done(["backup", "list", "--from", to, "--json"])
  return JSON.parse(out).backups
}

/** Writers of several agents, every sixth write of which makes a new one, beside `muniment backup follow`. */
export const writeAndFollow = async (server: TestServer, writes: number, writers = 4): Promise<MomentsRun> => {
  const to = scratch("moments")
  await write(server, "before", "before")
  await done(["backup", "create", "--to", to], environmentOf(server))
  const following = startMuniment(["backup", "follow", "--to", to, "--every", "1"], environmentOf(server))
  const written: Array<Written> = []
  try {
    const writer = async (number: number) => {
      for (let at = 0; at < writes / writers; at++)
        written.push(
          await write(server, at % newAgentEach === 0 ? `new-${number}-${at}` : `agent-${number}`, `${number}-${at}`)
        )
    }
    await Promise.all(Array.from({ length: writers }, (_, number) => writer(number)))
    const last = Math.max(...written.map(({ acknowledgedAt }) => acknowledgedAt))
    const deadline = Date.now() + patienceMillis
    for (;;) {
      const times = (await listed(to)).at(-1)?.until?.times
      if (times !== undefined && times[1] > last) return { to, written, times }
      if (Date.now() > deadline) throw new Error("the backup does not reach the last write")
      await new Promise((wake) => setTimeout(wake, 200))
    }
  } finally {
    following.process.kill("SIGTERM")
    await following.ended
  }
}

/** An agent that begins in the middle is a file that a moment has or has not; to open each again is most of a moment. */
const newAgentEach = 6

const write = async (server: TestServer, agentId: string, word: string): Promise<Written> => {
  const sentAt = Date.now()
  const memories = [{ kind: "factual_memory", data: { subject: word, fact: `It is ${word}` } }]
  const request = { body: { agentId, memories }, headers: { "idempotency-key": randomUUID() } }
  for (;;) {
    const { body, status } = await server.call("POST", "/v1/memories", request)
    if (status === 200) return { agentId, word, sentAt, acknowledgedAt: Date.now() }
    // A busy service refuses: nothing was stored, and the same request is sent again.
    expect(body, JSON.stringify(body)).toMatchObject({ code: "overloaded" })
    await new Promise((wake) => setTimeout(wake, 50))
  }
}

/** Restores a random moment, and compares every answer. */
export const expectMoment = async (run: MomentsRun, random: SeededRandom): Promise<void> => {
  const [from, through] = run.times
  const moment = random.between(from, through)
  const until = new Date(moment).toISOString()
  const server = await restored(run.to, ["--until", until])
  try {
    const agents = [...new Set(run.written.map(({ agentId }) => agentId))]
    const compareNext = async () => {
      for (let agentId = agents.pop(); agentId !== undefined; agentId = agents.pop())
        await compareList(
          server,
          run.written.filter((one) => one.agentId === agentId),
          agentId,
          moment
        )
    }
    await Promise.all(Array.from({ length: listsAtOnce }, compareNext))
    const { body } = await server.asOperator("GET", "/admin/status")
    const { commitLog, quarantined, scrub } = body
    expect([commitLog.damage, quarantined, scrub.damaged]).toEqual([[], [], []])
    const books = await server.asOperator("GET", "/admin/ledger/check")
    expect(books.status, JSON.stringify(books.body)).toBe(200)
  } finally {
    await server.stop()
  }
}

const listsAtOnce = 8

/** The agent has what was acknowledged before the moment, and nothing that was sent after it. */
const compareList = async (
  server: ServerCalls,
  own: ReadonlyArray<Written>,
  agentId: string,
  moment: number
): Promise<void> => {
  const until = new Date(moment).toISOString()
  const { body, status } = await server.call("GET", `/v1/memories?agentId=${agentId}&limit=100`)
  expect(status, JSON.stringify(body)).toBe(200)
  const words: ReadonlyArray<string> = body.memories.map(
    ({ data }: { readonly data: { readonly subject: string } }) => data.subject
  )
  const must = own.filter(({ acknowledgedAt }) => acknowledgedAt < moment).map(({ word }) => word)
  const may = new Set(own.filter(({ sentAt }) => sentAt <= moment).map(({ word }) => word))
  expect(
    must.filter((word) => !words.includes(word)),
    `${agentId} lacks at ${until}`
  ).toEqual([])
  expect(
    words.filter((word) => !may.has(word)),
    `${agentId} has too early at ${until}`
  ).toEqual([])
}
