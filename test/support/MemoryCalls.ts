/**
 * Calls that most tests of the HTTP interface share: calls of one account against a `TestServer`, a memory to store,
 * and waiting for a moment of the clock or for a condition.
 */
import { expect } from "vitest"
import { beforeTests } from "./beforeTests.ts"
import type { Answer, CallOptions, ServerCalls } from "./TestServer.ts"

export interface MemoryCalls {
  readonly key: string
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  readonly post: (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  /** Creates memories, vectors included, and gives the entries of `created`; anything but 200 fails the test. */
  readonly create: (agentId: string, memories: ReadonlyArray<object>, rest?: object) => Promise<Array<Answer["body"]>>
  /** Creates a memory that has expired when this ends, and gives its entry of `created`. */
  readonly createExpired: (agentId: string, memory: object, rest?: object) => Promise<Answer["body"]>
  /** The memories of a search; anything but 200 fails the test. */
  readonly search: (parameters: Readonly<Record<string, string>>) => Promise<Array<Answer["body"]>>
  readonly get: (id: string) => Promise<Answer["body"]>
}

/** Calls with the key of an account of its own. */
export const accountCalls = async (server: ServerCalls, name: string): Promise<MemoryCalls> => {
  const key = await server.newAccount(name)
  const call: MemoryCalls["call"] = (method, path, options) => server.call(method, path, { key, ...options })
  const create: MemoryCalls["create"] = async (agentId, memories, rest = {}) => {
    const answer = await call("POST", "/v1/memories", { body: { agentId, memories, wait: "vectors", ...rest } })
    expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
    return answer.body.created
  }
  return {
    key,
    call,
    post: (path, body, headers = {}) => call("POST", path, { body, headers }),
    create,
    createExpired: creatingExpired(create),
    search: async (parameters) => {
      const answer = await call("GET", `/v1/memories/search?${new URLSearchParams(parameters)}`)
      expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
      return answer.body.memories
    },
    get: async (id) => {
      const answer = await call("GET", `/v1/memories/${id}`)
      expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
      return answer.body.memory
    }
  }
}

/** The same for the tests of a file or of a describe block. */
export const useAccount = (server: ServerCalls, name: string): MemoryCalls =>
  beforeTests(() => accountCalls(server, name))

export const creatingExpired =
  (create: MemoryCalls["create"]): MemoryCalls["createExpired"] =>
  async (agentId, memory, rest = {}) => {
    const expiresAt = Date.now() + 3_000
    const [entry] = await create(agentId, [{ ...memory, expiresAt }], rest)
    await untilMoment(expiresAt)
    return entry
  }

export const fact = (subject: string, text: string) => ({ kind: "factual_memory", data: { subject, fact: text } })

export const idsOf = (memories: ReadonlyArray<{ readonly id: string }>) => memories.map(({ id }) => id)

/** Waits for a moment of the clock, in milliseconds since the epoch. */
export const untilMoment = async (millis: number): Promise<void> => {
  while (Date.now() < millis) await new Promise((wake) => setTimeout(wake, millis - Date.now()))
}

/** A schema with the properties given, as the text that the service takes. */
export const schemaText = (properties: object, rest: object = {}) =>
  JSON.stringify({ type: "object", properties, ...rest })

export const text = { type: "string" }
