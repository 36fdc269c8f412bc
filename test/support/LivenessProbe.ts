/**
 * How long the server lets a trivial request wait while it works on something else: `/health/live`
 * again and again on one connection of its own. A busy machine delays a probe too, so what is over
 * the bound is tried again: an input that blocks does so every time.
 */
import { Agent, get } from "node:http"

export const blockedMillisMax = 250
const attemptsMax = 4

export interface Probed<A> {
  readonly result: A
  /** Waits of all probes, milliseconds, ascending. */
  readonly waits: ReadonlyArray<number>
}

export const whileProbing = async <A>(url: string, work: () => Promise<A>): Promise<Probed<A>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const waits: Array<number> = []
  const isOver = { now: false }
  const probing = (async () => {
    while (!isOver.now) waits.push(await probe(url, agent))
  })()
  try {
    const result = await work()
    return { result, waits }
  } finally {
    isOver.now = true
    await probing
    waits.sort((left, right) => left - right)
    agent.destroy()
  }
}

/** The last result of `work`, which blocked nobody at least once in `attemptsMax` times. */
export const withoutBlocking = async <A>(url: string, work: () => Promise<A>): Promise<A> => {
  const longest: Array<number> = []
  while (longest.length < attemptsMax) {
    const { result, waits } = await whileProbing(url, work)
    longest.push(waits.at(-1) ?? 0)
    if ((waits.at(-1) ?? 0) < blockedMillisMax) return result
  }
  throw new Error(`every attempt blocked the server: ${longest.map(Math.round).join(", ")} ms`)
}

const probe = (url: string, agent: Agent): Promise<number> => {
  const startedMillis = performance.now()
  return new Promise((done, refuse) => {
    get(`${url}/health/live`, { agent }, (response) => {
      response.resume()
      response.once("end", () => done(performance.now() - startedMillis))
    }).once("error", refuse)
  })
}
