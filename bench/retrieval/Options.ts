/** Command-line options that the programs of this folder share. */
import { parseArgs } from "node:util"
import { answerHelp } from "../Usage.ts"

export interface Options {
  readonly dataDir: string
  readonly modelsDir: string
  readonly modelIds: ReadonlyArray<string>
}

export const readOptions = (program: string): Options => {
  const usage = `node bench/retrieval/${program} --data DIR [--models DIR] [--model ID]...`
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      models: { type: "string", default: "models" },
      model: { type: "string", multiple: true, default: [] }
    }
  })
  if (values.data === undefined) {
    throw new Error(`usage: ${usage}`)
  }
  return { dataDir: values.data, modelsDir: values.models, modelIds: values.model }
}
