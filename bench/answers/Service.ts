/** The service under test as its clients see it: a running one by URL and key, or one started here. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Evidence } from "@muniment/insight/answers/WrittenAnswer"
import { benchKey, BenchServer } from "../http/BenchServer.ts"
import type { QuestionedConversation } from "../extraction/LabelledSet.ts"

export interface StoredMemory {
  readonly id: string
  readonly kind: string
  readonly data: Evidence["data"]
  readonly context?: { readonly when?: string }
}

export interface ServiceAnswer {
  readonly answer: string
  readonly memories: ReadonlyArray<StoredMemory>
  readonly citations: ReadonlyArray<string>
  readonly grounded: boolean
  readonly method: string
}

export interface Service {
  readonly url: string
  readonly key: string
  /** Sends all messages in one request; returns the memories made from them. */
  readonly importConversation: (
    agentId: string,
    conversation: QuestionedConversation
  ) => Promise<ReadonlyArray<StoredMemory>>
  readonly ask: (agentId: string, question: string) => Promise<ServiceAnswer>
  /** Any other request: GET, or POST when there is a body. Rejects on a status other than 2xx. */
  readonly call: <A>(path: string, body?: object) => Promise<A>
  /** Returns when a service that was started here has nothing left to do for what it was sent. */
  readonly settle: () => Promise<void>
  readonly stop: () => Promise<void>
}

interface Lifecycle {
  readonly settle: () => Promise<void>
  readonly stop: () => Promise<void>
}

export const openService = async (url: string | undefined, key: string | undefined): Promise<Service> => {
  if (url !== undefined) return serviceAt(url, key ?? benchKey, { settle: async () => {}, stop: async () => {} })
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-answers-"))
  const server = await BenchServer.start({ dataDirectory, environment: { MUNIMENT_RATE_LIMITS: "off" } })
  return serviceAt(`http://127.0.0.1:${server.port}`, benchKey, {
    settle: () => server.untilIdle(),
    stop: async () => {
      await server.stop()
      rmSync(dataDirectory, { recursive: true, force: true })
    }
  })
}

const serviceAt = (url: string, key: string, lifecycle: Lifecycle): Service => {
  const call = async <A>(path: string, body?: object): Promise<A> => {
    const response = await fetch(new URL(path, url), {
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) })
    })
    const answer = (await response.json()) as A
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
    return answer
  }
  return {
    url,
    key,
    importConversation: async (agentId, { messages, conversationDate }) => {
      await call("/v1/memories", { agentId, conversation: messages, conversationDate, wait: "vectors" })
      const listing = new URLSearchParams({ agentId, limit: "100" })
      return (await call<{ readonly memories: ReadonlyArray<StoredMemory> }>(`/v1/memories?${listing}`)).memories
    },
    call,
    ask: (agentId, question) =>
      call<ServiceAnswer>(`/v1/memories/search?${new URLSearchParams({ agentId, mode: "answer", query: question })}`),
    ...lifecycle
  }
}
