/**
 * A memory service of equal function on LanceDB: one table with text, subject and vector, a full-text
 * and a bitmap index, both halves asked at once and fused by their ranks. Vectors are searched flat,
 * as LanceDB advises below 100,000 rows. Rows that came since the last `optimize` are in no index,
 * so it runs beside the requests after a number of writes, as LanceDB advises.
 */
import { isMissing, loadPeer } from "../../kit/Peers.ts"
import { serveJson, type PeerEngine } from "./JsonServer.ts"
import { candidatesMax, dataDirectory, fuseRanks, type FoundMemory, type PeerQuery } from "./Peer.ts"
import { openEmbedder, type PeerEmbedder } from "./PeerEmbedder.ts"

interface LanceQuery {
  readonly where: (condition: string) => LanceQuery
  readonly select: (columns: ReadonlyArray<string>) => LanceQuery
  readonly limit: (count: number) => LanceQuery
  readonly toArray: () => Promise<ReadonlyArray<Record<string, unknown>>>
}

interface LanceVectorQuery extends LanceQuery {
  readonly distanceType: (name: "cosine") => LanceQuery
}

interface LanceTable {
  readonly add: (rows: ReadonlyArray<Record<string, unknown>>) => Promise<unknown>
  readonly createIndex: (column: string, options: { readonly config: unknown }) => Promise<void>
  readonly optimize: () => Promise<unknown>
  readonly query: () => LanceQuery & {
    readonly nearestTo: (vector: Float32Array) => LanceVectorQuery
    readonly fullTextSearch: (text: string, options: { readonly columns: string }) => LanceQuery
  }
}

interface Lance {
  readonly connect: (directory: string) => Promise<{
    readonly createTable: (name: string, rows: ReadonlyArray<Record<string, unknown>>) => Promise<LanceTable>
  }>
  readonly Index: { readonly fts: () => unknown; readonly bitmap: () => unknown }
}

const isLance = (loaded: unknown): loaded is Lance =>
  typeof loaded === "object" && loaded !== null && "connect" in loaded && "Index" in loaded

const writesPerOptimize = 50
const columns = ["id", "subject", "name", "text"]

/** Lance takes the columns from rows, so the table begins with the first ones. */
const makeEngine = (lance: Lance, embedder: PeerEmbedder): PeerEngine => {
  let table: Promise<LanceTable> | undefined
  let writes = 0
  let optimizing: Promise<unknown> | undefined

  const create = async (rows: ReadonlyArray<Record<string, unknown>>): Promise<LanceTable> => {
    const made = await (await lance.connect(dataDirectory())).createTable("memory", rows)
    await made.createIndex("words", { config: lance.Index.fts() })
    await made.createIndex("subject", { config: lance.Index.bitmap() })
    return made
  }
  // Without the column of the score Lance writes a warning for each query.
  const half = async (query: LanceQuery, score: string, subject: string | undefined) => {
    const scoped = subject === undefined ? query : query.where(`subject = '${subject.replaceAll("'", "''")}'`)
    return scoped
      .select([...columns, score])
      .limit(candidatesMax)
      .toArray()
  }
  const find = async ({ text, subject, limit }: PeerQuery): Promise<ReadonlyArray<FoundMemory>> => {
    const opened = await table
    if (opened === undefined) return []
    const vector = await embedder.query(text)
    const [dense, lexical] = await Promise.all([
      half(opened.query().nearestTo(vector).distanceType("cosine"), "_distance", subject),
      half(opened.query().fullTextSearch(text, { columns: "words" }), "_score", subject)
    ])
    const records = new Map([...dense, ...lexical].map((row) => [String(row["id"]), row]))
    return fuseRanks([idsOf(dense), idsOf(lexical)], limit).map((id) => {
      const row = records.get(id)
      return { id, subject: String(row?.["subject"]), name: String(row?.["name"]), text: String(row?.["text"]) }
    })
  }
  return {
    store: async (memories) => {
      const vectors = await embedder.passages(memories)
      const rows = memories.map(({ id, subject, name, text }, at) => ({
        id,
        subject,
        name,
        text,
        words: `${name} ${text}`,
        vector: Array.from(vectors[at]!)
      }))
      if (table === undefined) {
        table = create(rows)
        await table
      } else await (await table).add(rows)
      if (++writes % writesPerOptimize === 0 && optimizing === undefined) {
        optimizing = (await table).optimize().finally(() => (optimizing = undefined))
      }
    },
    search: find,
    close: async () => {
      await optimizing
      await embedder.close()
    }
  }
}

const idsOf = (rows: ReadonlyArray<Record<string, unknown>>): ReadonlyArray<string> => rows.map(({ id }) => String(id))

const peer = await loadPeer("@lancedb/lancedb", isLance)
if (isMissing(peer)) throw new Error(peer.reason)
serveJson(makeEngine(peer.module, await openEmbedder()))
