/**
 * The service under test: the command line's `serve` in a process of its own on a data directory of
 * its own, with the sizes of its files.
 */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { ChildServer, repository, started } from "./ChildServer.ts"

export const benchKey = "mun_bench_key_0123456789abcdefghijklmnop"

const idlePollMillis = 1_000
/** Processor time of a poll below which the main thread counts as idle. */
const idleMillisMax = 50

export interface ServerOptions {
  readonly dataDirectory: string
  /** Whose source is run; default this one. */
  readonly checkout?: string | undefined
  readonly environment?: Readonly<Record<string, string>>
  /** Folder for V8 processor profiles, written when the server stops. */
  readonly profileDirectory?: string | undefined
  /** Modules that are loaded before the service. */
  readonly preload?: ReadonlyArray<string>
  /** As in `ChildOptions`. */
  readonly processors?: string | undefined
}

export class BenchServer extends ChildServer {
  readonly dataDirectory: string

  private constructor(process: Awaited<ReturnType<typeof started>>, dataDirectory: string) {
    super(process.child, process.port, process.startMillis)
    this.dataDirectory = dataDirectory
  }

  static async start(options: ServerOptions): Promise<BenchServer> {
    const profiling =
      options.profileDirectory === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profileDirectory}`]
    const preload = (options.preload ?? []).flatMap((path) => ["--import", path])
    const process = await started({
      processors: options.processors,
      arguments: [...profiling, ...preload, join(options.checkout ?? repository, "packages/cli/src/bin.ts"), "serve"],
      environment: (port) => ({
        MUNIMENT_PORT: String(port),
        MUNIMENT_DATA_DIR: options.dataDirectory,
        MUNIMENT_BOOTSTRAP_KEY: benchKey,
        MUNIMENT_LOG_LEVEL: "Warn",
        ...options.environment
      }),
      isReady
    })
    return new BenchServer(process, options.dataDirectory)
  }

  override async stop(): Promise<number> {
    const millis = await super.stop()
    if (this.exitCode !== 0) throw new Error(`the server ended with ${this.exitCode}`)
    return millis
  }

  /** Waits until the main thread has nothing to do: graphs are built. */
  async untilIdle(): Promise<void> {
    for (let before = this.processorTime().mainMillis; ;) {
      await new Promise((wake) => setTimeout(wake, idlePollMillis))
      const now = this.processorTime().mainMillis
      if (now - before <= idleMillisMax) return
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
      const size = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0
      sizes.set(kind, (sizes.get(kind) ?? 0) + size)
    }
    return sizes
  }
}

/** Not before its model is there: a search without it would be by words alone. */
const isReady = async (port: number): Promise<boolean> => {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`)
  const { checks } = (await response.json()) as { readonly checks: { readonly embedding: { state: string } } }
  return response.ok && checks.embedding.state !== "loading"
}
