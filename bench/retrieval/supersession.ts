/**
 * Measures whether a question finds the newest state of a fact first and its stale one not at all, through the whole
 * service over HTTP: with a schema that declares the key, as plain facts, and as conversations read by the rule
 * extractor; every case alone, and all cases of a set in one namespace.
 */
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BenchServer } from "../http/BenchServer.ts"
import { HttpClient } from "../http/HttpClient.ts"
import type { ChangedFact, FactState, SupersessionSet } from "./SupersessionSet.ts"

export const ways = ["schema with a unique key", "plain facts", "conversations, rule extractor"] as const
export type Way = (typeof ways)[number]

export interface Outcome {
  readonly way: Way
  /** All cases in one namespace, or a namespace for each. */
  readonly isTogether: boolean
  readonly cases: number
  /** The first hit is of the newer statement. */
  readonly newestFirst: number
  /** No hit is of the older statement. */
  readonly staleGone: number
  readonly both: number
  /** Questions whose first hit was another one. */
  readonly missed: ReadonlyArray<string>
}

interface Stored {
  readonly agentId: string
  readonly older: ReadonlySet<string>
  readonly newer: ReadonlySet<string>
}

interface Judged {
  readonly question: string
  readonly isNewestFirst: boolean
  readonly isStaleGone: boolean
}

interface Ids {
  readonly created: ReadonlyArray<{ readonly id: string }>
  readonly updated: ReadonlyArray<{ readonly id: string }>
}

/** Outcomes of every set, by its name. The models are the service's own choice. */
export const measureSupersession = async (
  sets: ReadonlyArray<SupersessionSet>,
  modelsDir: string
): Promise<ReadonlyMap<string, ReadonlyArray<Outcome>>> => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-supersession-"))
  const server = await BenchServer.start({
    dataDirectory,
    environment: { MUNIMENT_RATE_LIMITS: "off", MUNIMENT_MODELS_DIR: modelsDir }
  })
  try {
    const client = new HttpClient(server.port)
    const outcomes = new Map<string, ReadonlyArray<Outcome>>()
    for (const set of sets) outcomes.set(set.name, await playSet(client, set))
    return outcomes
  } finally {
    await server.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

const playSet = async (client: HttpClient, set: SupersessionSet): Promise<ReadonlyArray<Outcome>> => {
  for (const { name, uniqueOn, properties } of set.kinds) {
    const schema = JSON.stringify({ type: "object", properties })
    await client.json("POST", "/v1/schemas", { name, description: name, uniqueOn, schema })
  }
  const outcomes: Array<Outcome> = []
  for (const way of ways) {
    for (const isTogether of [false, true]) outcomes.push(await play(client, set, way, isTogether))
  }
  return outcomes
}

const play = async (
  client: HttpClient,
  { cases }: SupersessionSet,
  way: Way,
  isTogether: boolean
): Promise<Outcome> => {
  const run = randomUUID().slice(0, 8)
  const agentOf = (at: number): string => (isTogether ? run : `${run}-${at}`)
  const store = async (of: (one: ChangedFact) => FactState): Promise<ReadonlyArray<ReadonlySet<string>>> => {
    const stored: Array<ReadonlySet<string>> = []
    for (const [at, one] of cases.entries()) {
      const { body } = await client.json<Ids>("POST", "/v1/memories", bodyOf(way, agentOf(at), one, of(one)))
      stored.push(new Set([...body.created, ...body.updated].map(({ id }) => id)))
    }
    return stored
  }
  const older = await store((one) => one.older)
  const newer = await store((one) => one.newer)
  const judged: Array<Judged> = []
  for (const [at, one] of cases.entries()) {
    judged.push(await judge(client, one, { agentId: agentOf(at), older: older[at]!, newer: newer[at]! }))
  }
  const count = (holds: (one: Judged) => boolean): number => judged.filter(holds).length
  return {
    way,
    isTogether,
    cases: cases.length,
    newestFirst: count(({ isNewestFirst }) => isNewestFirst),
    staleGone: count(({ isStaleGone }) => isStaleGone),
    both: count(({ isNewestFirst, isStaleGone }) => isNewestFirst && isStaleGone),
    missed: judged.filter(({ isNewestFirst }) => !isNewestFirst).map(({ question }) => question)
  }
}

const judge = async (
  client: HttpClient,
  { question }: ChangedFact,
  { agentId, older, newer }: Stored
): Promise<Judged> => {
  const parameters = new URLSearchParams({ agentId, query: question })
  const { body } = await client.json<{ readonly memories: ReadonlyArray<{ readonly id: string }> }>(
    "GET",
    `/v1/memories/search?${parameters}`
  )
  const first = body.memories[0]?.id
  return {
    question,
    isNewestFirst: first !== undefined && newer.has(first),
    isStaleGone: !body.memories.some(({ id }) => older.has(id) && !newer.has(id))
  }
}

const bodyOf = (way: Way, agentId: string, { kind }: ChangedFact, { said, data, date }: FactState): object => {
  if (way === "schema with a unique key") return { agentId, wait, memories: [{ kind, data }] }
  if (way === "plain facts") {
    return { agentId, wait, memories: [{ kind: "factual_memory", data: { subject: "user", fact: said } }] }
  }
  return { agentId, wait, conversation: [{ role: "user", content: said }], conversationDate: date }
}

/** Both ways of searching see all that was stored. */
const wait = "vectors"
