/** Processes that a bench or a script starts do not outlive it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, it } from "vitest"

const children = pathToFileURL(resolve(import.meta.dirname, "../../../scripts/cluster/children.ts")).href
/** Its child has its output, which is open until both have ended. */
const script = `
  import { spawn } from "node:child_process"
  import { endWithThisProcess, exitOnSignals } from "${children}"
  exitOnSignals()
  const words = ["-e", "console.log('runs'); setInterval(() => undefined, 1e6)"]
  endWithThisProcess(spawn(process.execPath, words, { stdio: ["ignore", "inherit", "inherit"] }))`

it.each(["SIGINT", "SIGTERM"] as const)("children end with a process that is ended by %s", async (signal) => {
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  await once(parent.stdout, "data")
  parent.stdout.resume()
  const outputEnds = once(parent.stdout, "close")
  parent.kill(signal)
  expect(await once(parent, "exit")).toEqual([1, null])
  await outputEnds
})
