/**
 * Recall@10 of the service's vector index, by its public search against brute force over the vectors
 * that its files hold at that moment (nothing is written meanwhile).
 *
 * The queries are questions with their words run together: no stored memory has such a word, so the
 * lexical half finds nothing and the answer is the index' own, while the encoder still makes pieces of
 * the words of it. Superseded versions are asked for too, since their vectors are stored.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { HttpClient } from "../http/HttpClient.ts"
import { vectorsOf } from "../kit/TextVectors.ts"

export interface RecallQuery {
  readonly text: string
  readonly vector: Float32Array
}

interface Stored {
  readonly ids: ReadonlyArray<string>
  readonly vectors: ReadonlyArray<Float32Array>
}

interface Found {
  readonly memories: ReadonlyArray<{ readonly id: string; readonly explain?: { readonly dense: number | null } }>
}

const depth = 10
/** Relevance has four digits, so equals may change places at the end: more are asked for and sorted by their score. */
const asked = 30
const queryCharactersMax = 60

export const recallQueries = async (
  modelsDirectory: string,
  modelId: string,
  questions: ReadonlyArray<string>
): Promise<ReadonlyArray<RecallQuery>> => {
  const texts = questions.map((text) => text.replace(/[^\p{L}\p{N}]/gu, "").slice(0, queryCharactersMax))
  const vectors = await vectorsOf(modelsDirectory, modelId, "query", texts)
  return texts.map((text, at) => ({ text, vector: vectors[at]! }))
}

export interface DenseRecall {
  /** Mean over the queries. */
  readonly recall: number
  /** Time of the whole brute force: constant work, so it measures the speed of the machine. */
  readonly bruteMillis: number
}

/** Each query is asked of one agent in turn, every fourth of all agents. */
export const denseRecall = async (
  client: HttpClient,
  dataDirectory: string,
  agents: ReadonlyArray<string>,
  queries: ReadonlyArray<RecallQuery>
): Promise<DenseRecall> => {
  const byAgent = storedVectors(dataDirectory)
  let bruteMillis = 0
  let found = 0
  for (const [at, { text, vector }] of queries.entries()) {
    const agentId = at % 4 === 0 ? undefined : agents[at % agents.length]!
    const scopes = agentId === undefined ? [...byAgent.values()] : [byAgent.get(agentId)!]
    const startedMillis = performance.now()
    const truth = new Set(nearest(scopes, vector))
    bruteMillis += performance.now() - startedMillis
    const filter = agentId === undefined ? "" : `&agentId=${agentId}`
    const { body } = await client.json<Found>(
      "GET",
      `/v1/memories/search?query=${text}&limit=${asked}&explain=true&includeSuperseded=true${filter}`
    )
    const scored = body.memories.map(({ explain, id }) => ({ id, score: explain?.dense ?? -Infinity }))
    const best = scored.sort((left, right) => right.score - left.score).slice(0, depth)
    found += best.filter(({ id }) => truth.has(id)).length / Math.min(depth, truth.size)
  }
  return { recall: found / queries.length, bruteMillis }
}

/** By agent, as the files have them. */
const storedVectors = (dataDirectory: string): ReadonlyMap<string, Stored> => {
  const directory = join(dataDirectory, "namespaces")
  const found = new Map<string, Stored>()
  for (const name of readdirSync(directory).filter((file) => file.endsWith(".db"))) {
    const database = new DatabaseSync(join(directory, name), { readOnly: true })
    const agent = database.prepare("SELECT value FROM meta WHERE key = 'agent'").get()?.["value"]
    const rows = database.prepare("SELECT m.id, v.value FROM vector v JOIN memory m ON m.slot = v.slot").all()
    database.close()
    const vectors = rows.map(({ value }) => new Float32Array((value as Uint8Array).slice().buffer))
    found.set(String(agent), { ids: rows.map(({ id }) => String(id)), vectors })
  }
  return found
}

const nearest = (scopes: ReadonlyArray<Stored>, query: Float32Array): ReadonlyArray<string> =>
  scopes
    .flatMap(({ ids, vectors }) => vectors.map((vector, at) => ({ id: ids[at]!, score: product(vector, query) })))
    .sort((left, right) => right.score - left.score)
    .slice(0, depth)
    .map(({ id }) => id)

const product = (left: Float32Array, right: Float32Array): number => {
  let sum = 0
  for (let at = 0; at < left.length; at++) sum += left[at]! * right[at]!
  return sum
}
