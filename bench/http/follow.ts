/**
 * Cost of `muniment backup follow` for the writers of a running service: windows with and without it take turns within
 * one run, and the ratio of the write rates is reported. Vectors are left out, so that the encoder hides nothing.
 * Rounds of the backup come more often than its default of one a minute, so that every window has several.
 * `node bench/http/follow.ts [--seconds N] [--pairs N] [--every N] [--writers N]`
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { machineFacts } from "../kit/Machine.ts"
import { median, quantile } from "../kit/Measure.ts"
import { answerHelp, wholeNumber } from "../Usage.ts"
import { BenchServer } from "./BenchServer.ts"
import { repository } from "./ChildServer.ts"
import { HttpClient } from "./HttpClient.ts"

const usage = "node bench/http/follow.ts [--seconds N] [--pairs N] [--every N] [--writers N]"

/** Least share of the write rate that is left beside a backup that follows. */
const goal = 0.95
const agents = 8
const pollMillis = 50
/** Before a refused write is sent again. */
const refusedMillis = 20
const patienceMillis = 60_000

interface Options {
  readonly seconds: number
  readonly pairs: number
  readonly every: number
  readonly writers: number
}

const main = async (): Promise<void> => {
  answerHelp(usage)
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "12" },
      pairs: { type: "string", default: "6" },
      every: { type: "string", default: "4" },
      writers: { type: "string", default: "16" }
    }
  })
  const options: Options = {
    seconds: wholeNumber("seconds", values.seconds),
    pairs: wholeNumber("pairs", values.pairs),
    every: wholeNumber("every", values.every),
    writers: wholeNumber("writers", values.writers)
  }
  const scratch = mkdtempSync(join(tmpdir(), "muniment-follow-bench-"))
  const dataDirectory = join(scratch, "data")
  const server = await BenchServer.start({ dataDirectory, environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
  const client = new HttpClient(server.port)
  console.log(machineFacts())
  try {
    const ratios = await measured(client, { dataDirectory, to: join(scratch, "backups") }, options)
    const ratio = median(ratios)
    console.log(
      `with / without, median of ${ratios.length} pairs: ${ratio.toFixed(3)} (${quantile(ratios, 0).toFixed(3)} to ${quantile(ratios, 1).toFixed(3)}); goal at least ${goal}: ${ratio >= goal ? "met" : "missed"}`
    )
  } finally {
    client.close()
    await server.stop()
    rmSync(scratch, { recursive: true })
  }
}

interface Places {
  readonly dataDirectory: string
  readonly to: string
}

/** Of each pair of windows. */
const measured = async (client: HttpClient, places: Places, options: Options): Promise<ReadonlyArray<number>> => {
  const writers = new Writers(client, options.writers)
  const ratios: Array<number> = []
  try {
    await writers.rate(options.seconds / 2)
    for (let pair = 0; pair < options.pairs; pair++) {
      // Each comes first as often as second, since the files grow.
      const without = pair % 2 === 0 ? await writers.rate(options.seconds) : undefined
      const beside = await following(places, options.every, () => writers.rate(options.seconds))
      const alone = without ?? (await writers.rate(options.seconds))
      ratios.push(beside / alone)
      console.log(`${alone.toFixed(0)} writes a second alone, ${beside.toFixed(0)} beside it`)
    }
  } finally {
    await writers.stop()
  }
  return ratios
}

/** Callers that write one memory after the other for as long as the run takes. */
class Writers {
  #isOver = false
  #written = 0
  readonly #all: Promise<unknown>

  constructor(client: HttpClient, count: number) {
    this.#all = Promise.all(Array.from({ length: count }, (_, at) => this.#write(client, at)))
  }

  /** Writes a second, from now on. */
  async rate(seconds: number): Promise<number> {
    const [from, written] = [performance.now(), this.#written]
    await Promise.race([this.#all, new Promise((wake) => setTimeout(wake, seconds * 1_000))])
    return ((this.#written - written) * 1_000) / (performance.now() - from)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#all
  }

  async #write(client: HttpClient, writer: number): Promise<void> {
    for (let at = 0; !this.#isOver; at++) {
      const fact = `Number ${at} of writer ${writer} has the colour ${(at * 2_654_435_761) % 4_294_967_296}`
      const memories = [{ kind: "factual_memory", data: { subject: `writer ${writer}`, fact } }]
      await this.#stored(client, { agentId: `agent-${writer % agents}`, memories })
      this.#written++
    }
  }

  async #stored(client: HttpClient, body: unknown): Promise<void> {
    while (!this.#isOver) {
      try {
        await client.json("POST", "/v1/memories", body)
        return
      } catch (cause) {
        if (!isRefused(cause)) throw cause
        await new Promise((wake) => setTimeout(wake, refusedMillis))
      }
    }
  }
}

/** A full service refuses for a moment. */
const isRefused = (cause: unknown): boolean => cause instanceof Error && cause.message.includes("answered 503")

/** Beside a backup whose first round is over: it starts a process, and catches up. */
const following = async <A>({ dataDirectory, to }: Places, every: number, use: () => Promise<A>): Promise<A> => {
  const known = new Set(manifestsIn(to))
  const command = [join(repository, "packages/cli/src/bin.ts"), "backup", "follow", "--to", to, "--every", `${every}`]
  const child = spawn(process.execPath, command, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, MUNIMENT_DATA_DIR: dataDirectory, MUNIMENT_EMBEDDING_MODEL: "none" }
  })
  const ended = once(child, "exit")
  try {
    const deadline = performance.now() + patienceMillis
    while (manifestsIn(to).every((name) => known.has(name))) {
      if (performance.now() > deadline) throw new Error("the backup does not begin")
      await new Promise((wake) => setTimeout(wake, pollMillis))
    }
    return await use()
  } finally {
    child.kill("SIGTERM")
    await ended
  }
}

const manifestsIn = (to: string): ReadonlyArray<string> => {
  const folder = join(to, "manifests")
  return existsSync(folder) ? readdirSync(folder) : []
}

await main()
