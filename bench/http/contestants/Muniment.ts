/** The service under test, by its public endpoints and with its defaults. */
import { BenchServer } from "../BenchServer.ts"
import { resultsMax, type Contestant, type Running, type StartOptions } from "../Contestant.ts"
import { memoryKind, modelsDirectory } from "../Corpus.ts"
import { HttpClient } from "../HttpClient.ts"
import { Reading } from "../Prometheus.ts"

interface Found {
  readonly memories: ReadonlyArray<{ readonly data: { readonly subject: string; readonly fact: string } }>
}

interface Created {
  readonly created: ReadonlyArray<unknown>
}

export const agentId = "bench"
const givenVectors = new URL("../GivenVectors.ts", import.meta.url).href

export const muniment: Contestant = {
  name: "Muniment",
  traits: {
    isDurable: true,
    durability: "write-ahead log synced (`synchronous=FULL`) before the answer",
    search: "words (BM25F) and meaning, fused by calibrated relevance"
  },
  start: async ({ corpus, directory, encoder, table }: StartOptions): Promise<Running> => {
    const server = await BenchServer.start({
      dataDirectory: directory,
      environment: {
        MUNIMENT_MODELS_DIR: modelsDirectory,
        MUNIMENT_EMBEDDING_MODEL: corpus.model.id,
        MUNIMENT_BENCH_VECTORS: table
      },
      preload: encoder === "given" ? [givenVectors] : []
    })
    const client = new HttpClient(server.port)
    return {
      name: muniment.name,
      server,
      store: async (passages) => {
        const { body } = await client.json<Created>("POST", "/v1/memories/batch/create", {
          agentId,
          wait: "vectors",
          subjectId: passages[0]?.subjectId,
          memories: passages.map(({ name, text }) => ({ kind: memoryKind, data: { subject: name, fact: text } }))
        })
        if (body.created.length !== passages.length) throw new Error("not all memories were stored")
      },
      search: async ({ text, subjectId }) => {
        const filter = subjectId === undefined ? "" : `&subjectId=${subjectId}`
        const path = `/v1/memories/search?query=${encodeURIComponent(text)}&limit=${resultsMax}${filter}`
        const { body } = await client.json<Found>("GET", path)
        return body.memories.map(({ data }) => ({ name: data.subject, text: data.fact }))
      },
      reading: () => Reading.take(client),
      stop: async () => {
        client.close()
        await server.stop()
      }
    }
  }
}
