/**
 * Vectors of real texts by the service's own embedder: Debian package descriptions as this machine's
 * apt knows them, or the lines of a file. The queries are texts that are not among the rows.
 *
 * Embedding takes a minute for 30,000 texts; `vectorsOf` keeps its results in the temporary
 * directory, named by a digest of model and texts.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { modelIds } from "@muniment/models/ModelCatalog"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { vectorsOf } from "../kit/TextVectors.ts"
import { churnShare, makeVectorSet, practiceCount, type VectorSet } from "./VectorSet.ts"

const modelsDirectory = join(import.meta.dirname, "..", "..", "models")
const debianTexts = join(import.meta.dirname, "..", "http", "debianTexts.ts")
const listingBytesMax = 268_435_456

export interface RealOptions {
  readonly model: string
  /** A text a line; the Debian descriptions when undefined. */
  readonly textsFile: string | undefined
}

/** The texts, or why there are none. */
export const readTexts = ({ model, textsFile }: RealOptions): ReadonlyArray<string> | { readonly reason: string } => {
  if (!modelIds.some((id) => id === model)) return { reason: `there is no model ${model}: ${modelIds.join(", ")}` }
  if (!existsSync(join(modelsDirectory, model))) return { reason: `the model ${model} is not downloaded yet` }
  if (textsFile !== undefined) return [...new Set(readFileSync(textsFile, "utf8").split("\n").filter(Boolean))]
  const { status, stdout, stderr } = spawnSync(process.execPath, [debianTexts], {
    encoding: "utf8",
    maxBuffer: listingBytesMax
  })
  if (status !== 0) return { reason: `no Debian package descriptions on this machine: ${stderr.trim().split("\n")[0]}` }
  return stdout.trim().split("\n").map(textOf)
}

/** At most `count` rows: fewer when there are fewer texts. */
export const realVectors = async (
  texts: ReadonlyArray<string>,
  { model }: RealOptions,
  count: number,
  queries: number
): Promise<VectorSet> => {
  // Its float32 rows lie one behind the other, so only as many texts are embedded as are needed.
  const queryTexts = texts.slice(0, queries + practiceCount)
  const kept = Math.min(count, Math.floor((texts.length - queryTexts.length) / (1 + churnShare)))
  const rowTexts = texts.slice(queryTexts.length, queryTexts.length + Math.ceil(kept * (1 + churnShare)))
  const rows = flat(await vectorsOf(modelsDirectory, model, "passage", rowTexts))
  const questions = flat(await vectorsOf(modelsDirectory, model, "query", queryTexts))
  const dims = rows.length / rowTexts.length
  return makeVectorSet(seededSequence(7), {
    name: "real",
    dims,
    count: kept,
    rows,
    queries: questions.subarray(0, queries * dims),
    practice: questions.subarray(queries * dims)
  })
}

const textOf = (line: string): string => {
  const parsed: unknown = JSON.parse(line)
  if (typeof parsed === "object" && parsed !== null && "text" in parsed) return String(parsed.text)
  throw new Error(`no text in ${line}`)
}

const flat = (vectors: ReadonlyArray<Float32Array>): Float32Array => {
  const dims = vectors[0]?.length ?? 0
  const all = new Float32Array(vectors.length * dims)
  vectors.forEach((vector, at) => all.set(vector, at * dims))
  return all
}
