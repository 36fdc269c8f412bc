/**
 * The real service for half an hour under steady churn: memories come, go, are replaced and superseded
 * while others search, and their number stays. Every minute the churn pauses, the index' recall is
 * compared with brute force over what is stored, and a line is printed; at the end a verdict, a table
 * and a picture. `--help` names the options.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { BenchServer } from "../http/BenchServer.ts"
import { modelsDirectory, installedModel, textsOf } from "../http/Corpus.ts"
import { questionsFile } from "../http/debianTexts.ts"
import { HttpClient } from "../http/HttpClient.ts"
import { phrased, readQuestions } from "../http/Questions.ts"
import { machineFacts } from "../kit/Machine.ts"
import { quantile } from "../kit/Measure.ts"
import { tableText, writeReport } from "../kit/Report.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { batchSize, Churn, stateKind } from "./Churn.ts"
import { denseRecall, recallQueries, type RecallQuery } from "./DenseRecall.ts"
import { Population } from "./Population.ts"
import {
  findingColumns,
  findingRows,
  findingsOf,
  headLine,
  runVerdict,
  sampleLine,
  soakReport,
  type SoakSample
} from "./SoakReport.ts"

/** A shorter run is a trial and leaves the result of a full one alone. */
const fullMinutes = 30

const usage = `node bench/soak/run.ts [options]

  --minutes N     length of the soak, after the memories are stored (30)
  --memories N    memories held all the time (20000)
  --agents N      agents they are spread over (4)
  --writes N      writes a second, at most as many as the encoder manages (8)
  --searches N    searches a second (20)
  --texts FILE    JSONL of {"name", "text"}; else what apt knows, else made-up sentences
  --index NAME    MUNIMENT_INDEX: auto, exact, quantized or hnsw (auto)
  --seed N        of every choice (1)
  --help          this text

Writes bench/results/soak.md and its picture; soak-trial.md for a run of less than ${fullMinutes} minutes.`

interface Settings {
  readonly minutes: number
  readonly memories: number
  readonly agents: ReadonlyArray<string>
  readonly writesPerSecond: number
  readonly searchesPerSecond: number
  readonly texts: string | undefined
  readonly index: string
  readonly seed: number
}

interface Soak {
  readonly server: BenchServer
  readonly client: HttpClient
  readonly churn: Churn
  readonly population: Population
  readonly queries: ReadonlyArray<RecallQuery>
  readonly heapFile: string
  readonly settings: Settings
}

const sampleSecondsMax = 60
const samplesMin = 12
const recallQueriesMax = 50
/** Texts to every memory, so that what is written was not stored a moment ago. */
const textsPerMemory = 1.5
const heapSignal = new URL("./HeapSignal.ts", import.meta.url).href
const heapWaitMillis = 200
const heapWaitMillisMax = 30_000

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { command, settings } = readSettings()
  const machine = machineFacts()
  const root = mkdtempSync(join(tmpdir(), "muniment-soak-"))
  const model = installedModel()
  const { source, texts } = textsOf(Math.ceil(settings.memories * textsPerMemory), settings.texts)
  const questions = phrased(readQuestions(questionsFile))
  const queries = await recallQueries(modelsDirectory, model.id, questions.slice(0, recallQueriesMax))
  const dataDirectory = join(root, "data")
  mkdirSync(dataDirectory)
  const heapFile = join(root, "heap.json")
  const server = await BenchServer.start({
    dataDirectory,
    environment: {
      MUNIMENT_MODELS_DIR: modelsDirectory,
      MUNIMENT_EMBEDDING_MODEL: model.id,
      MUNIMENT_INDEX: settings.index,
      MUNIMENT_SOAK_HEAP: heapFile
    },
    preload: [heapSignal]
  })
  const client = new HttpClient(server.port)
  try {
    const population = new Population(texts.length, settings.seed)
    const churn = new Churn({ ...settings, client, population, questions, texts })
    const samples = await soaked({ churn, client, heapFile, population, queries, server, settings })
    const findings = findingsOf(samples)
    say(`\n${tableText(findingColumns, findingRows(findings))}\n\n${runVerdict(samples, findings)}`)
    const notes = [
      `${settings.memories} memories (${source}) of ${settings.agents.length} agents, ${model.id}, engine ${settings.index}, seed ${settings.seed}; ${settings.writesPerSecond} writes and ${settings.searchesPerSecond} searches a second wanted.`
    ]
    const name = settings.minutes < fullMinutes ? "soak-trial" : "soak"
    await writeReport(name, soakReport({ command, machine, notes, samples }), { when: new Date() })
    if (!runVerdict(samples, findings).startsWith("FLAT")) process.exitCode = 1
  } finally {
    client.close()
    await server.stop()
    rmSync(root, { recursive: true, force: true })
  }
}

const soaked = async (soak: Soak): Promise<ReadonlyArray<SoakSample>> => {
  const { churn, client, population, settings } = soak
  await client.json("POST", "/v1/schemas", {
    name: stateKind,
    description: "What is so until somebody says otherwise",
    schema: JSON.stringify({ type: "object", properties: { subject: { type: "string" }, fact: { type: "string" } } }),
    uniqueOn: ["subject"]
  })
  await churn.fill(settings.memories, (done) => {
    if (done % (batchSize * 5) === 0) process.stderr.write(`\r${done}/${settings.memories} memories stored`)
  })
  process.stderr.write("\n")
  say(headLine)
  const sampleMillis = Math.min(sampleSecondsMax, (settings.minutes * 60) / samplesMin) * 1_000
  const startedMillis = performance.now()
  const samples: Array<SoakSample> = []
  while (performance.now() - startedMillis < settings.minutes * 60_000) {
    churn.start()
    await pause(sampleMillis)
    await churn.stop()
    const sample = await sampleOf(soak, (performance.now() - startedMillis) / 60_000)
    samples.push(sample)
    say(sampleLine(sample))
  }
  for (const agentId of settings.agents) {
    const path = `/v1/memories?agentId=${agentId}&includeSuperseded=true&limit=1`
    const { body } = await client.json<{ readonly total: number }>("GET", path)
    const wanted = population.count(agentId)
    if (body.total !== wanted) throw new Error(`${agentId} has ${body.total} memories, ${wanted} were expected`)
  }
  return samples
}

/** While nothing is written, so that what the files hold is what the service holds. */
const sampleOf = async (soak: Soak, minutes: number): Promise<SoakSample> => {
  const { churn, client, queries, server, settings } = soak
  const { errors, filteredMillis, searchMillis, writeMillis } = churn.interval()
  const heap = await heapOf(soak)
  const sizes = [...server.fileSizes()]
  const megabytes = (isWanted: (kind: string) => boolean) =>
    sizes.reduce((sum, [kind, bytes]) => sum + (isWanted(kind) ? bytes : 0), 0) / 1e6
  return {
    minutes,
    ...(await denseRecall(client, server.dataDirectory, settings.agents, queries)),
    searchP50Millis: quantile(searchMillis, 0.5),
    searchP99Millis: quantile(searchMillis, 0.99),
    filteredP50Millis: quantile(filteredMillis, 0.5),
    writeP50Millis: quantile(writeMillis, 0.5),
    searches: searchMillis.length + filteredMillis.length,
    writes: writeMillis.length,
    residentMegabytes: server.residentBytes() / 1e6,
    heapMegabytes: heap.heapUsed / 1e6,
    externalMegabytes: heap.external / 1e6,
    fileMegabytes: megabytes((kind) => !kind.endsWith("-wal")),
    walMegabytes: megabytes((kind) => kind.endsWith("-wal")),
    errors
  }
}

const heapOf = async ({
  heapFile,
  server
}: Soak): Promise<{ readonly heapUsed: number; readonly external: number }> => {
  rmSync(heapFile, { force: true })
  server.signal("SIGUSR2")
  // A busy machine takes its time.
  for (let waited = 0; !existsSync(heapFile); waited += heapWaitMillis) {
    if (waited >= heapWaitMillisMax) throw new Error(`the service did not say its heap within ${heapWaitMillisMax} ms`)
    await pause(heapWaitMillis)
  }
  return JSON.parse(readFileSync(heapFile, "utf8")) as { readonly heapUsed: number; readonly external: number }
}

const readSettings = () => {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "30" },
      memories: { type: "string", default: "20000" },
      agents: { type: "string", default: "4" },
      writes: { type: "string", default: "8" },
      searches: { type: "string", default: "20" },
      texts: { type: "string" },
      index: { type: "string", default: "auto" },
      seed: { type: "string", default: "1" }
    }
  })
  const settings: Settings = {
    minutes: positive("minutes", values.minutes),
    memories: wholeNumber("memories", values.memories),
    agents: Array.from({ length: wholeNumber("agents", values.agents) }, (_, at) => `agent-${at}`),
    writesPerSecond: positive("writes", values.writes),
    searchesPerSecond: positive("searches", values.searches),
    texts: values.texts,
    index: values.index,
    seed: wholeNumber("seed", values.seed)
  }
  const command = `node bench/soak/run.ts --minutes ${settings.minutes} --memories ${settings.memories}`
  return { command, settings }
}

const positive = (name: string, text: string): number => {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0, not "${text}"`)
  return value
}

await main()
