/**
 * Questions with the memories that they should find, asked by one configuration or two, and the runs before. Questions
 * are kept as feedback with the memories, which they go with; runs in this browser, as figures and ids: no question and
 * no memory outlives its erasure here.
 */
import { patiently } from "./exporting.ts"
import { allOf, searched } from "./knowledge.ts"
import { type Found, giveFeedback, type Memory, systemText } from "./memories.ts"
import { account } from "./route.ts"
import { parsed } from "./json.ts"
import { session } from "./session.ts"
import { erasedSubject } from "./undo.ts"

/** A question within an agent and a subject, and the memories that were of use for it. */
export interface Case {
  readonly query: string
  readonly agentId: string | undefined
  readonly subjectId: string | undefined
  readonly expected: ReadonlyArray<string>
}

/** The questions of a set: those whose expected memory is so. */
export interface QuestionSet {
  readonly agentId: string
  readonly subjectId: string
  readonly tags: string
}

export interface Configuration {
  readonly recall: "" | "fast" | "strict"
  readonly rerank: "" | "model"
  readonly include: "" | "extracted" | "messages"
}

export const usual: Configuration = { recall: "", rerank: "", include: "" }

export interface Asked extends Case {
  /** By configuration: place of the first expected memory among the hits; 0: none is there. */
  readonly places: ReadonlyArray<number>
}

const memoriesMax = 1_000
export const casesMax = 200
export const hitsAsked = 10

export const keyOf = ({ agentId, query, subjectId }: Case): string => JSON.stringify([query, agentId, subjectId])

const casesOf = (memories: ReadonlyArray<Memory>): ReadonlyArray<Case> => {
  const cases = new Map<string, Case>()
  for (const memory of memories) {
    const agentId = systemText(memory, "agentId")
    const subjectId = systemText(memory, "subjectId")
    for (const { query, useful } of memory.feedback ?? []) {
      if (query === undefined || !useful) continue
      const one = { query, agentId, subjectId, expected: [memory.id] }
      const known = cases.get(keyOf(one))
      cases.set(keyOf(one), known === undefined ? one : { ...known, expected: [...known.expected, memory.id] })
    }
  }
  return [...cases.values()]
}

/** The first so many. */
export const questionsOf = async (set: QuestionSet, signal: AbortSignal): Promise<ReadonlyArray<Case>> => {
  const { memories } = await allOf({ feedback: "useful", ...set }, memoriesMax, signal)
  return casesOf(memories).slice(0, casesMax)
}

/** How far a run is. */
export interface Progress {
  readonly done: number
  /** Seconds until the service takes the next call; undefined: it goes on. */
  readonly waits?: number
}

/** One after the other, and as slowly as the plan wants it: a run takes no more of the service than one caller. */
export const askAll = async (
  cases: ReadonlyArray<Case>,
  configurations: ReadonlyArray<Configuration>,
  signal: AbortSignal,
  tell: (progress: Progress) => void
): Promise<ReadonlyArray<Asked>> => {
  const asked: Array<Asked> = []
  for (const one of cases) {
    const places: Array<number> = []
    for (const configuration of configurations) {
      const ask = () => placeOf(one, configuration, signal)
      places.push(await patiently(ask, (waits) => tell({ done: asked.length, waits }), signal))
    }
    asked.push({ ...one, places })
    tell({ done: asked.length })
  }
  return asked
}

const placeOf = async (one: Case, configuration: Configuration, signal: AbortSignal): Promise<number> => {
  const { agentId, query, subjectId } = one
  const { memories } = await searched<Found>({ query, agentId, subjectId, limit: hitsAsked, ...configuration }, signal)
  return memories.findIndex(({ id }) => one.expected.includes(id)) + 1
}

/** Figures of one configuration: shares of the questions, and the mean reciprocal rank. */
export interface Figures {
  readonly first: number
  readonly firstThree: number
  readonly firstTen: number
  readonly reciprocalRank: number
}

export const figuresOf = (asked: ReadonlyArray<Asked>, at: number): Figures => {
  const places = asked.map(({ places: all }) => all[at] ?? 0)
  const within = (most: number): number =>
    places.filter((place) => place > 0 && place <= most).length / Math.max(1, places.length)
  const ranks = places.reduce((sum, place) => sum + (place === 0 ? 0 : 1 / place), 0)
  return {
    first: within(1),
    firstThree: within(3),
    firstTen: within(hitsAsked),
    reciprocalRank: ranks / Math.max(1, places.length)
  }
}

export interface PastRun {
  readonly at: number
  readonly set: QuestionSet
  readonly configuration: Configuration
  readonly questions: number
  readonly figures: Figures
  /** By question, without its words. */
  readonly places: Readonly<Record<string, number>>
}

const runsMax = 200
/** An operator's is of the account that is looked at. */
const storageKey = (): string => `muniment.runs.${session.value?.account ?? account.value}`

export const pastRuns = (): ReadonlyArray<PastRun> => {
  const runs = parsed(localStorage.getItem(storageKey()) ?? "[]")
  return Array.isArray(runs) ? (runs as ReadonlyArray<PastRun>) : []
}

export const forgetRuns = (): void => localStorage.removeItem(storageKey())

/** What is erased leaves no set of questions that names it. */
erasedSubject.subscribe((erased) => {
  if (erased === undefined) return
  const left = pastRuns().filter(({ set }) => set.subjectId !== erased.subjectId)
  localStorage.setItem(storageKey(), JSON.stringify(left))
})

export const keepRuns = (runs: ReadonlyArray<PastRun>): void => {
  const all = [...pastRuns(), ...runs].slice(-runsMax)
  // A full store of the browser keeps no further run.
  try {
    localStorage.setItem(storageKey(), JSON.stringify(all))
  } catch {
    localStorage.setItem(storageKey(), JSON.stringify(all.slice(-runs.length)))
  }
}

/** Its expected memory, and a number that its words give. */
export const nameOf = ({ expected, query }: Case): string => {
  let number = 7
  for (const sign of query) number = (Math.imul(number, 31) + (sign.codePointAt(0) ?? 0)) >>> 0
  return `${expected[0]} ${number}`
}

const isSame = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Oldest first. */
export const runsOf = (set: QuestionSet, configuration: Configuration): ReadonlyArray<PastRun> =>
  pastRuns().filter((run) => isSame(run.set, set) && isSame(run.configuration, configuration))

/** By any configuration, newest first. */
export const runsOfSet = (set: QuestionSet): ReadonlyArray<PastRun> =>
  pastRuns()
    .filter((run) => isSame(run.set, set))
    .toReversed()

/** Sets that were run, the last first. */
export const setsRun = (): ReadonlyArray<QuestionSet> => [
  ...new Map(
    pastRuns()
      .toReversed()
      .map(({ set }) => [JSON.stringify(set), set])
  ).values()
]

export const addQuestion = (id: string, query: string): Promise<unknown> => giveFeedback(id, query, true)

/** It is a question no longer: what was said of it stays as not of use. */
export const dropQuestion = async ({ expected, query }: Case): Promise<void> => {
  for (const id of expected) await giveFeedback(id, query, false)
}
