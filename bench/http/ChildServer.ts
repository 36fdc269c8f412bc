/**
 * A server in a process of its own on a loopback port, with its processor time and resident memory as the system
 * reports them. Every contestant of a bench runs in one, so that none pays for the load generator or for another
 * contestant.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:net"
import { resolve } from "node:path"

export const repository = resolve(import.meta.dirname, "../..")

const startMillisMax = 120_000
const stopMillisMax = 30_000
const pollMillis = 25
/** Of the server's output, shown if it does not start. */
const saidCharactersMax = 2_000
/** Linux counts processor time in ticks of this length on every platform Node runs on. */
const tickMillis = 10
const pageBytes = 4_096

export interface ChildOptions {
  /** Arguments of Node. */
  readonly arguments: ReadonlyArray<string>
  readonly environment: (port: number) => Readonly<Record<string, string>>
  /** True once it takes requests; a rejection means not yet. */
  readonly isReady: (port: number) => Promise<boolean>
  /** Those that it runs on, as `taskset -c` takes them; undefined: all. */
  readonly processors?: string | undefined
}

/** Processor time since the process began, in milliseconds. */
export interface ProcessorTime {
  readonly mainMillis: number
  /** Embedding, validation, libuv's threads, garbage collection. */
  readonly otherMillis: number
}

export class ChildServer {
  readonly port: number
  /** From the spawn to the first ready answer. */
  readonly startMillis: number
  readonly #child: ChildProcess

  protected constructor(child: ChildProcess, port: number, startMillis: number) {
    this.#child = child
    this.port = port
    this.startMillis = startMillis
  }

  static async spawn(options: ChildOptions): Promise<ChildServer> {
    const { child, port, startMillis } = await started(options)
    return new ChildServer(child, port, startMillis)
  }

  /** Ends it as an operator would; milliseconds it took. Killed if it does not end. */
  async stop(): Promise<number> {
    const startedMillis = performance.now()
    const exited = once(this.#child, "exit")
    this.#child.kill("SIGTERM")
    const patience = setTimeout(() => this.#child.kill("SIGKILL"), stopMillisMax)
    await exited
    clearTimeout(patience)
    return performance.now() - startedMillis
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await exited
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  get exitCode(): number | null {
    return this.#child.exitCode
  }

  /** Of the threads that there are, to the nanosecond; zeros where the system has no /proc. */
  processorTime(): ProcessorTime {
    const { pid } = this.#child
    try {
      const threads = readdirSync(`/proc/${pid}/task`)
      const millis = (thread: string) => schedulerMillis(`/proc/${pid}/task/${thread}/schedstat`).ran
      const mainMillis = millis(String(pid))
      return { mainMillis, otherMillis: threads.reduce((sum, thread) => sum + millis(thread), 0) - mainMillis }
    } catch {
      return { mainMillis: 0, otherMillis: 0 }
    }
  }

  /** As `processorMillisOf`. */
  processorMillis(): number {
    return processorMillisOf(this.#child.pid)
  }

  residentBytes(): number {
    try {
      return Number(readFileSync(`/proc/${this.#child.pid}/statm`, "utf8").split(" ")[1]) * pageBytes
    } catch {
      return Number.NaN
    }
  }

  /**
   * Milliseconds that the main thread was ready to run and had to wait for a processor; zero where the system does not
   * count them.
   */
  queuedMillis(): number {
    try {
      return schedulerMillis(`/proc/${this.#child.pid}/task/${this.#child.pid}/schedstat`).waited
    } catch {
      return 0
    }
  }
}

/** For classes that extend a process. */
export const started = async (
  options: ChildOptions
): Promise<{ readonly child: ChildProcess; readonly port: number; readonly startMillis: number }> => {
  const port = await freePort()
  const startedMillis = performance.now()
  const kept = options.processors === undefined ? [] : ["taskset", "-c", options.processors]
  const [command = "", ...words] = [...kept, process.execPath, ...options.arguments]
  const child = spawn(command, words, {
    cwd: repository,
    env: { ...process.env, ...options.environment(port) },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let said = ""
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-saidCharactersMax)))
  // A bench that fails or is interrupted must not leave a server running.
  process.once("exit", () => child.kill("SIGKILL"))
  endOnSignals()
  await untilReady(port, child, options.isReady).catch((cause: unknown) => {
    throw new Error(said === "" ? "the server said nothing" : `the server said: ${said}`, { cause })
  })
  return { child, port, startMillis: performance.now() - startedMillis }
}

let isListening = false
const endOnSignals = (): void => {
  if (isListening) return
  isListening = true
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1))
}

const untilReady = async (port: number, child: ChildProcess, isReady: ChildOptions["isReady"]): Promise<void> => {
  const deadline = performance.now() + startMillisMax
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    if (performance.now() > deadline) {
      child.kill("SIGKILL")
      throw new Error("the server did not start")
    }
    if (await isReady(port).catch(() => false)) return
    await new Promise((wake) => setTimeout(wake, pollMillis))
  }
}

/** Of one thread: on a processor, and ready to run without one. */
const schedulerMillis = (path: string): { readonly ran: number; readonly waited: number } => {
  const [ranNanos = "0", waitedNanos = "0"] = readFileSync(path, "utf8").split(" ")
  return { ran: Number(ranNanos) / 1e6, waited: Number(waitedNanos) / 1e6 }
}

/** Of all threads of a process, the ended ones too, in ticks; 0 where the system has no /proc. */
export const processorMillisOf = (pid: number | undefined): number => {
  try {
    return ticksOf(readFileSync(`/proc/${pid}/stat`, "utf8")) * tickMillis
  } catch {
    return 0
  }
}

/** User and system time are fields 14 and 15; the name before them may hold spaces. */
const ticksOf = (stat: string): number => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return Number(fields[11]) + Number(fields[12])
}

/** A port that was free a moment ago. */
const freePort = async (): Promise<number> => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}
