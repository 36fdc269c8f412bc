/**
 * Runs the commands of a Markdown page as a reader would: the fenced `sh` and `ts` blocks, in their order, in one shell
 * with a directory of its own, against a real service. What the page calls the default address, the key and an npm script
 * is replaced by the test's address, its key and what package.json says of the script; everything else is run as written.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openToPostgres } from "./clusterEnvironment.ts"
import { freePort, repository } from "./TestServer.ts"

export interface DocumentBlock {
  readonly file: string
  readonly line: number
  readonly language: string
  readonly text: string
  /** Why it cannot run in a test; written in the block's first line. */
  readonly notTested: string | undefined
  /** The page asks for a terminal of its own. */
  readonly terminal: number | undefined
}

/** All fenced blocks of a page. */
export const blocksOf = (file: string): ReadonlyArray<DocumentBlock> => {
  const page = readFileSync(join(repository, file), "utf8")
  return Array.from(
    page.matchAll(/^```(\w*)[^\n]*\n([\s\S]*?)^```$/gm),
    ({ 1: language = "", 2: text = "", index }) => ({
      file,
      line: page.slice(0, index).split("\n").length,
      language,
      text,
      notTested: /^# not tested: (.+)\n/.exec(text)?.[1],
      terminal: Number(/^# terminal (\d)/.exec(text)?.[1] ?? 0) || undefined
    })
  )
}

export const scripts = (
  JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>
  }
).scripts

/** `npm run --silent NAME -- ...` as npm runs it, from any directory. */
const withoutNpm = (text: string): string =>
  text.replace(/npm (?:run (?:--silent )?)?(start|[\w:]+)(?: --(?= ))?/g, (command, name: string) => {
    const script = scripts[name]
    return script === undefined ? command : script.replace(/^node (\S+)/, `"${process.execPath}" "${repository}/$1"`)
  })

export interface DocumentService {
  readonly url: string
  readonly key: string
  readonly dataDirectory: string
}

const chainOptions = " --evm-port 0 --solana-port 0"
const readyMillisMax = 240_000

/** A reader at the keyboard. */
export class DocumentReader {
  readonly #directory = mkdtempSync(join(tmpdir(), "muniment-page-"))
  readonly #terminals = new Map<number, Terminal>()
  #service: DocumentService
  #blocks = 0

  constructor(service: DocumentService) {
    this.#service = service
    // So that a module in this directory imports what a module of the repository can import.
    symlinkSync(join(repository, "node_modules"), join(this.#directory, "node_modules"))
  }

  /** What the block printed; throws when it fails. */
  async run(block: DocumentBlock): Promise<string> {
    if (block.language === "ts") return this.#runModule(block)
    if (/^npm run devchains$/m.test(block.text)) return this.#startChains(block)
    if (/^npm start$/m.test(block.text)) return this.#startService(block)
    if (/^npm run cluster$/m.test(block.text)) return this.#startCluster(block)
    return this.#terminal(0).run(this.#asRun(block.text))
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#terminals.values(), (terminal) => terminal.close()))
    rmSync(this.#directory, { recursive: true, force: true })
  }

  /** The shell that waits for the next command; others hold a program that goes on. */
  #terminal(number: number): Terminal {
    const open = this.#terminals.get(number)
    if (open !== undefined) return open
    const terminal = new Terminal(this.#directory, {
      ...process.env,
      MUNIMENT_DATA_DIR: this.#service.dataDirectory,
      MUNIMENT_PORT: new URL(this.#service.url).port,
      MUNIMENT_MODELS_DIR: process.env["MUNIMENT_MODELS_DIR"] ?? join(repository, "models")
    })
    this.#terminals.set(number, terminal)
    return terminal
  }

  #asRun(text: string): string {
    return withoutNpm(text)
      .replaceAll("http://127.0.0.1:8787", this.#service.url)
      .replaceAll("mun_...", this.#service.key)
  }

  async #runModule({ text }: DocumentBlock): Promise<string> {
    const file = `block-${++this.#blocks}.mts`
    writeFileSync(join(this.#directory, file), this.#asRun(text))
    return this.#terminal(0).run(`"${process.execPath}" ${file}`)
  }

  async #startChains({ terminal = 1, text }: DocumentBlock): Promise<string> {
    const command = withoutNpm(text).trimEnd() + chainOptions
    return this.#terminal(terminal).start(command, "Ctrl-C stops both chains.")
  }

  async #startCluster({ terminal = 1, text }: DocumentBlock): Promise<string> {
    openToPostgres(this.#directory)
    return this.#terminal(terminal).start(withoutNpm(text), "Ctrl-C stops all.")
  }

  /** The reader has pasted the settings that the chains printed. From here on the page means this service. */
  async #startService({ terminal = 2, text }: DocumentBlock): Promise<string> {
    const printed =
      this.#terminals
        .get(1)
        ?.output()
        .match(/^ +export .+$/gm) ?? []
    const dataDirectory = join(this.#directory, "data")
    mkdirSync(dataDirectory)
    this.#service = { ...this.#service, dataDirectory, url: `http://127.0.0.1:${await freePort()}` }
    await this.#terminals.get(0)?.close()
    this.#terminals.delete(0)
    return this.#terminal(terminal).start([...printed, withoutNpm(text)].join("\n"), "Muniment is ready")
  }
}

/** One bash; a command that fails ends it. */
class Terminal {
  readonly #shell: ChildProcessWithoutNullStreams
  readonly #directory: string
  #output = ""
  #commands = 0

  constructor(directory: string, environment: NodeJS.ProcessEnv) {
    this.#directory = directory
    // A group of its own, so that a program that goes on ends with it.
    this.#shell = spawn("bash", ["-euo", "pipefail"], { cwd: directory, env: environment, detached: true })
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.#output += chunk.toString()
      })
    }
  }

  output(): string {
    return this.#output
  }

  /** What the commands printed, to both outputs; throws when one fails. */
  async run(commands: string): Promise<string> {
    const done = `done-${++this.#commands}`
    const printed = await this.#until(`${this.#sourced(commands)}\necho; echo ${done}\n`, `\n${done}\n`)
    return printed.slice(0, -done.length - 2)
  }

  /** Leaves the program running once it has printed `ready`. */
  start(commands: string, ready: string): Promise<string> {
    this.#commands++
    return this.#until(`${this.#sourced(commands)}\n`, ready)
  }

  async close(): Promise<void> {
    const { pid } = this.#shell
    if (pid === undefined || this.#shell.exitCode !== null || this.#shell.signalCode !== null) return
    const ended = once(this.#shell, "exit")
    process.kill(-pid, "SIGTERM")
    this.#shell.stdin.end()
    await ended
  }

  /** From a file, since a program that reads standard input would take the commands after it. */
  #sourced(commands: string): string {
    const file = join(this.#directory, `terminal-${this.#shell.pid}-${this.#commands}.sh`)
    writeFileSync(file, commands)
    return `. '${file}' < /dev/null`
  }

  async #until(input: string, mark: string): Promise<string> {
    const from = this.#output.length
    this.#shell.stdin.write(input)
    const deadline = Date.now() + readyMillisMax
    for (;;) {
      const printed = this.#output.slice(from)
      if (printed.includes(mark)) return printed
      if (this.#shell.exitCode !== null) throw new Error(`a command failed (${this.#shell.exitCode}):\n${printed}`)
      if (Date.now() > deadline) throw new Error(`no "${mark.trim()}" within ${readyMillisMax} ms:\n${printed}`)
      await new Promise((wake) => setTimeout(wake, 10))
    }
  }
}
