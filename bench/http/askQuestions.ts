/** The searches: verified answers, then latency alone and under parallel load, with the server's own stages. */
import type { BenchServer } from "./BenchServer.ts"
import { HttpClient } from "./HttpClient.ts"
import { Reading, type Span } from "./Prometheus.ts"
import { phrased, type Question } from "./Questions.ts"

export const stages = ["embedding", "statistics", "candidates", "fusion", "records"] as const
const limit = 10
const sampleMax = 10
const parallel = 8

interface Hit {
  readonly id: string
  readonly quality: { readonly relevance: number }
  readonly data: { readonly subject: string; readonly fact: string }
}

interface Found {
  readonly memories: ReadonlyArray<Hit>
}

export interface SearchFigures {
  readonly latencies: ReadonlyArray<number>
  readonly http: Span
  readonly stages: ReadonlyMap<string, Span>
  readonly processorMillisPerRequest: { readonly main: number; readonly other: number }
}

export interface Quality {
  readonly hitAt5: number
  readonly hitAt10: number
  readonly reciprocalRank: number
  readonly samples: ReadonlyArray<{ readonly question: string; readonly hits: ReadonlyArray<Hit> }>
  readonly missed: ReadonlyArray<string>
}

/** Every question once, answers checked for shape and compared with the right ones. */
export const judgeAnswers = async (server: BenchServer, questions: ReadonlyArray<Question>): Promise<Quality> => {
  const client = new HttpClient(server.port)
  const ranks: Array<number> = []
  const samples: Array<Quality["samples"][number]> = []
  const missed: Array<string> = []
  for (const [at, { text, answers }] of questions.entries()) {
    const { memories } = (await client.json<Found>("GET", pathOf(text))).body
    if (memories.length === 0 || memories.length > limit) throw new Error(`"${text}" gave ${memories.length} hits`)
    if (!memories.every(({ quality: { relevance } }) => relevance >= 0 && relevance <= 1)) {
      throw new Error(`a hit of "${text}" has a relevance outside 0 to 1`)
    }
    const rank = memories.findIndex(({ data }) => answers.includes(data.subject)) + 1
    ranks.push(rank)
    if (rank === 0) missed.push(text)
    if (at % Math.ceil(questions.length / sampleMax) === 0) samples.push({ question: text, hits: memories.slice(0, 3) })
  }
  client.close()
  const share = (isHit: (rank: number) => boolean) => ranks.filter(isHit).length / ranks.length
  return {
    hitAt5: share((rank) => rank >= 1 && rank <= 5),
    hitAt10: share((rank) => rank >= 1),
    reciprocalRank: ranks.reduce((sum, rank) => sum + (rank === 0 ? 0 : 1 / rank), 0) / ranks.length,
    samples,
    missed
  }
}

/** Queries that were never asked before: the encoder is part of the time. */
export const askAnew = (server: BenchServer, questions: ReadonlyArray<Question>): Promise<SearchFigures> =>
  measure(server, phrased(questions), 1)

/** The same questions again and again: what is left is the service. */
export const askAgain = (
  server: BenchServer,
  questions: ReadonlyArray<Question>,
  rounds: number,
  inFlight: 1 | typeof parallel
): Promise<SearchFigures> =>
  measure(server, Array.from({ length: rounds }, () => questions.map(({ text }) => text)).flat(), inFlight)

const measure = async (server: BenchServer, texts: ReadonlyArray<string>, inFlight: number): Promise<SearchFigures> => {
  const client = new HttpClient(server.port)
  const latencies: Array<number> = []
  const before = await Reading.take(client)
  const processor = server.processorTime()
  let next = 0
  const asker = async () => {
    for (let at = next++; at < texts.length; at = next++) {
      const { body, millis } = await client.json<Found>("GET", pathOf(texts[at]!))
      if (body.memories.length === 0) throw new Error(`"${texts[at]}" found nothing`)
      latencies.push(millis)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, asker))
  const used = server.processorTime()
  const after = await Reading.take(client)
  client.close()
  return {
    latencies,
    http: after.since(before, "muniment_http_request_seconds", `route="/v1/memories/search"`),
    stages: new Map(
      stages.map((stage) => [stage, after.since(before, "muniment_search_stage_seconds", `stage="${stage}"`)])
    ),
    processorMillisPerRequest: {
      main: (used.mainMillis - processor.mainMillis) / texts.length,
      other: (used.otherMillis - processor.otherMillis) / texts.length
    }
  }
}

const pathOf = (text: string): string => `/v1/memories/search?query=${encodeURIComponent(text)}&limit=${limit}`
