/**
 * Thousands of namespaces with a few memories each: what writing the first ones costs, a search in a
 * namespace that has to be opened, one in a namespace that is open, and what all that holds in
 * memory and descriptors. No more than `Limits.openNamespacesMax` are open at once.
 */
import { readdirSync } from "node:fs"
import { Limits } from "@muniment/domain/Limits"
import { quantile } from "../kit/Measure.ts"
import { namespaceKey, openEngine, type EngineUnderTest } from "./EngineUnderTest.ts"
import { Memories } from "./Memories.ts"

export interface NamespacesResult {
  readonly namespaces: number
  readonly createdPerSecond: number
  readonly coldP50Millis: number
  readonly coldP99Millis: number
  readonly openP50Millis: number
  readonly openP99Millis: number
  readonly closeMillis: number
  /** Growth of the resident set, with as many open as may be. */
  readonly mebibytes: number
  /** Undefined where the system does not report it. */
  readonly descriptors: number | undefined
}

const memoriesEach = 3
const bytesPerMebibyte = 1_048_576
const creatorsAtOnce = 8
const sampled = 500

export const measureNamespaces = async (namespaces: number): Promise<NamespacesResult> => {
  const memories = new Memories()
  const writing = await openEngine()
  const keys = Array.from({ length: namespaces }, (_, at) => namespaceKey(`many${at}`))
  const given = keys.map((key, at) =>
    Array.from({ length: memoriesEach }, (_, each) => memories.memory(at * memoriesEach + each, key.agentId))
  )
  const from = performance.now()
  let next = 0
  const creator = async () => {
    for (let at = next++; at < namespaces; at = next++) {
      await writing.ask(keys[at]!, { _tag: "StoreMemories", memories: given[at]!, idempotency: undefined })
    }
  }
  await Promise.all(Array.from({ length: creatorsAtOnce }, creator))
  const createdPerSecond = (namespaces * 1_000) / (performance.now() - from)
  // A new engine on the same files: every first search opens a namespace.
  await writing.stop()
  const reading = await openEngine({ directory: writing.directory })
  const before = process.memoryUsage.rss()
  const search = async (at: number) => {
    const number = at * memoriesEach
    const started = performance.now()
    const hits = await reading.search(keys[at]!, { text: memories.text(number), vector: memories.vector(number) })
    const millis = performance.now() - started
    if (hits[0]?.memory.id !== given[at]![0]!.record.id) throw new Error(`namespace ${at} does not find its memory`)
    return millis
  }
  const cold: Array<number> = []
  for (let at = 0; at < namespaces; at++) cold.push(await search(at))
  const open: Array<number> = []
  const isOpenFrom = Math.max(0, namespaces - Math.min(sampled, Limits.openNamespacesMax))
  for (let at = isOpenFrom; at < namespaces; at++) open.push(await search(at))
  const mebibytes = (process.memoryUsage.rss() - before) / bytesPerMebibyte
  const descriptors = openDescriptors()
  const closeMillis = await closed(reading)
  await writing.close()
  return {
    namespaces,
    createdPerSecond,
    coldP50Millis: quantile(cold, 0.5),
    coldP99Millis: quantile(cold, 0.99),
    openP50Millis: quantile(open, 0.5),
    openP99Millis: quantile(open, 0.99),
    closeMillis,
    mebibytes,
    descriptors
  }
}

const closed = async (engine: EngineUnderTest): Promise<number> => {
  const from = performance.now()
  await engine.close()
  return performance.now() - from
}

const openDescriptors = (): number | undefined => {
  try {
    return readdirSync("/proc/self/fd").length
  } catch {
    // Only Linux reports it.
    return undefined
  }
}
