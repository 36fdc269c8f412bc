/**
 * The whole service on real texts: import over HTTP, then questions over HTTP, against a server in a
 * process of its own with its real default model. Answers are verified before anything is timed, and
 * any error ends the bench. `--help` names the options.
 *
 * The first import runs without a model: it costs all but the embedding, and its searches are by
 * words alone, so the second one's figures have their peer in the same run.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { askAgain, askAnew, judgeAnswers } from "./askQuestions.ts"
import { BenchServer } from "./BenchServer.ts"
import { HttpClient } from "./HttpClient.ts"
import { importTexts, type ImportReport } from "./importTexts.ts"
import { readOptions, type BenchOptions } from "./Options.ts"
import { Reading } from "./Prometheus.ts"
import { importLines, machineFacts, megabytes, qualityLines, sampleLines, searchLines, sizeLines } from "./Report.ts"

const askEveryMillis = 200
const minuteMillis = 60_000

const print = (...lines: ReadonlyArray<string>): void => void process.stdout.write(`${lines.join("\n")}\n`)

const main = async (options: BenchOptions): Promise<void> => {
  const { texts, questions, agents } = options
  print(machineFacts(), `${texts.length} texts, ${questions.length} questions, ${agents} agent(s)`, "")
  const wordsSeconds = options.skipsWords ? undefined : await withoutModel(options)
  const directory = options.keepDirectory ?? mkdtempSync(join(tmpdir(), "muniment-bench-"))
  mkdirSync(directory, { recursive: true })
  try {
    const report = await importWithModel(options, directory)
    if (wordsSeconds !== undefined) {
      const embedding = (1 - wordsSeconds / report.seconds) * 100
      print(`  of the time ${embedding.toFixed(0)} % is the embedding's, the rest ${wordsSeconds.toFixed(1)} s`)
    }
    await searchReopened(options, directory)
    await openAfterCrash(options, directory)
  } finally {
    if (options.keepDirectory === undefined) rmSync(directory, { recursive: true, force: true })
  }
}

/** Seconds of an import by words alone. */
const withoutModel = async (options: BenchOptions): Promise<number> => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-bench-"))
  try {
    const server = await BenchServer.start({
      dataDirectory: directory,
      environment: { MUNIMENT_EMBEDDING_MODEL: "none" },
      profileDirectory: profiles(options, "import-words")
    })
    const report = await importTexts(server, options.texts, importOptions(options))
    print(...importLines("import without a model", options.texts.length, report))
    print(...qualityLines("answers by words alone", await judgeAnswers(server, options.questions)))
    print(...searchLines("search by words alone", await askAgain(server, options.questions, options.rounds, 1)), "")
    await server.stop()
    return report.seconds
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const importWithModel = async (options: BenchOptions, directory: string): Promise<ImportReport> => {
  const server = await BenchServer.start({
    dataDirectory: directory,
    profileDirectory: profiles(options, "import")
  })
  const report = await importTexts(server, options.texts, importOptions(options))
  print(...importLines("import with the default model", options.texts.length, report))
  await server.untilIdle()
  print(`  stopped in ${(await server.stop()).toFixed(0)} ms`)
  print("files:", ...sizeLines(server.fileSizes(), options.texts.length), "")
  return report
}

/** A new process on the same files: the first search opens the namespace, the rest is steady. */
const searchReopened = async (options: BenchOptions, directory: string): Promise<void> => {
  const { questions, rounds } = options
  const server = await BenchServer.start({
    dataDirectory: directory,
    profileDirectory: profiles(options, "search")
  })
  print(`start on these files: ready after ${server.startMillis.toFixed(0)} ms, ${await firstSearch(server)}`)
  await server.untilIdle()
  const quality = await judgeAnswers(server, questions)
  print(...qualityLines("answers by words and meaning", quality), "")
  print(...searchLines("search, new questions, one at a time", await askAnew(server, questions)))
  print(...searchLines("search, cached vectors, one at a time", await askAgain(server, questions, rounds, 1)))
  print(...searchLines("search, cached vectors, 8 at a time", await askAgain(server, questions, rounds, 8)))
  const client = new HttpClient(server.port)
  const reading = await Reading.take(client)
  client.close()
  print(`resident after the searches ${megabytes(reading.gauge("muniment_process_resident_bytes"))}`, "")
  print(...sampleLines(quality), "")
  await server.stop()
}

const openAfterCrash = async (_options: BenchOptions, directory: string): Promise<void> => {
  const crashing = await BenchServer.start({ dataDirectory: directory })
  await firstSearch(crashing)
  await crashing.kill()
  const server = await BenchServer.start({ dataDirectory: directory })
  print(`start after a kill: ready after ${server.startMillis.toFixed(0)} ms, ${await firstSearch(server)}`)
  await server.stop()
}

const firstSearch = async (server: BenchServer): Promise<string> => {
  const client = new HttpClient(server.port)
  const path = "/v1/memories/search?query=a%20tool%20that%20opens%20archives"
  const first = await client.text("GET", path)
  const second = await client.text("GET", path)
  client.close()
  return `first search ${first.millis.toFixed(0)} ms, second ${second.millis.toFixed(1)} ms`
}

const importOptions = ({ agents, inFlight, isIdempotent, questions }: BenchOptions) => ({
  agents,
  inFlight,
  isIdempotent,
  questions: questions.map(({ text }) => text),
  askEveryMillis
})

const profiles = ({ profileDirectory }: BenchOptions, phase: string): string | undefined =>
  profileDirectory === undefined ? undefined : join(profileDirectory, phase)

const options = readOptions()
if (options !== undefined) {
  setTimeout(() => {
    process.stderr.write(`\nnot done after ${options.minutesMax} minutes\n`)
    process.exit(1)
  }, options.minutesMax * minuteMillis).unref()
  await main(options)
}
