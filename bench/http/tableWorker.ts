/**
 * The thread of `TableThread`: speaks the embedding protocol and answers from the table. A text that
 * is not in it fails the request, so that no figure rests on a vector that was made up.
 */
import { parentPort, workerData } from "node:worker_threads"
import type { closeRequest, Numbered, ThreadReply, ThreadRequest } from "@muniment/models/EmbeddingProtocol"
import { readTable } from "./VectorTable.ts"

const { table } = workerData as { readonly table: string }
const port = parentPort
if (port === null) throw new Error("tableWorker runs only as a worker thread")
const vectors = readTable(table)

port.on("message", (request: Numbered<ThreadRequest> | typeof closeRequest) => {
  if (request.type === "close") return port.close()
  const reply = answer(request)
  port.postMessage(reply, reply.type === "embedded" ? [reply.vectors.buffer] : [])
})

const answer = (request: Numbered<ThreadRequest>): ThreadReply => {
  const { requestId } = request
  if (request.type === "load") return { type: "loaded", requestId }
  const found = request.texts.map((text) => vectors.get(text))
  const missing = found.findIndex((vector) => vector === undefined)
  if (missing !== -1) return { type: "failed", requestId, reason: `no vector given for "${request.texts[missing]}"` }
  const dims = found[0]?.length ?? 0
  const flat = new Float32Array(found.length * dims)
  for (const [at, vector] of found.entries()) flat.set(vector ?? [], at * dims)
  return { type: "embedded", requestId, vectors: flat }
}
