/**
 * The anvil of this platform's npm package as a child process. It chooses a free port, unless one is given, and
 * reports it. A shell between us and anvil waits on a pipe that only our process holds open: however we end (SIGKILL
 * included), the pipe closes and anvil is killed.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

export interface AnvilProcess {
  readonly rpcUrl: string
  /** Resolves when anvil has exited. A second call waits for the same exit. */
  readonly stop: () => Promise<void>
}

/** This machine cannot run the chain: its platform has no anvil, or npm left out optional packages. */
export class NoLocalChain extends Error {
  override readonly name = "NoLocalChain"
}

const startMillisMax = 10_000
const keptOutputCharsMax = 4_096
const listeningLine = /Listening on 127\.0\.0\.1:(\d+)\s/

// File descriptor 3 is the pipe: a shell gives its background jobs no standard input.
const watchedRun = `exec 3<&0
"$@" 3<&- & anvil=$!
{ read -r nothing <&3; kill -9 $anvil; } >/dev/null 2>&1 &
exec 3<&-
wait $anvil`

export const isEvmChainAvailable = (): boolean => anvilPath() !== undefined

/** `args` go to anvil. Rejects with `NoLocalChain`, or with anvil's output if it exits at once. */
export const startAnvil = (args: ReadonlyArray<string>): Promise<AnvilProcess> => {
  const anvil = anvilPath()
  if (anvil === undefined) {
    const platform = `${process.platform} ${process.arch}`
    return Promise.reject(new NoLocalChain(`no anvil for ${platform}: @foundry-rs/anvil has no package for it here`))
  }
  const child = spawn("sh", ["-c", watchedRun, "sh", anvil, "--host", "127.0.0.1", ...args], {
    stdio: ["pipe", "pipe", "pipe"]
  })
  const ended = new Promise<void>((resolve) => void child.once("close", () => resolve()))
  // The reader has already exited.
  child.stdin.on("error", () => undefined)
  const stop = (): Promise<void> => {
    child.stdin.end()
    return ended
  }
  return new Promise((resolve, reject) => {
    let output = ""
    const fail = (reason: string): void => {
      clearTimeout(deadline)
      void stop()
      reject(new Error(`anvil ${reason}: ${output.trim().slice(-keptOutputCharsMax)}`))
    }
    const deadline = setTimeout(() => fail(`was not ready within ${startMillisMax} ms`), startMillisMax)
    const listen = (chunk: Buffer): void => {
      output += chunk.toString("utf8")
      const port = listeningLine.exec(output)?.[1]
      if (port === undefined) return
      clearTimeout(deadline)
      // Drain the output: a full pipe would block anvil at its next log line.
      child.stdout.off("data", listen).resume()
      resolve({ rpcUrl: `http://127.0.0.1:${port}`, stop })
    }
    child.stdout.on("data", listen)
    child.stderr.on(
      "data",
      (chunk: Buffer) => void (output = (output + chunk.toString("utf8")).slice(-keptOutputCharsMax))
    )
    child.once("error", (cause) => fail(cause.message))
    child.once("exit", (code) => fail(`ended with code ${code}`))
  })
}

const anvilArchitectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" }

const anvilPath = (): string | undefined => {
  // The watcher needs a POSIX shell.
  if (process.platform === "win32") return undefined
  const packageName = `@foundry-rs/anvil-${process.platform}-${anvilArchitectures[process.arch]}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`)
    const path = join(dirname(manifest), "bin", "anvil")
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
