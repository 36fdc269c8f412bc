/**
 * Searches while a bulk import runs into the same namespace, and where the time of the event loop goes meanwhile.
 *
 * Searches arrive on a schedule and are timed from their scheduled moment, so that a blocked loop counts against every
 * search that was due meanwhile. The imported memories are made beforehand.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { quantile } from "../kit/Measure.ts"
import { fill, memoriesPerBatch, namespaceKey, openEngine, type EngineUnderTest } from "./EngineUnderTest.ts"
import { Memories, type Question } from "./Memories.ts"
import { profileLoop, type ProfileShare } from "./profile.ts"

export interface MixedPhase {
  readonly p50Millis: number
  readonly p99Millis: number
  readonly searches: number
  readonly loopDelayP99Millis: number
}

export interface MixedResult {
  readonly memories: number
  readonly idle: MixedPhase
  readonly importing: MixedPhase
  readonly importedPerSecond: number
  readonly profile: ReadonlyArray<ProfileShare>
}

const key = namespaceKey("mixed")
const searchEveryMillis = 20
const importsInFlight = 2
const nanosPerMilli = 1_000_000
/** How long the loop is watched before and during the import. */
const idleMillis = 4_000

export const measureMixed = async (options: { readonly memories: number; readonly imported: number }) => {
  const engine = await openEngine()
  try {
    const memories = new Memories()
    await fill(engine, memories, key, { from: 0, to: options.memories })
    await engine.settled(key)
    const questions = Array.from({ length: 500 }, (_, at) => memories.question(at, options.memories))
    await engine.searchMillis(key, questions)
    await engine.settled(key)
    const batches = Array.from({ length: options.imported / memoriesPerBatch }, (_, batch) =>
      Array.from({ length: memoriesPerBatch }, (__, at) =>
        memories.memory(options.memories + batch * memoriesPerBatch + at, key.agentId)
      )
    )
    const idle = await watched(engine, questions, () => new Promise((done) => setTimeout(done, idleMillis)))
    let importMillis = 0
    const { result: importing, shares } = await profileLoop(() =>
      watched(engine, questions, async () => {
        const from = performance.now()
        let next = 0
        const importer = async () => {
          for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
            await engine.ask(key, { _tag: "StoreMemories", memories: batch, idempotency: undefined })
          }
        }
        await Promise.all(Array.from({ length: importsInFlight }, importer))
        importMillis = performance.now() - from
      })
    )
    return {
      memories: options.memories,
      idle,
      importing,
      importedPerSecond: (options.imported * 1_000) / importMillis,
      profile: shares
    } satisfies MixedResult
  } finally {
    await engine.close()
  }
}

/** Searches on a schedule while `work` runs. */
const watched = async (
  engine: EngineUnderTest,
  questions: ReadonlyArray<Question>,
  work: () => Promise<unknown>
): Promise<MixedPhase> => {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const millis: Array<number> = []
  const pending: Array<Promise<void>> = []
  const state = { isOver: false }
  const done = work().finally(() => {
    state.isOver = true
  })
  const from = performance.now()
  const search = async (at: number) => {
    await engine.search(key, questions[at % questions.length]!)
    millis.push(performance.now() - (from + at * searchEveryMillis))
  }
  for (let at = 0; !state.isOver;) {
    // Searches that became due while the loop was blocked start in one turn, as they would from sockets.
    for (; from + at * searchEveryMillis <= performance.now(); at++) pending.push(search(at))
    const wait = from + at * searchEveryMillis - performance.now()
    await new Promise((turn) => setTimeout(turn, Math.max(0, wait)))
  }
  await done
  await Promise.all(pending)
  delay.disable()
  return {
    p50Millis: quantile(millis, 0.5),
    p99Millis: quantile(millis, 0.99),
    searches: millis.length,
    loopDelayP99Millis: delay.percentile(99) / nanosPerMilli
  }
}
