/** A start of the service that is expected to fail: what it prints and its exit code. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { entry, freePort, repository } from "./TestServer.ts"

export interface FailedStart {
  readonly code: number | null
  readonly output: string
}

const startMillisMax = 600_000

export const failingStart = async (
  dataDirectory: string,
  environment: Readonly<Record<string, string>> = {},
  /** Of the command line. */
  file = entry
): Promise<FailedStart> => {
  const port = String(await freePort())
  const child = spawn(process.execPath, [file, "serve"], {
    cwd: repository,
    env: {
      ...process.env,
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_PORT: port,
      MUNIMENT_DATA_DIR: dataDirectory,
      ...environment
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const deadline = setTimeout(() => child.kill("SIGKILL"), startMillisMax)
  const [code] = await once(child, "close")
  clearTimeout(deadline)
  return { code, output }
}
