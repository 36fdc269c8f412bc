/**
 * Probe of how long the server lets a trivial request wait while it works on something else: `/health/live` again and
 * again, from a thread of its own, so that what the test itself computes is not measured. Time in which the server's
 * main thread or the prober waited for a processor does not count (`LivenessProber.ts`), so a busy machine adds none.
 * What is over the bound is tried again: an input that blocks does so every time. Of a cluster every node is asked in
 * turn, so that each wait is one node's and that of the one that runs the request layer.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { Wait } from "./LivenessProber.ts"
import type { TestServer } from "./TestServer.ts"

export const blockedMillisMax = 250
const attemptsMax = 4

export type ProbedServer = Pick<TestServer, "processes">

export interface Probed<A> {
  readonly result: A
  /** In the order of time. */
  readonly waits: ReadonlyArray<Wait>
}

export const whileProbing = async <A>({ processes }: ProbedServer, work: () => Promise<A>): Promise<Probed<A>> => {
  const prober = new Worker(new URL("LivenessProber.ts", import.meta.url), { workerData: processes })
  await once(prober, "message")
  try {
    const result = await work()
    prober.postMessage("stop")
    const [waits] = await once(prober, "message")
    return { result, waits }
  } finally {
    await prober.terminate()
  }
}

export const longestMillis = (waits: ReadonlyArray<Wait>): number =>
  waits.reduce((longest, { millis }) => Math.max(longest, millis), 0)

/** The last result of `work`, which blocked nobody at least once in `attemptsMax` times. */
export const withoutBlocking = async <A>(server: ProbedServer, work: () => Promise<A>): Promise<A> => {
  const longest: Array<number> = []
  while (longest.length < attemptsMax) {
    const { result, waits } = await whileProbing(server, work)
    longest.push(longestMillis(waits))
    if (longestMillis(waits) < blockedMillisMax) return result
  }
  throw new Error(`every attempt blocked the server: ${longest.map(Math.round).join(", ")} ms`)
}
