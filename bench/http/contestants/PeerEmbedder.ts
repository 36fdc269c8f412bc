/** The service's own `Embedder` for peers: the same model, thread, batches and cache of queries. */
import { Effect, ManagedRuntime } from "effect"
import { denseText } from "@muniment/engine/text/MemoryText"
import { Embedder } from "@muniment/models/Embedder"
import { memoryKind, modelsDirectory } from "../Corpus.ts"
import type { PeerMemory } from "./Peer.ts"

export interface PeerEmbedder {
  readonly passages: (memories: ReadonlyArray<PeerMemory>) => Promise<ReadonlyArray<Float32Array>>
  readonly query: (text: string) => Promise<Float32Array>
  readonly close: () => Promise<void>
}

const readyPollMillis = 50

export const openEmbedder = async (): Promise<PeerEmbedder> => {
  const runtime = ManagedRuntime.make(Embedder.layer({ modelsDir: modelsDirectory }))
  const embedder = await runtime.runPromise(Embedder.use((service) => Effect.succeed(service)))
  while ((await runtime.runPromise(embedder.status)).state === "loading") {
    await new Promise((wake) => setTimeout(wake, readyPollMillis))
  }
  return {
    passages: (memories) =>
      runtime.runPromise(
        embedder.embedPassages(
          memories.map(({ name, text }) =>
            denseText({ kind: memoryKind, data: { subject: name, fact: text }, tags: [] })
          )
        )
      ),
    query: (text) => runtime.runPromise(embedder.embedQuery(text)),
    close: () => runtime.dispose()
  }
}
