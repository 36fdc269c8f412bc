/**
 * Cases played against a service as an agent would: a conversation is sent in windows, each read before the next, then
 * its questions are asked by search and by answer. Each conversation has an agent of its own, which is removed afterwards.
 */
import { Clock, Effect } from "effect"
import { type Memory, type Muniment, MunimentError } from "@muniment/client/Muniment"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { type CommandFailed, commandFailed } from "../CommandFailed.ts"
import type { Case, CaseQuestion, QueryCase, CaseFact } from "./CaseFiles.ts"

/** A service, and what is asked of it. */
export interface Configuration {
  readonly name: string
  readonly muniment: Muniment
  /** Parameters of every search and of every request that stores. */
  readonly search: Readonly<Record<string, string>>
  readonly create: Readonly<Record<string, string>>
}

export interface Manner {
  /** Messages of a request, and the new ones among them. */
  readonly window: number
  readonly step: number
  readonly asksAnswers: boolean
  /** Whether what was stored stays. */
  readonly keeps: boolean
  /** Set apart from other runs: part of the names of agents. */
  readonly run: string
  readonly onStep: (what: string) => Effect.Effect<void>
}

export interface PlayedQuestion {
  readonly case: string
  readonly question: string
  readonly type: string
  /** Undefined where nothing is to be found. */
  readonly found: Found | undefined
  readonly searchMillis: number
  readonly answer?: {
    readonly verdict: Verdict
    readonly text: string
    readonly method: string
    readonly millis: number
  }
  /** Context of a conversation's question, where the service hands over contexts. */
  readonly context?: {
    readonly tokens: number
    /** Share of the evidence in it; undefined where nothing is to be found. */
    readonly share: number | undefined
    readonly millis: number
  }
}

/** A memory that was extracted. */
export interface Extracted {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: { readonly tags?: ReadonlyArray<string> }
}

export interface PlayedCase {
  readonly id: string
  readonly kind: string
  readonly questions: ReadonlyArray<PlayedQuestion>
  readonly memories: ReadonlyArray<Extracted>
  readonly facts: { readonly true: number; readonly held: number; readonly false: number; readonly falseHeld: number }
  readonly storeMillis: number
}

const hitsAsked = 10

/** One call of the client, and how long it took. */
const timed = <A>(call: (signal: AbortSignal) => Promise<A>) =>
  Clock.clockWith((clock) => {
    const from = clock.monotonicTimeNanosUnsafe()
    return Effect.map(Effect.tryPromise({ try: call, catch: commandFailed }), (value) => ({
      value,
      millis: Number(clock.monotonicTimeNanosUnsafe() - from) / nanosPerMilli
    }))
  })

const nanosPerMilli = 1e6

/**
 * Fetch gives up after five minutes, which a small machine's model may take for a window. What is sent again is stored
 * once, and waits for the same reading.
 */
const whileRead = { times: 5, while: ({ reason }: CommandFailed) => reason.endsWith("could not be reached") }

export const playCase = Effect.fn("playCase")(function* (configuration: Configuration, one: Case, manner: Manner) {
  const { muniment } = configuration
  const agentId = `eval-${one.id}-${manner.run}`
  const scope = { agentId, subjectId: "user" }
  const play = Effect.gen(function* () {
    const storeMillis = yield* send(configuration, { ...scope, threadId: "thread" }, one, manner)
    const stored = yield* Effect.tryPromise({ try: () => storedBy(muniment, agentId), catch: commandFailed })
    const memories = stored.filter(({ kind }) => kind !== conversationMessageKind)
    const sources = new Map(stored.map(({ id, metadata }) => [id, metadata["sourceMessageIds"]]))
    const questions: Array<PlayedQuestion> = []
    for (const question of one.questions) {
      yield* manner.onStep(one.id)
      const played = yield* askCase(configuration, one, question, scope, manner)
      questions.push({ ...played, ...(yield* contextOf(configuration, one, question, scope, sources)) })
    }
    return { id: one.id, kind: one.kind, questions, memories, facts: factsOf(one, memories), storeMillis }
  })
  const removal = timed((signal) => muniment.batchDelete({ filters: { agentId } }, { signal }))
  return yield* manner.keeps ? play : Effect.ensuring(play, Effect.ignore(removal))
})

const send = Effect.fnUntraced(function* (
  { create, muniment }: Configuration,
  scope: Readonly<Record<"agentId" | "subjectId" | "threadId", string>>,
  { messages }: Case,
  { step, window }: Manner
) {
  let millis = 0
  for (let end = step; end < messages.length + step; end += step) {
    const to = Math.min(end, messages.length)
    const conversation = messages.slice(Math.max(0, to - window), to)
    const body = { ...scope, ...create, conversation, wait: ["vectors", "extraction"] as const }
    const stored = yield* timed((signal) => muniment.create(body, { signal })).pipe(Effect.retry(whileRead))
    millis += stored.millis
  }
  return millis
})

const askCase = Effect.fnUntraced(function* (
  { muniment, search }: Configuration,
  one: Case,
  question: CaseQuestion,
  scope: Readonly<Record<"agentId" | "subjectId", string>>,
  { asksAnswers }: Manner
) {
  const asked = { ...scope, ...search, query: question.q, now: one.asked, timeZone: one.timeZone }
  const hits = yield* timed((signal) => muniment.search({ ...asked, limit: hitsAsked }, { signal }))
  const evidence = question.evidence ?? []
  const holds = hits.value.memories.map(({ metadata }) => indexesOf(evidence, metadata["sourceMessageIds"]))
  const played = {
    case: one.id,
    question: question.q,
    type: question.type,
    found: foundOf(evidence.length, holds),
    searchMillis: hits.millis
  }
  if (!asksAnswers) return played
  const said = yield* timed((signal) => muniment.search({ ...asked, mode: "answer" }, { signal }))
  const { answer: text, method } = said.value
  return { ...played, answer: { verdict: verdictOf(question, said.value), text, method, millis: said.millis } }
})

/** `sources`: the messages that each memory is or was extracted from. An older service has no contexts. */
const contextOf = Effect.fnUntraced(function* (
  { muniment }: Configuration,
  { asked: now, timeZone }: Case,
  { evidence = [], q: query }: CaseQuestion,
  scope: Readonly<Record<"agentId" | "subjectId", string>>,
  sources: ReadonlyMap<string, unknown>
) {
  const context = yield* timed((signal) =>
    muniment
      .context({ ...scope, query, now, timeZone, format: "json" }, { signal })
      .catch((cause: unknown) =>
        cause instanceof MunimentError && cause.status === 404 ? undefined : Promise.reject(cause)
      )
  )
  if (context.value === undefined) return {}
  const items = context.value.sections.flatMap((section) => section.items)
  const shown = new Set(items.flatMap(({ id }) => [...indexesOf(evidence, sources.get(id))]))
  const share = evidence.length === 0 ? undefined : shown.size / evidence.length
  return { context: { tokens: context.value.tokens, share, millis: context.millis } }
})

/** `has`: the ids of messages, as metadata has them. */
const indexesOf = (wanted: ReadonlyArray<string>, has: unknown): ReadonlySet<number> =>
  new Set(wanted.flatMap((one, at) => (Array.isArray(has) && has.includes(one) ? [at] : [])))

/** Plays a query about memories that the service holds already. */
export const playQuery = Effect.fn("playQuery")(function* (
  { muniment, search }: Configuration,
  { expected, query, ...filters }: QueryCase,
  manner: Manner
) {
  yield* manner.onStep("queries")
  const asked = { ...filters, ...search, query, limit: hitsAsked }
  const { millis, value } = yield* timed((signal) => muniment.search(asked, { signal }))
  const holds = value.memories.map(({ data, id }) => {
    const text = plain(JSON.stringify(Object.values(data)))
    return new Set(expected.flatMap((one, at) => (one === id || text.includes(quoted(one)) ? [at] : [])))
  })
  const played: PlayedQuestion = {
    case: "queries",
    question: query,
    type: "query",
    found: foundOf(expected.length, holds),
    searchMillis: millis
  }
  return played
})

/** Makes texts equal that differ by case or spaces alone. */
const plain = (text: string): string => text.toLowerCase().replace(/(?:\\[nrt]|\s)+/g, " ")
const quoted = (text: string): string => plain(JSON.stringify(text).slice(1, -1)).trim()

const storedBy = async (muniment: Muniment, agentId: string) => {
  const found: Array<Memory> = []
  for await (const memory of muniment.listAll({ agentId, limit: 100 })) found.push(memory)
  return found
}

const factsOf = (one: Case, memories: ReadonlyArray<Extracted>): PlayedCase["facts"] => {
  const texts = memories.map(({ data }) => JSON.stringify(data))
  const held = one.facts.filter((fact) => texts.some((text) => states(fact, one, text)))
  const countTrue = (facts: Case["facts"]) => facts.filter((fact) => fact.true).length
  return {
    true: countTrue(one.facts),
    held: countTrue(held),
    false: one.facts.length - countTrue(one.facts),
    falseHeld: held.length - countTrue(held)
  }
}

type Verdict = "right" | "wrong" | "withheld"

/**
 * Judgement of cases: which evidence is among the first hits, which facts a service holds, and whether its answers are
 * right, by regular expressions that the authors of the cases wrote (docs/eval.md).
 */
export const verdictOf = (
  question: CaseQuestion,
  { answer, grounded }: { readonly answer: string; readonly grounded: boolean }
): Verdict => {
  if (!grounded) return question.abstain === true ? "right" : "withheld"
  return isRight(question, answer) ? "right" : "wrong"
}

/** For a value that changed the right one comes last; a yes or no that is said counts alone. */
const isRight = ({ answer, type, wrong = [] }: CaseQuestion, text: string): boolean => {
  const said = type === "yesno" ? /(?:^|["”]\s+)(yes|no)\b/i.exec(text)?.[1] : undefined
  if (said !== undefined) return matches(answer, said)
  if (!matches(answer, text)) return false
  return !/^(?:current|past|number)$/.test(type) || lastMatch(wrong, text) <= lastMatch(answer, text)
}

const matches = (patterns: ReadonlyArray<string>, text: string): boolean =>
  patterns.some((pattern) => new RegExp(pattern, "is").test(text))

const lastMatch = (patterns: ReadonlyArray<string>, text: string): number =>
  Math.max(
    -1,
    ...patterns.flatMap((pattern) =>
      [...text.matchAll(new RegExp(pattern, "gis"))].map((one) => one.index + one[0].length)
    )
  )

/** Whether the text of a memory states a fact of the one that it is about; of the user also as "user". */
export const states = ({ about, says }: CaseFact, { user }: Pick<Case, "user">, text: string): boolean => {
  const name = about.split(" ")[0] ?? ""
  const isAbout = text.toLowerCase().includes(name.toLowerCase())
  const isUsers = user?.split(" ")[0] === name && /\buser\b/i.test(text)
  return (isAbout || isUsers) && says.every((pattern) => new RegExp(pattern, "i").test(text))
}

/** Ranks that are looked at: the first hit, those that a person reads, all that are asked for. */
const ranks = [1, 3, 10] as const

interface Found {
  /** Share of what was expected among the first hits, for each of `ranks`. */
  readonly shares: readonly [number, number, number]
  /** One divided by the place of the first hit that holds any of it; 0 without one. */
  readonly reciprocalRank: number
}

/** `holds`: of each hit, best first, which of the expected it holds. Undefined where nothing is expected. */
export const foundOf = (expected: number, holds: ReadonlyArray<ReadonlySet<number>>): Found | undefined => {
  if (expected === 0) return undefined
  const [first, three, ten] = ranks.map((rank) => new Set(holds.slice(0, rank).flatMap((one) => [...one])).size)
  const place = holds.findIndex((one) => one.size > 0)
  return {
    shares: [first! / expected, three! / expected, ten! / expected],
    reciprocalRank: place === -1 ? 0 : 1 / (place + 1)
  }
}
