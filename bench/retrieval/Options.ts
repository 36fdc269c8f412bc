/** Command-line options that the programs of this folder share. */
import { parseArgs } from "node:util"
import { answerHelp } from "../Usage.ts"

export interface Options {
  /** Folder with `locomo10.json`, `locomo-evidence-fixes.json` and `supersession.json`. */
  readonly dataDir: string | undefined
  readonly modelsDir: string
  readonly modelIds: ReadonlyArray<string>
}

export const readOptions = (program: string): Options => {
  answerHelp(usageOf(program))
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      models: { type: "string", default: "models" },
      model: { type: "string", multiple: true, default: [] }
    }
  })
  return { dataDir: values.data, modelsDir: values.models, modelIds: values.model }
}

/** For programs that have nothing to do without LoCoMo. */
export const dataDirOf = ({ dataDir }: Options, program: string): string => {
  if (dataDir === undefined) throw new Error(`--data is missing; usage: ${usageOf(program)}`)
  return dataDir
}

const usageOf = (program: string): string =>
  `node bench/retrieval/${program} [--data DIR] [--models DIR] [--model ID]...`
