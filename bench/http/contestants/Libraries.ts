/** Peers that are libraries, each behind a server of ours that does no more than it must. */
import { join } from "node:path"
import { ChildServer } from "../ChildServer.ts"
import { resultsMax, type Contestant, type Running, type StartOptions, type Traits } from "../Contestant.ts"
import { HttpClient } from "../HttpClient.ts"
import type { FoundMemory } from "./Peer.ts"

interface Found {
  readonly memories: ReadonlyArray<FoundMemory>
}

const givenVectors = new URL("../GivenVectors.ts", import.meta.url).href

export const sqliteVec: Contestant = library("sqlite-vec + FTS5", "sqliteVecServer.ts", {
  isDurable: true,
  durability: "as Muniment: write-ahead log synced (`synchronous=FULL`) before the answer",
  search: "words (BM25) and meaning (exact scan), fused by rank"
})

export const lanceDb: Contestant = library("LanceDB", "lanceServer.ts", {
  isDurable: false,
  durability: "file written, not synced: a power cut may lose it",
  search: "words (BM25) and meaning (exact scan), fused by rank"
})

function library(name: string, entry: string, traits: Traits): Contestant {
  return {
    name,
    traits,
    start: async ({ directory, encoder, table }: StartOptions): Promise<Running> => {
      const preload = encoder === "given" ? ["--import", givenVectors] : []
      const server = await ChildServer.spawn({
        arguments: [...preload, join(import.meta.dirname, entry)],
        environment: (port) => ({ PEER_PORT: String(port), PEER_DATA: directory, MUNIMENT_BENCH_VECTORS: table }),
        isReady: async (port) => (await fetch(`http://127.0.0.1:${port}/`)).ok
      })
      const client = new HttpClient(server.port)
      return {
        name,
        server,
        store: async (passages) => {
          // A name is unique in the corpus.
          const memories = passages.map(({ name: id, text, subjectId }) => ({ id, subject: subjectId, name: id, text }))
          await client.json("POST", "/store", { memories })
        },
        search: async ({ text, subjectId }) => {
          const { body } = await client.json<Found>("POST", "/search", { text, subject: subjectId, limit: resultsMax })
          return body.memories
        },
        stop: async () => {
          client.close()
          await server.stop()
        }
      }
    }
  }
}
