/**
 * The longest slice of a server's event loop while something runs (`loopSlices.mjs`): processor time, so a busy machine
 * adds none.
 */
import { join } from "node:path"
import { patienceMillis, repository, type TestServer } from "./TestServer.ts"

/** For the environment of the server. */
export const slicesMeasured = { NODE_OPTIONS: `--import=${join(repository, "test/support/loopSlices.mjs")}` }

/** Milliseconds. */
export const longestSlice = async (server: TestServer, work: () => Promise<unknown>): Promise<number> => {
  await told(server, /slices: measuring/g)
  await work()
  return Number(await told(server, /slices: longest ([\d.]+) ms/g))
}

/** Signals, and waits for the answer; what the pattern captures. */
const told = async (server: TestServer, pattern: RegExp): Promise<string | undefined> => {
  const count = () => [...server.output().matchAll(pattern)].length
  const before = count()
  server.process.kill("SIGUSR2")
  const deadline = Date.now() + patienceMillis
  while (count() === before) {
    if (Date.now() > deadline) throw new Error("the server does not measure its slices")
    await new Promise((wake) => setTimeout(wake, 5))
  }
  return [...server.output().matchAll(pattern)].at(-1)?.[1]
}
