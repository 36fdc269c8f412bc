/** The load of the request bench: 1,000 memories of one agent, and callers that send one kind of request. */
import type { ChildServer } from "../http/ChildServer.ts"
import { HttpClient } from "../http/HttpClient.ts"

export type Kind = "health" | "account" | "search" | "write"

export const memories = 1_000

const words =
  "tea coffee harbour winter garden violin train letter mountain river bread window lamp market bridge".split(" ")
const wordsOf = (at: number): string =>
  [0, 1, 2, 3].map((step) => words[(at * 7 + step * (1 + (at % 5))) % words.length]).join(" ")
const memoryOf = (at: number) => ({
  kind: "factual_memory",
  data: { subject: `person ${at % 97}`, fact: `note ${at} about ${wordsOf(at)}` }
})

const send = (
  client: HttpClient,
  kind: Kind,
  at: number
): Promise<{ readonly text: string; readonly millis: number }> => {
  switch (kind) {
    case "health":
      return client.text("GET", "/health/live")
    case "account":
      return client.text("GET", "/v1/account")
    case "search":
      return client.text("GET", `/v1/memories/search?agentId=bench&query=${encodeURIComponent(wordsOf(at))}&limit=10`)
    case "write":
      // Of another agent: the searches' memories stay as many as they are.
      return client.text("POST", "/v1/memories", JSON.stringify({ agentId: "writer", memories: [memoryOf(at)] }))
  }
}

interface Burst {
  readonly micros: number
  readonly millis: ReadonlyArray<number>
}

export class Measured {
  readonly #server: ChildServer
  readonly #client: HttpClient
  #sent = memories

  constructor(server: ChildServer) {
    this.#server = server
    this.#client = new HttpClient(server.port)
  }

  /** Processor time of each request in microseconds, and the time that each took its caller. */
  async burst(kind: Kind, requests: number, atOnce: number): Promise<Burst> {
    const before = this.#processorMillis()
    const millis: Array<number> = []
    let left = requests
    const caller = async (): Promise<void> => {
      while (left-- > 0) millis.push((await send(this.#client, kind, this.#sent++)).millis)
    }
    await Promise.all(Array.from({ length: atOnce }, caller))
    return { micros: ((this.#processorMillis() - before) * 1_000) / requests, millis }
  }

  #processorMillis(): number {
    const { mainMillis, otherMillis } = this.#server.processorTime()
    return mainMillis + otherMillis
  }

  async answerTo(kind: Kind): Promise<unknown> {
    return JSON.parse((await send(this.#client, kind, this.#sent++)).text) as unknown
  }

  async fill(): Promise<void> {
    for (let from = 0; from < memories; from += 100) {
      const batch = Array.from({ length: 100 }, (_, at) => memoryOf(from + at))
      await this.#client.json("POST", "/v1/memories/batch/create", { agentId: "bench", memories: batch })
    }
  }

  async stop(): Promise<void> {
    this.#client.close()
    await this.#server.stop()
  }
}
