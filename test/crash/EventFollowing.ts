/**
 * Writes to several agents while a client follows their events, and the service is killed meanwhile. Of each agent one
 * write follows the other's acknowledgement, so the order is known.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Muniment } from "@muniment/client/Muniment"
import { operatorKey, startServer, type TestServer } from "../support/TestServer.ts"

export interface Following {
  readonly writes: number
  readonly kills: number
  readonly agents: number
}

export interface Followed {
  /** By agent, as acknowledged. */
  readonly written: ReadonlyMap<string, ReadonlyArray<string>>
  /** By agent, as told. */
  readonly told: ReadonlyMap<string, ReadonlyArray<string>>
  readonly types: ReadonlySet<string>
  /** Streams that were opened. */
  readonly streams: number
}

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }

export const followThroughKills = async ({ agents, kills, writes }: Following): Promise<Followed> => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-events-"))
  const start = () => startServer({ dataDirectory, environment })
  let server: TestServer = await start()
  let isUp = Promise.resolve()
  let streams = 0
  const ended = new AbortController()
  const names = Array.from({ length: agents }, (_, at) => `agent ${at}`)
  const [written, told] = [new Map<string, Array<string>>(), new Map<string, Array<string>>()]
  const types = new Set<string>()
  const due = kills === 0 ? [] : Array.from({ length: kills }, (_, at) => Math.floor((writes * (at + 1)) / (kills + 1)))
  let acknowledged = 0

  const client = new Muniment({
    baseUrl: "http://service.invalid",
    apiKey: operatorKey,
    fetch: async (url, init) => {
      streams++
      await isUp
      return fetch(String(url).replace("http://service.invalid", server.url), init)
    }
  })

  const follow = async () => {
    for await (const { data, type } of client.followEvents({ from: "oldest" }, { signal: ended.signal })) {
      types.add(type)
      const own = told.get(data.agentId!) ?? []
      told.set(data.agentId!, [...own, data.memoryId!])
      if ([...told.values()].reduce((sum, { length }) => sum + length, 0) >= writes) return
    }
  }

  const kill = async () => {
    await server.kill()
    server = await start()
  }

  const write = async (agentId: string, at: number) => {
    const body = { agentId, memories: [{ kind: "factual_memory", data: { subject: agentId, fact: `number ${at}` } }] }
    for (;;) {
      await isUp
      const headers = { "idempotency-key": `${agentId} ${at}` }
      const answer = await server.call("POST", "/v1/memories", { body, headers }).catch(() => undefined)
      if (answer === undefined) continue
      if (answer.status !== 200)
        throw new Error(`a write was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      const id: string = answer.body.created[0].id
      written.set(agentId, [...(written.get(agentId) ?? []), id])
      break
    }
    if (++acknowledged === due[0]) {
      due.shift()
      isUp = kill()
    }
  }

  try {
    const following = follow()
    const each = Math.floor(writes / agents)
    await Promise.all(
      names.map(async (agentId) => {
        for (let at = 0; at < each; at++) await write(agentId, at)
      })
    )
    await following
    return { written, told, types, streams }
  } finally {
    ended.abort()
    await server.kill()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}
