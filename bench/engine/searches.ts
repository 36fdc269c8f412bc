/**
 * A whole search without the encoder: filter, words, meaning, fusion, records; by filter at one size,
 * and unfiltered as the namespace grows. Before the clock runs, answers are verified: every hit
 * passes its filter, and a memory is the best hit of its own words and vector.
 */
import type { MemoryFilter } from "@muniment/domain/Search"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { median, quantile } from "../kit/Measure.ts"
import { fill, namespaceKey, openEngine, type EngineUnderTest } from "./EngineUnderTest.ts"
import { filterCases, Memories, type Question } from "./Memories.ts"

export interface SearchResult {
  readonly name: string
  readonly memories: number
  readonly p50Millis: number
  readonly p99Millis: number
  /** Processor time of one search, of the loop's thread. */
  readonly cpuMillis: number
}

export interface SearchRounds {
  readonly questions: number
  readonly rounds: number
}

const key = namespaceKey("searched")
const verifiedQuestions = 20

/** All filters at each size, in one namespace that grows; sizes ascend. */
export const measureSearches = async (
  sizes: ReadonlyArray<number>,
  { questions: questionCount, rounds }: SearchRounds
): Promise<ReadonlyArray<SearchResult>> => {
  const engine = await openEngine()
  const memories = new Memories()
  const results: Array<SearchResult> = []
  try {
    let filled = 0
    for (const size of sizes) {
      await fill(engine, memories, key, { from: filled, to: size })
      filled = size
      await engine.settled(key)
      const questions = Array.from({ length: questionCount }, (_, at) => memories.question(at, size))
      await verify(engine, memories, questions.slice(0, verifiedQuestions), size)
      for (const { name, filter } of filterCases) {
        results.push(await searched(engine, questions, { name, memories: size, rounds, filter: filter(size) }))
      }
    }
  } finally {
    await engine.close()
  }
  return results
}

const searched = async (
  engine: EngineUnderTest,
  questions: ReadonlyArray<Question>,
  options: { readonly name: string; readonly memories: number; readonly rounds: number; readonly filter: MemoryFilter }
): Promise<SearchResult> => {
  const { filter, memories, name, rounds } = options
  // The first round reads postings from the file, warms the compiler and teaches the index: it is not counted.
  await engine.searchMillis(key, questions, filter)
  await engine.settled(key)
  const millis: Array<number> = []
  const cpu: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const before = process.threadCpuUsage()
    millis.push(...(await engine.searchMillis(key, questions, filter)))
    const { system, user } = process.threadCpuUsage(before)
    cpu.push((user + system) / microsPerMilli / questions.length)
  }
  return {
    name,
    memories,
    p50Millis: quantile(millis, 0.5),
    p99Millis: quantile(millis, 0.99),
    cpuMillis: median(cpu)
  }
}

const microsPerMilli = 1_000

const verify = async (
  engine: EngineUnderTest,
  memories: Memories,
  questions: ReadonlyArray<Question>,
  size: number
) => {
  for (const { filter: filterOf, name } of filterCases) {
    const filter = filterOf(size)
    for (const question of questions) {
      for (const { memory } of await engine.search(key, question, filter)) {
        if (!passes(memory, filter)) throw new Error(`a search with the filter "${name}" found ${memory.id}`)
      }
    }
  }
  for (let at = 0; at < verifiedQuestions; at++) {
    const number = Math.floor((at * size) / verifiedQuestions)
    const [best] = await engine.search(key, { text: memories.text(number), vector: memories.vector(number) })
    if (best?.memory.data["fact"] !== memories.text(number)) throw new Error(`memory ${number} is not its own best hit`)
  }
}

const passes = (memory: MemoryVersion, { eventFrom, eventTo, subjectId, tags }: MemoryFilter): boolean => {
  const at = memory.when === undefined ? Number.NaN : Date.parse(memory.when)
  return (
    (subjectId === undefined || memory.subjectId === subjectId) &&
    (tags === undefined || tags.some((tag) => memory.tags.includes(tag))) &&
    (eventFrom === undefined || at >= eventFrom) &&
    (eventTo === undefined || at <= eventTo)
  )
}
