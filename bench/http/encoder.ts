/**
 * Import with the model, by one embedding thread and by as many as the service takes by itself, in turns: memories
 * acknowledged a second, and memories with their vectors a second.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { median } from "../kit/Measure.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { BenchServer } from "./BenchServer.ts"
import { readTexts } from "./Corpus.ts"
import type { NamedText } from "./debianTexts.ts"
import { importTexts, type ImportReport } from "./importTexts.ts"
import { importLines, machineFacts } from "./Report.ts"

const help = `node bench/http/encoder.ts --texts FILE [options]

Imports texts with the model into a new service, with one embedding thread and with as many as it takes by itself, in
turns, and prints the ratio of the rates.

  --texts FILE       JSONL of {"name", "text"}; bench/http/debianTexts.ts makes one
  --count N          texts to import (3000)
  --rounds N         imports of each kind (3)
  --help             this text`

const inFlight = 4

const importInto = async (texts: ReadonlyArray<NamedText>, environment: Record<string, string>) => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-bench-"))
  try {
    const server = await BenchServer.start({ dataDirectory: directory, environment })
    const report = await importTexts(server, texts, {
      agents: 1,
      inFlight,
      isIdempotent: false,
      questions: [],
      askEveryMillis: 0
    })
    await server.stop()
    return report
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const main = async (texts: ReadonlyArray<NamedText>, rounds: number): Promise<void> => {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  print(machineFacts())
  const ratios: Array<number> = []
  const acknowledged: Array<number> = []
  const kinds = [
    ["one thread", { MUNIMENT_EMBEDDING_THREADS: "1" }],
    ["by itself", {}]
  ] as const
  for (let round = 0; round < rounds; round++) {
    const reports = new Map<string, ImportReport>()
    for (const [name, environment] of round % 2 === 0 ? kinds : kinds.toReversed()) {
      const report = await importInto(texts, environment)
      reports.set(name, report)
      for (const line of importLines(name, texts.length, report)) print(line)
    }
    const [alone, together] = kinds.map(([name]) => reports.get(name)!)
    ratios.push(alone!.seconds / together!.seconds)
    acknowledged.push(texts.length / together!.acknowledgedSeconds)
  }
  print(
    `memories with their vectors a second against one thread: ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}`
  )
  print(`median ${median(ratios).toFixed(2)}; acknowledged ${median(acknowledged).toFixed(0)} a second`)
}

answerHelp(help)
const { values } = parseArgs({
  options: {
    texts: { type: "string" },
    count: { type: "string", default: "3000" },
    rounds: { type: "string", default: "3" }
  }
})
if (values.texts === undefined) throw new Error("--texts names the file of the texts; see --help")
const count = wholeNumber("count", values.count)
const texts = readTexts(values.texts).slice(0, count)
if (texts.length < count) throw new Error(`${values.texts} has ${texts.length} texts, --count asks for ${count}`)
await main(texts, wholeNumber("rounds", values.rounds))
