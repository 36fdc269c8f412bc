/**
 * Durable writes a second: one writer, batches of 100, eight and 64 agents at once, and many writers of one agent, where a
 * commit carries the writes that waited during the previous one (group commit).
 *
 * Stores take turns within a round; a rate is the median over the rounds. Memories are made before the clock runs.
 */
import type { PreparedMemory } from "@muniment/engine/namespace/Commands"
import { median, quantile } from "../kit/Measure.ts"
import { Memories } from "./Memories.ts"
import { openWriteStores, verifyStore, type WriteStore } from "./WriteStores.ts"

export interface WriteCase {
  readonly name: string
  /** Callers that wait for their answer before they write again. */
  readonly writers: number
  readonly agents: number
  readonly memoriesPerWrite: number
  readonly writes: number
}

export interface WriteResult {
  readonly name: string
  readonly store: string
  readonly doesSameJob: boolean
  /** Until the last answer. */
  readonly memoriesPerSecond: number
  /** Until all is in the stores' files, too. */
  readonly sustainedPerSecond: number
  /** For each write; undefined: the store does not tell. */
  readonly syncs: number | undefined
  readonly p50Millis: number
  readonly p99Millis: number
}

/** The case whose syncs a write have a goal. */
export const manyAgents = "64 agents, a writer each"

/** Of stores that do less than the whole job. */
const agentsMax = 64
const verified = 5

const cases = (scale: number): ReadonlyArray<WriteCase> => [
  { name: "one writer", writers: 1, agents: 1, memoriesPerWrite: 1, writes: 60 * scale },
  { name: "one writer, batches of 100", writers: 1, agents: 1, memoriesPerWrite: 100, writes: 8 * scale },
  { name: "8 agents, a writer each", writers: 8, agents: 8, memoriesPerWrite: 1, writes: 120 * scale },
  { name: manyAgents, writers: 64, agents: agentsMax, memoriesPerWrite: 1, writes: 320 * scale },
  { name: "one agent, 8 writers", writers: 8, agents: 1, memoriesPerWrite: 1, writes: 160 * scale },
  { name: "one agent, 64 writers", writers: 64, agents: 1, memoriesPerWrite: 1, writes: 640 * scale },
  { name: "500 agents in turn, 8 writers", writers: 8, agents: 500, memoriesPerWrite: 1, writes: 500 * scale }
]

export interface WritesOptions {
  readonly rounds: number
  /** Multiplies the writes. */
  readonly scale: number
  /** Only cases whose names contain this. */
  readonly named: string
}

export const measureWrites = async (options: WritesOptions) => {
  const { stores, notes } = await openWriteStores(agentsMax)
  const source = new MemorySource()
  const results: Array<WriteResult> = []
  try {
    for (const store of stores)
      for (let agent = 0; agent < agentsMax; agent++) await verifyStore(store, agent, source.take(verified, agent))
    for (const writeCase of cases(options.scale).filter(({ name }) => name.includes(options.named))) {
      const rounds = stores.map((): Array<WriteRound> => [])
      const isMeasured = ({ doesSameJob }: WriteStore) => doesSameJob || writeCase.agents <= agentsMax
      for (let round = 0; round < options.rounds; round++) {
        for (let i = 0; i < stores.length; i++) {
          const at = (round + i) % stores.length
          if (isMeasured(stores[at]!)) rounds[at]!.push(await writeRound(stores[at]!, writeCase, source))
        }
      }
      for (const [at, store] of stores.entries())
        if (isMeasured(store)) results.push(resultOf(writeCase, store, rounds[at]!))
    }
  } finally {
    for (const store of stores) await store.close()
  }
  return { results, notes }
}

interface WriteRound {
  readonly memoriesPerSecond: number
  readonly sustainedPerSecond: number
  readonly syncs: number | undefined
  readonly millis: ReadonlyArray<number>
}

const writeRound = async (store: WriteStore, writeCase: WriteCase, source: MemorySource): Promise<WriteRound> => {
  const { agents, memoriesPerWrite, writers, writes } = writeCase
  const work = Array.from({ length: writes }, (_, at) => ({
    agent: at % agents,
    memories: source.take(memoriesPerWrite, at % agents)
  }))
  const millis: Array<number> = []
  let next = 0
  const writer = async (agent: number | undefined) => {
    // With one agent a writer, each writes to its own.
    for (let at = agent ?? next++; at < writes; at = agent === undefined ? next++ : at + agents) {
      const { agent: owner, memories } = work[at]!
      const from = performance.now()
      await store.write(owner, memories)
      millis.push(performance.now() - from)
    }
  }
  const syncsBefore = await store.syncs?.()
  const from = performance.now()
  await Promise.all(Array.from({ length: writers }, (_, at) => writer(agents === writers ? at : undefined)))
  const rate = () => (writes * memoriesPerWrite * 1_000) / (performance.now() - from)
  const memoriesPerSecond = rate()
  const syncsAfter = await store.syncs?.()
  const syncs = syncsBefore === undefined || syncsAfter === undefined ? undefined : (syncsAfter - syncsBefore) / writes
  await store.followed?.()
  return { memoriesPerSecond, sustainedPerSecond: rate(), syncs, millis }
}

const resultOf = ({ name }: WriteCase, store: WriteStore, rounds: ReadonlyArray<WriteRound>): WriteResult => {
  const millis = rounds.flatMap((round) => round.millis)
  const syncs = rounds.flatMap((round) => (round.syncs === undefined ? [] : [round.syncs]))
  return {
    name,
    store: store.name,
    doesSameJob: store.doesSameJob,
    memoriesPerSecond: median(rounds.map(({ memoriesPerSecond }) => memoriesPerSecond)),
    sustainedPerSecond: median(rounds.map(({ sustainedPerSecond }) => sustainedPerSecond)),
    syncs: syncs.length === 0 ? undefined : median(syncs),
    p50Millis: quantile(millis, 0.5),
    p99Millis: quantile(millis, 0.99)
  }
}

/** Memories that are not written yet. */
class MemorySource {
  readonly #memories = new Memories()
  #next = 0

  take(count: number, agent: number): ReadonlyArray<PreparedMemory> {
    return Array.from({ length: count }, () => this.#memories.memory(this.#next++, `agent${agent}`))
  }
}
