/** The index bench with choices of one's own: other sizes, vectors, contenders. */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { writeReport } from "../kit/Report.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { defaultModel, longRun, runIndex, type SetName, shortRun } from "./suite.ts"

const usage = `node --expose-gc bench/index/run.ts [options]
  --set NAME       hard, real or isotropic; may be repeated (hard)
  --count N        vectors: 1000, 10000, 100000, 300000, 1000000; may be repeated (10000)
  --strict N       vectors of each set on which strict recall is measured; no other set then without --count
  --only START     contenders whose names begin so ("ours", "hnswlib"); may be repeated (all)
  --model ID       for real vectors (${defaultModel})
  --texts FILE     a text a line, for real vectors (Debian package descriptions)
  --long           rounds, writes and churn of a long run
  --memory         measure memory as well
  --name NAME      of the report in bench/results (index-custom)`

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      set: { type: "string", multiple: true, default: ["hard"] },
      count: { type: "string", multiple: true },
      strict: { type: "string", default: "0" },
      only: { type: "string", multiple: true, default: [] },
      model: { type: "string", default: defaultModel },
      texts: { type: "string" },
      long: { type: "boolean", default: false },
      memory: { type: "boolean", default: false },
      name: { type: "string", default: "index-custom" }
    }
  })
  const strictCount = wholeNumber("strict", values.strict, 0)
  const counts = (values.count ?? (strictCount > 0 ? [] : ["10000"])).map((count) => wholeNumber("count", count))
  const defaults = values.long ? longRun : shortRun
  const names = values.set.map(setName)
  const asked = process.argv.slice(2).filter((argument, at, all) => argument !== "--texts" && all[at - 1] !== "--texts")
  const report = await runIndex({
    ...defaults,
    strict: { ...defaults.strict, count: strictCount },
    command: ["node --expose-gc bench/index/run.ts", ...asked].join(" "),
    sets: names.map((name) => ({ name, counts })),
    memoryCounts: values.memory ? counts : [],
    model: values.model,
    textsFile: values.texts,
    only: values.only
  })
  await writeReport(values.name, report, { when: new Date() })
  process.stdout.write(`written: ${join("bench", "results", `${values.name}.md`)} and its pictures\n`)
}

const setName = (name: string): SetName => {
  if (name === "hard" || name === "real" || name === "isotropic") return name
  throw new Error(`there are no vectors called ${name}`)
}

await main()
