/**
 * The packed service as it is installed: processor time and time from the start of its process until it is ready, of
 * several builds in turns, and its memory at rest with the model and 1,000 memories. On Linux alone (`/proc`).
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { freePort, operatorKey, serverCalls } from "../../test/support/TestServer.ts"
import { median } from "../kit/Measure.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { processorMillisOf } from "./ChildServer.ts"

const help = `node bench/http/packed.ts FOLDER... [options]

Each FOLDER has a packed service: npm run pack:all -- TARBALLS, then there npm install TARBALLS/muniment-0*.tgz
TARBALLS/muniment-onnxruntime-linux-x64-*.tgz.

  --starts N         starts of each, in turns (8)
  --rests N          new services of each that come to rest, three minutes each (0)
  --help             this text`

const modelsDirectory = resolve(process.env["MUNIMENT_MODELS_DIR"] ?? join(import.meta.dirname, "../../models"))
const memories = 1_000
const batch = 50
/** After the last request. */
const restSeconds = [90, 110, 140]

interface Running {
  readonly process: ChildProcess
  readonly call: ReturnType<typeof serverCalls>["call"]
  readonly readyMillis: number
}

const start = async (folder: string, data: string): Promise<Running> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const environment = {
    MUNIMENT_PORT: `${port}`,
    MUNIMENT_DATA_DIR: data,
    MUNIMENT_BOOTSTRAP_KEY: operatorKey,
    MUNIMENT_MODELS_DIR: modelsDirectory
  }
  const startedAt = performance.now()
  const child = spawn(resolve(folder, "node_modules/.bin/muniment"), ["serve"], {
    env: { PATH: process.env["PATH"], HOME: data, ...environment },
    stdio: "ignore"
  })
  while ((await fetch(`${url}/health/ready`).catch(() => undefined))?.status !== 200) {
    if (child.exitCode !== null) throw new Error(`${folder}: the service ended with code ${child.exitCode}`)
    await pause(5)
  }
  return { process: child, call: serverCalls(url, operatorKey).call, readyMillis: performance.now() - startedAt }
}

const stop = async ({ process: child }: Running): Promise<void> => {
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  await ended
}

const megabytes = ({ process: { pid } }: Running, name: string): number => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1_024) / 1e6
}

const inNewDirectory = async <A>(use: (data: string) => Promise<A>): Promise<A> => {
  const data = mkdtempSync(join(tmpdir(), "muniment-packed-"))
  try {
    return await use(data)
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

const starts = async (folders: ReadonlyArray<string>, rounds: number): Promise<void> => {
  const found = folders.map((folder) => ({ folder, ready: [] as Array<number>, cpu: [] as Array<number> }))
  await inNewDirectory(async (data) => {
    await stop(await start(folders[0]!, data))
    for (let round = 0; round < rounds; round++)
      for (const { cpu, folder, ready } of round % 2 === 0 ? found : found.toReversed()) {
        const running = await start(folder, data)
        cpu.push(processorMillisOf(running.process.pid))
        ready.push(Math.round(running.readyMillis))
        await stop(running)
      }
  })
  for (const { cpu, folder, ready } of found) {
    console.log(`${folder}: ready after ${ready.join(", ")} ms, median ${median(ready)}`)
    console.log(`${folder}: processor time ${cpu.join(", ")} ms, median ${median(cpu)}`)
  }
}

const rest = (folder: string): Promise<void> =>
  inNewDirectory(async (data) => {
    const running = await start(folder, data)
    const names = ["Alice", "Bob", "Carol", "Dan", "Eve"]
    for (let at = 0; at < memories; at += batch) {
      const written = Array.from({ length: batch }, (_, place) => {
        const subject = names[place % names.length]!
        return { kind: "factual_memory", data: { subject, fact: `${subject} wrote line ${at + place} of the log` } }
      })
      const body = { agentId: "assistant", memories: written, wait: "vectors" }
      const { status } = await running.call("POST", "/v1/memories", { body })
      if (status !== 200) throw new Error(`answered ${status}`)
    }
    for (const name of names) await running.call("GET", `/v1/memories/search?query=what+did+${name}+write`)
    let rested = 0
    for (const seconds of restSeconds) {
      await pause((seconds - rested) * 1_000)
      rested = seconds
      const [all, own] = ["VmRSS", "RssAnon"].map((name) => Math.round(megabytes(running, name)))
      console.log(`${folder}: ${all} MB resident ${seconds} s after the last request, ${own} of them anonymous`)
    }
    await stop(running)
  })

answerHelp(help)
const { positionals: folders, values } = parseArgs({
  allowPositionals: true,
  options: { starts: { type: "string", default: "8" }, rests: { type: "string", default: "0" } }
})
if (folders.length === 0) throw new Error("name a folder with a packed service; see --help")
const [starting, resting] = [wholeNumber("starts", values.starts, 0), wholeNumber("rests", values.rests, 0)]
if (starting > 0) await starts(folders, starting)
for (let round = 0; round < resting; round++) for (const folder of folders) await rest(folder)
