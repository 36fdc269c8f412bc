/**
 * A real server for tests: the command line's `serve` in a process of its own, on a free loopback
 * port, with a data directory of its own. Nothing in it is faked; it can be told to stop or killed.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

export const repository = resolve(import.meta.dirname, "../..")
export const operatorKey = "mun_operator_key_for_tests_0123456789abcdef"

/** A cold machine under load needs this long to load the model. */
const startMillisMax = 60_000

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // Tests look into bodies of every shape; what they find there is asserted.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface CallOptions {
  readonly body?: unknown
  /** Sent as it is, whatever it says. */
  readonly rawBody?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Null: no credentials. */
  readonly key?: string | null
}

export interface TestServer {
  readonly url: string
  readonly dataDirectory: string
  readonly operatorToken: string
  readonly process: ChildProcess
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  /** A new account with one key; the secret. */
  readonly newAccount: (name: string, plan?: string) => Promise<string>
  /** SIGTERM, and the exit code. */
  readonly stop: () => Promise<number | null>
  readonly kill: () => Promise<void>
  /** What the process printed so far. */
  readonly output: () => string
}

export interface ServerOptions {
  /** Default: a new directory, removed by `stop`. */
  readonly dataDirectory?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Words before `node`, for instance to run it in a namespace of its own. */
  readonly wrapper?: ReadonlyArray<string>
}

export const startServer = async (options: ServerOptions = {}): Promise<TestServer> => {
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), "muniment-test-"))
  const port = await freePort()
  const [command = process.execPath, ...wrapperArguments] = [...(options.wrapper ?? []), process.execPath]
  const child = spawn(command, [...wrapperArguments, join(repository, "packages/cli/src/bin.ts"), "serve"], {
    cwd: repository,
    env: {
      ...process.env,
      MUNIMENT_PORT: String(port),
      MUNIMENT_DATA_DIR: dataDirectory,
      MUNIMENT_BOOTSTRAP_KEY: operatorKey,
      // Tests of money turn these back to what users have.
      MUNIMENT_RATE_LIMITS: "off",
      MUNIMENT_MONTHLY_ALLOWANCE: "1000000",
      MUNIMENT_MODELS_DIR: process.env["MUNIMENT_MODELS_DIR"] ?? join(repository, "models"),
      ...options.environment
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  const collect = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout?.on("data", collect)
  child.stderr?.on("data", collect)
  const exited = once(child, "exit")
  const url = `http://127.0.0.1:${port}`
  await untilReady(url, child, () => output)

  const call = async (
    method: string,
    path: string,
    { body, rawBody, headers, key = operatorKey }: CallOptions = {}
  ): Promise<Answer> => {
    const hasBody = body !== undefined || rawBody !== undefined
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(hasBody && { "content-type": "application/json" }),
        ...headers
      },
      ...(hasBody && { body: rawBody ?? JSON.stringify(body) })
    })
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
  const operatorToken = () => readFileSync(join(dataDirectory, "operator-token"), "utf8").trim()
  const ended = async () => {
    await exited
    if (options.dataDirectory === undefined) rmSync(dataDirectory, { recursive: true, force: true })
  }

  return {
    url,
    dataDirectory,
    operatorToken: existsSync(join(dataDirectory, "operator-token")) ? operatorToken() : "",
    process: child,
    call,
    newAccount: async (name, plan = "free") => {
      const made = await call("POST", "/admin/keys", { key: operatorToken(), body: { account: name, plan } })
      if (made.status !== 200) throw new Error(`no account: ${JSON.stringify(made.body)}`)
      return made.body.secret
    },
    stop: async () => {
      child.kill("SIGTERM")
      await ended()
      return child.exitCode
    },
    kill: async () => {
      child.kill("SIGKILL")
      await ended()
    },
    output: () => output
  }
}

/** A port that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}

const untilReady = async (url: string, child: ChildProcess, output: () => string): Promise<void> => {
  const deadline = Date.now() + startMillisMax
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}:\n${output()}`)
    if (Date.now() > deadline) throw new Error(`the server did not start:\n${output()}`)
    const isReady = await fetch(`${url}/health/ready`).then(
      async (response) => {
        const { checks } = (await response.json()) as { checks: { embedding: { state: string } } }
        return response.ok && checks.embedding.state !== "loading"
      },
      () => false
    )
    if (isReady) return
    await new Promise((wake) => setTimeout(wake, 20))
  }
}
