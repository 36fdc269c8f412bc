/**
 * The server under test: the command line's `serve` in a process of its own, and what the system says
 * of that process: processor time by thread, resident memory, sizes of its files.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { join, resolve } from "node:path"

const repository = resolve(import.meta.dirname, "../..")
const startMillisMax = 120_000
const pollMillis = 25
/** Linux counts processor time in ticks of this length on every platform Node runs on. */
const tickMillis = 10

export const benchKey = "mun_bench_key_0123456789abcdefghijklmnop"

export interface ServerOptions {
  readonly dataDirectory: string
  readonly environment?: Readonly<Record<string, string>>
  /** Folder for V8 processor profiles, written when the server stops. */
  readonly profileDirectory?: string | undefined
}

/** Processor time since the process began, in milliseconds. */
export interface ProcessorTime {
  readonly mainMillis: number
  /** Embedding, validation, libuv's threads, garbage collection. */
  readonly otherMillis: number
}

export class BenchServer {
  readonly port: number
  readonly dataDirectory: string
  /** From the spawn to the first ready answer. */
  readonly startMillis: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number, dataDirectory: string, startMillis: number) {
    this.#child = child
    this.port = port
    this.dataDirectory = dataDirectory
    this.startMillis = startMillis
  }

  static async start(options: ServerOptions): Promise<BenchServer> {
    const port = await freePort()
    const startedMillis = performance.now()
    const profiling =
      options.profileDirectory === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profileDirectory}`]
    const child = spawn(process.execPath, [...profiling, join(repository, "packages/cli/src/bin.ts"), "serve"], {
      cwd: repository,
      env: {
        ...process.env,
        MUNIMENT_PORT: String(port),
        MUNIMENT_DATA_DIR: options.dataDirectory,
        MUNIMENT_BOOTSTRAP_KEY: benchKey,
        MUNIMENT_LOG_LEVEL: "Warn",
        ...options.environment
      },
      stdio: ["ignore", "ignore", "inherit"]
    })
    // A bench that fails must not leave a server behind.
    process.once("exit", () => child.kill("SIGKILL"))
    await untilReady(port, child)
    return new BenchServer(child, port, options.dataDirectory, performance.now() - startedMillis)
  }

  /** Ends it as an operator would; milliseconds it took. */
  async stop(): Promise<number> {
    const startedMillis = performance.now()
    const exited = once(this.#child, "exit")
    this.#child.kill("SIGTERM")
    await exited
    if (this.#child.exitCode !== 0) throw new Error(`the server ended with ${this.#child.exitCode}`)
    return performance.now() - startedMillis
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await exited
  }

  /** Zeros where the system has no /proc. */
  processorTime(): ProcessorTime {
    const { pid } = this.#child
    try {
      const threads = readdirSync(`/proc/${pid}/task`)
      const millis = (thread: string) => ticksOf(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")) * tickMillis
      const mainMillis = millis(String(pid))
      return { mainMillis, otherMillis: threads.reduce((sum, thread) => sum + millis(thread), 0) - mainMillis }
    } catch {
      return { mainMillis: 0, otherMillis: 0 }
    }
  }

  /** Milliseconds that the main thread was ready to run and had to wait for a processor; zero where nobody counts them. */
  queuedMillis(): number {
    try {
      const { pid } = this.#child
      const [, waitedNanos = "0"] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")
      return Number(waitedNanos) / 1e6
    } catch {
      return 0
    }
  }

  /** Waits until the main thread has nothing to do: graphs are built. */
  async untilIdle(): Promise<void> {
    for (let before = this.processorTime().mainMillis; ;) {
      await new Promise((wake) => setTimeout(wake, 1_000))
      const now = this.processorTime().mainMillis
      if (now - before <= 50) return
      before = now
    }
  }

  /** Bytes by kind of file. */
  fileSizes(): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>()
    for (const entry of readdirSync(this.dataDirectory, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const isNamespace = entry.parentPath.endsWith("namespaces")
      const kind = isNamespace ? `namespaces/*${entry.name.slice(entry.name.indexOf("."))}` : entry.name
      sizes.set(kind, (sizes.get(kind) ?? 0) + statSync(join(entry.parentPath, entry.name)).size)
    }
    return sizes
  }
}

/** User and system time are fields 14 and 15; the name before them may hold spaces. */
const ticksOf = (stat: string): number => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return Number(fields[11]) + Number(fields[12])
}

const untilReady = async (port: number, child: ChildProcess): Promise<void> => {
  const deadline = performance.now() + startMillisMax
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error("the server did not start")
    const isReady = await fetch(`http://127.0.0.1:${port}/health/ready`).then(
      async (response) => {
        const { checks } = (await response.json()) as { readonly checks: { readonly embedding: { state: string } } }
        return response.ok && checks.embedding.state !== "loading"
      },
      () => false
    )
    if (isReady) return
    await new Promise((wake) => setTimeout(wake, pollMillis))
  }
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
