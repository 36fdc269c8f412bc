/**
 * The longest slice of a server's event loop while something runs (`loopSlices.mjs`), in processor time: other processes
 * add to it only what they take of a core that is shared.
 */
import { join } from "node:path"
import { patienceMillis, repository, type TestServer } from "./TestServer.ts"

/** For the environment of the server. */
export const slicesMeasured = { NODE_OPTIONS: `--import=${join(repository, "test/support/loopSlices.mjs")}` }

/** Milliseconds of the fixed work where nobody else wants the processor. */
const fixedWorkMillis = 60

/** Milliseconds, less what the fixed work took more than on a free processor. */
export const longestSlice = async (server: TestServer, work: () => Promise<unknown>): Promise<number> => {
  await told(server, /slices: measuring/g)
  await work()
  const [longest, fixed] = await told(server, /slices: longest ([\d.]+) ms, fixed work ([\d.]+) ms/g)
  return Number(longest) / Math.max(1, Number(fixed) / fixedWorkMillis)
}

/** Signals, and waits for the answer; what the pattern captures. */
const told = async (server: TestServer, pattern: RegExp): Promise<ReadonlyArray<string>> => {
  const count = () => [...server.output().matchAll(pattern)].length
  const before = count()
  server.process.kill("SIGUSR2")
  const deadline = Date.now() + patienceMillis
  while (count() === before) {
    if (Date.now() > deadline) throw new Error("the server does not measure its slices")
    await new Promise((wake) => setTimeout(wake, 5))
  }
  return [...server.output().matchAll(pattern)].at(-1)?.slice(1) ?? []
}
