/**
 * Vectors of an imported collection, and of questions to it, as files for `bench/index/recall.ts`:
 * the stored ones as the namespace's file has them, the questions embedded by the same model.
 *
 *   node bench/http/exportVectors.ts --namespace DATA/namespaces/TAG.db --out PREFIX [--models models]
 *
 * writes PREFIX.rows.f32 and PREFIX.queries.f32, little-endian float32 rows of unit norm.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { parseArgs } from "node:util"
import { vectorsOf } from "../kit/TextVectors.ts"
import { answerHelp } from "../Usage.ts"
import { phrased, readQuestions } from "./Questions.ts"

const main = async (): Promise<void> => {
  answerHelp(
    "node bench/http/exportVectors.ts --namespace DATA/namespaces/TAG.db --out PREFIX [--models DIR] [--questions FILE]"
  )
  const { values } = parseArgs({
    options: {
      namespace: { type: "string" },
      out: { type: "string" },
      models: { type: "string", default: "models" },
      questions: { type: "string", default: join(import.meta.dirname, "questions.txt") }
    }
  })
  if (values.namespace === undefined || values.out === undefined) throw new Error("--namespace and --out are needed")
  const database = new DatabaseSync(values.namespace, { readOnly: true })
  const stored = database.prepare("SELECT model, value FROM vector ORDER BY slot").all()
  database.close()
  const [model, ...others] = new Set(stored.map((row) => String(row["model"])))
  if (model === undefined || others.length > 0)
    throw new Error(`${values.namespace} does not hold vectors of one model`)
  const rows = Buffer.concat(stored.map((row) => row["value"] as Uint8Array))
  const queries = await vectorsOf(values.models, model, "query", phrased(readQuestions(values.questions)))
  writeFileSync(`${values.out}.rows.f32`, rows)
  writeFileSync(
    `${values.out}.queries.f32`,
    Buffer.concat(queries.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)))
  )
  process.stdout.write(`${stored.length} rows and ${queries.length} queries of ${model}\n`)
}

await main()
