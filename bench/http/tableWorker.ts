/**
 * The thread of `TableThread`: speaks the embedding protocol and answers from the table. A text that
 * is not in it fails the request, so that no figure rests on a vector that was made up.
 */
import type { ThreadReply, ThreadRequest } from "@muniment/models/EmbeddingThread"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import { readTable } from "./VectorTable.ts"

const vectors = readTable(settingsOf<{ readonly table: string }>().table)

const answer = (request: ThreadRequest): ThreadReply => {
  if (request.type === "load") return { type: "loaded" }
  const found = request.texts.map((text) => vectors.get(text))
  const missing = found.findIndex((vector) => vector === undefined)
  if (missing !== -1) throw new Error(`no vector given for "${request.texts[missing]}"`)
  const dims = found[0]?.length ?? 0
  const flat = new Float32Array(found.length * dims)
  for (const [at, vector] of found.entries()) flat.set(vector ?? [], at * dims)
  return { type: "embedded", vectors: flat }
}

serve(answer, { transfer: (reply) => (reply.type === "embedded" ? [reply.vectors.buffer] : []) })
