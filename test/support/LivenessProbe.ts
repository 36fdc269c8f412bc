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
  const prober = proberOf(processes)
  const reply = once(prober, "message")
  prober.postMessage("start")
  await reply
  const stop = async (): Promise<ReadonlyArray<Wait>> => {
    const told = once(prober, "message")
    prober.postMessage("stop")
    return (await told)[0]
  }
  try {
    const result = await work()
    return { result, waits: await stop() }
  } catch (cause) {
    await stop()
    throw cause
  }
}

const probers = new WeakMap<ProbedServer["processes"], Worker>()

/** One thread for all probes of a server: its start costs more than most of them. */
const proberOf = (processes: ProbedServer["processes"]): Worker => {
  const known = probers.get(processes)
  if (known !== undefined) return known
  const prober = new Worker(new URL("LivenessProber.ts", import.meta.url), { workerData: processes })
  prober.unref()
  prober.once("exit", () => probers.delete(processes))
  probers.set(processes, prober)
  return prober
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
