/**
 * The jobs that contestants do in turn, a round at a time, and what each costs: latency seen by the
 * caller, throughput, and processor time of the server. A request that fails ends the suite.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { Running } from "./Contestant.ts"
import { batchSize, subjectOf, type Passage, type Query } from "./Corpus.ts"
import type { Sizes, RoundPlan } from "./Plan.ts"
import { searchStages, type StageTimes } from "./Stages.ts"

export interface Job {
  readonly id: string
  readonly title: string
  /** Memories or searches of one request. */
  readonly perRequest: number
  readonly run: (contestant: Running, round: number) => Promise<Sample>
}

export interface Sample {
  readonly millis: ReadonlyArray<number>
  readonly seconds: number
  readonly processorMillis: number
  readonly stages: StageTimes
}

/** Batches under way at once when nothing else is done. */
export const importCallers = 4
/** While a caller searches, a batch arrives this often: 500 memories a second for every contestant. */
const mixedEveryMillis = 200

/** The first round begins with its imports, so that the rest has something to search. */
export const jobsOf = (
  sizes: Sizes,
  plan: ReadonlyArray<RoundPlan>,
  questions: ReadonlyArray<Query>
): { readonly imports: Job; readonly rounds: ReadonlyArray<Job> } => ({
  imports: {
    id: "batch",
    title: `${batchSize} memories a request, ${importCallers} callers`,
    perRequest: batchSize,
    run: (contestant, round) =>
      sampled(contestant, () => together(plan[round]!.imports, importCallers, contestant.store))
  },
  rounds: [
    ...sizes.singles.map(([callers], at) => ({
      id: `single-${callers}`,
      title: `single memories, ${callersText(callers)}`,
      perRequest: 1,
      run: (contestant: Running, round: number) =>
        sampled(contestant, () =>
          together(plan[round]!.singles[at]!, callers, (passage) => contestant.store([passage]))
        )
    })),
    ...sizes.searches.map(([callers, count]) =>
      searching(`search-${callers}`, `search, ${callersText(callers)}`, callers, (round) =>
        asked(questions, count, round)
      )
    ),
    ...sizes.filtered.map(([callers, count]) =>
      searching(`filter-${callers}`, `search of one subject in ten, ${callersText(callers)}`, callers, (round) =>
        asked(questions, count, round).map((query, at) => ({ ...query, subjectId: subjectOf(at * batchSize) }))
      )
    ),
    mixedJob(plan, questions)
  ]
})

const callersText = (callers: number): string => (callers === 1 ? "1 caller" : `${callers} callers`)

const searching = (
  id: string,
  title: string,
  callers: number,
  queries: (round: number) => ReadonlyArray<Query>
): Job => ({
  id,
  title,
  perRequest: 1,
  run: (contestant, round) => sampled(contestant, () => together(queries(round), callers, contestant.search))
})

/** Of the searches alone; the imports beside them are the load. */
const mixedJob = (plan: ReadonlyArray<RoundPlan>, questions: ReadonlyArray<Query>): Job => ({
  id: "mixed",
  title: `search while ${(1_000 / mixedEveryMillis) * batchSize} memories a second arrive, 1 caller`,
  perRequest: 1,
  run: (contestant, round) =>
    sampled(contestant, async () => {
      const loading = { isOver: false }
      const load = arrive(contestant, plan[round]!.mixed).finally(() => (loading.isOver = true))
      const millis: Array<number> = []
      const all = asked(questions, questions.length, round)
      for (let at = 0; !loading.isOver; at++) {
        const startedMillis = performance.now()
        await contestant.search(all[at % all.length]!)
        millis.push(performance.now() - startedMillis)
      }
      await load
      return millis
    })
})

const arrive = async (contestant: Running, batches: ReadonlyArray<ReadonlyArray<Passage>>): Promise<void> => {
  for (const batch of batches) {
    const startedMillis = performance.now()
    await contestant.store(batch)
    await pause(Math.max(0, mixedEveryMillis - (performance.now() - startedMillis)))
  }
}

/** Another part of the questions each round. */
const asked = (questions: ReadonlyArray<Query>, count: number, round: number): ReadonlyArray<Query> =>
  Array.from({ length: count }, (_, at) => questions[(round * count + at) % questions.length]!)

/** Milliseconds of each call, `callers` of them under way at once. */
export const together = async <Item>(
  items: ReadonlyArray<Item>,
  callers: number,
  call: (item: Item) => Promise<unknown>
): Promise<ReadonlyArray<number>> => {
  const millis: Array<number> = []
  let next = 0
  const caller = async () => {
    for (let at = next++; at < items.length; at = next++) {
      const startedMillis = performance.now()
      await call(items[at]!)
      millis.push(performance.now() - startedMillis)
    }
  }
  await Promise.all(Array.from({ length: Math.min(callers, items.length) }, caller))
  return millis
}

const sampled = async ({ reading, server }: Running, work: () => Promise<ReadonlyArray<number>>): Promise<Sample> => {
  const before = await reading?.()
  const processor = server.processorMillis()
  const startedMillis = performance.now()
  const millis = await work()
  const seconds = (performance.now() - startedMillis) / 1_000
  const processorMillis = server.processorMillis() - processor
  const after = await reading?.()
  return { millis, seconds, processorMillis, stages: searchStages(before, after) }
}
