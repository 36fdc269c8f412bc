/**
 * Vectors of texts by the service's own `Embedder`, kept in a file under the system's temporary directory, named by a
 * digest of model and texts: embedding a corpus takes a minute.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Embedder } from "@muniment/models/Embedder"
import { Effect } from "effect"

export type Role = "query" | "passage"

const CHUNK = 256

export const vectorsOf = async (
  modelsDir: string,
  modelId: string,
  role: Role,
  texts: ReadonlyArray<string>
): Promise<ReadonlyArray<Float32Array>> => {
  const digest = createHash("sha256")
    .update(JSON.stringify([modelId, role, texts]))
    .digest("hex")
  const folder = join(tmpdir(), "muniment-bench-vectors")
  const file = join(folder, `${digest}.f32`)
  if (existsSync(file)) return split(readFileSync(file), texts.length)
  const vectors = await embed(modelsDir, modelId, role, texts)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    `${file}.part`,
    Buffer.concat(vectors.map((vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)))
  )
  renameSync(`${file}.part`, file)
  return vectors
}

const split = (bytes: Buffer, count: number): ReadonlyArray<Float32Array> => {
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const dims = all.length / count
  return Array.from({ length: count }, (_, at) => all.subarray(at * dims, (at + 1) * dims))
}

const embed = (
  modelsDir: string,
  modelId: string,
  role: Role,
  texts: ReadonlyArray<string>
): Promise<ReadonlyArray<Float32Array>> =>
  Effect.gen(function* () {
    const embedder = yield* Embedder
    const vectors: Array<Float32Array> = []
    for (let start = 0; start < texts.length; start += CHUNK) {
      const chunk = texts.slice(start, start + CHUNK)
      const embedded = yield* role === "passage"
        ? embedder.embedPassages(chunk, modelId)
        : Effect.forEach(chunk, (text) => embedder.embedQuery(text, modelId), { concurrency: "unbounded" })
      vectors.push(...embedded)
      process.stderr.write(`\r${modelId} ${role} ${vectors.length}/${texts.length}`)
    }
    process.stderr.write("\n")
    return vectors
  }).pipe(Effect.provide(Embedder.layer({ modelsDir, modelId })), Effect.runPromise)
