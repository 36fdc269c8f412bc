/**
 * Chroma's server, spoken to as its client does: vectors are the client's business, so in a run with
 * the model the bench's own process computes them, and they travel as JSON.
 */
import { join } from "node:path"
import { ChildServer } from "../ChildServer.ts"
import { resultsMax, type Contestant, type Running, type StartOptions } from "../Contestant.ts"
import { HttpClient } from "../HttpClient.ts"
import { openEmbedder, type PeerEmbedder } from "./PeerEmbedder.ts"

interface Found {
  readonly documents: ReadonlyArray<ReadonlyArray<string>>
  readonly ids: ReadonlyArray<ReadonlyArray<string>>
}

const api = "/api/v2/tenants/default_tenant/databases/default_database/collections"

export const chroma: Contestant = {
  name: "Chroma",
  traits: {
    isDurable: true,
    durability: "SQLite with a rollback journal, synced before the answer",
    search: "meaning alone (HNSW, cosine)"
  },
  start: async ({ directory, encoder }: StartOptions): Promise<Running> => {
    const server = await ChildServer.spawn({
      arguments: [join(import.meta.dirname, "chromaServer.ts")],
      environment: (port) => ({ PEER_PORT: String(port), PEER_DATA: directory }),
      isReady: async (port) => (await fetch(`http://127.0.0.1:${port}/api/v2/heartbeat`)).ok
    })
    const client = new HttpClient(server.port)
    const { body: version } = await client.json<string>("GET", "/api/v2/version")
    const { body: collection } = await client.json<{ readonly id: string }>("POST", api, {
      name: "memories",
      configuration: { hnsw: { space: "cosine" } }
    })
    return speaking(`${chroma.name} ${version}`, server, client, collection.id, await embedderFor(encoder))
  }
}

const embedderFor = (encoder: StartOptions["encoder"]): Promise<PeerEmbedder | undefined> =>
  encoder === "model" ? openEmbedder() : Promise.resolve(undefined)

const speaking = (
  name: string,
  server: ChildServer,
  client: HttpClient,
  collection: string,
  embedder: PeerEmbedder | undefined
): Running => ({
  name,
  server,
  store: async (passages) => {
    const computed = await embedder?.passages(
      passages.map(({ name: id, text, subjectId }) => ({ id, subject: subjectId, name: id, text }))
    )
    await client.json("POST", `${api}/${collection}/add`, {
      ids: passages.map((passage) => passage.name),
      embeddings: passages.map(({ vector }, at) => Array.from(computed?.[at] ?? vector)),
      documents: passages.map(({ text }) => text),
      metadatas: passages.map(({ subjectId }) => ({ subject: subjectId }))
    })
  },
  search: async ({ text, vector, subjectId }) => {
    const computed = await embedder?.query(text)
    const { body } = await client.json<Found>("POST", `${api}/${collection}/query`, {
      query_embeddings: [Array.from(computed ?? vector)],
      n_results: resultsMax,
      include: ["documents", "metadatas", "distances"],
      ...(subjectId !== undefined && { where: { subject: subjectId } })
    })
    return (body.ids[0] ?? []).map((id, at) => ({ name: id, text: body.documents[0]?.[at] ?? "" }))
  },
  stop: async () => {
    client.close()
    await server.stop()
    await embedder?.close()
  }
})
