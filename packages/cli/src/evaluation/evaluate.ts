/** All cases against each configuration in turn, so that one is not asked in a quieter hour than the other. */
import { Effect } from "effect"
import type { CaseSet } from "./CaseFiles.ts"
import {
  type Configuration,
  type Manner,
  type PlayedCase,
  playCase,
  type PlayedQuestion,
  playQuery
} from "./CasePlay.ts"
import type { Evaluated } from "./Figures.ts"

export const evaluate = Effect.fn("evaluate")(function* (
  { conversations, queries }: CaseSet,
  configurations: ReadonlyArray<Configuration>,
  manner: Manner
) {
  const played = configurations.map(({ name }) => ({
    name,
    cases: new Array<PlayedCase>(),
    queries: new Array<PlayedQuestion>()
  }))
  for (const one of conversations) {
    for (const [at, configuration] of configurations.entries()) {
      const own = { ...manner, run: `${manner.run}-${at + 1}` }
      played[at]!.cases.push(yield* playCase(configuration, one, own))
    }
  }
  for (const query of queries) {
    for (const [at, configuration] of configurations.entries()) {
      played[at]!.queries.push(yield* playQuery(configuration, query, manner))
    }
  }
  return played satisfies ReadonlyArray<Evaluated>
})

/** How often `Manner.onStep` is called in a run. */
export const stepsOf = ({ conversations, queries }: CaseSet, configurations: number): number =>
  configurations * (queries.length + conversations.reduce((sum, { questions }) => sum + questions.length, 0))
