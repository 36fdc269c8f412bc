/**
 * Advice from a trial: whether the model should be configured at all, and with which settings (pure). A false memory
 * or a wrong answer costs twice what a fact or a right answer is worth: the rules hold back where they are not sure.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import type { ServerAbilities } from "@muniment/models/llm/ServerAbilities"
import type { ServerListing } from "@muniment/models/llm/ServerListing"
import { callSettings, type LanguageModelConfig, timeoutOf } from "@muniment/models/llm/LanguageModelConfig"
import type { TrialConversation } from "./TrialConversations.ts"

export interface TrialResult {
  readonly title: string
  /** Facts that a memory holds, of those that were told. */
  readonly held: number
  readonly told: number
  /** Memories of what was not said, or holds no longer. */
  readonly falsehoods: ReadonlyArray<string>
  readonly right: number
  readonly wrong: ReadonlyArray<{ readonly question: string; readonly answer: string }>
  /** Questions that have an answer and got none. */
  readonly withheld: number
  readonly readingMillis: number
  /** Time of the slowest answer. */
  readonly answerMillis: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Calls of the model that gave nothing, by purpose and reason: "extraction truncated". */
  readonly failures: Readonly<Record<string, number>>
}

export interface GivenAnswer {
  readonly asked: TrialConversation["questions"][number]
  /** Undefined: nothing is claimed. */
  readonly answer: string | undefined
  readonly millis: number
}

interface TrialRecord extends Pick<TrialResult, "readingMillis" | "inputTokens" | "outputTokens"> {
  readonly conversation: TrialConversation
  readonly memories: ReadonlyArray<{ readonly data: JsonObject; readonly metadata: JsonObject }>
  readonly answers: ReadonlyArray<GivenAnswer>
  readonly failures: ReadonlyMap<string, number>
}

/** Result of a trial of one conversation, by the words of its facts, falsehoods and answers (pure). */
export const trialResult = ({ answers, conversation, failures, memories, ...measured }: TrialRecord): TrialResult => {
  const { facts, falsehoods, title } = conversation
  const texts = memories.map(textOf)
  const wrong = answers.flatMap(({ answer, asked }) =>
    answer === undefined || asked.answer?.test(answer) === true ? [] : [{ question: asked.question, answer }]
  )
  const withheld = answers.filter(({ answer, asked }) => answer === undefined && asked.answer !== undefined).length
  return {
    title,
    held: facts.filter(({ words }) => texts.some((text) => words.every((word) => word.test(text)))).length,
    told: facts.length,
    falsehoods: texts.filter((text) => falsehoods.some(({ unless, words }) => words.test(text) && !unless.test(text))),
    right: answers.length - wrong.length - withheld,
    wrong,
    withheld,
    answerMillis: Math.max(0, ...answers.map(({ millis }) => millis)),
    failures: Object.fromEntries([...failures].filter(([, count]) => count > 0)),
    ...measured
  }
}

/** All words of a memory and its date, as one line. */
const textOf = ({ data, metadata }: TrialRecord["memories"][number]): string =>
  [...leavesOf(data), ...leavesOf(metadata["when"])].join(", ")

const leavesOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string" || typeof value === "number") return [String(value)]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leavesOf) : []
}

interface TrialTotals {
  readonly held: number
  readonly told: number
  readonly falsehoods: number
  readonly right: number
  readonly wrong: number
  readonly withheld: number
}

export interface TrialAdvice {
  readonly isBetterThanRules: boolean
  /** To be set for the service. */
  readonly settings: Readonly<Record<string, string>>
  /** Sentences. */
  readonly notes: ReadonlyArray<string>
}

export interface TriedModel {
  readonly config: LanguageModelConfig
  readonly isStrict: boolean
  readonly abilities: ServerAbilities
  readonly listing: ServerListing | undefined
  readonly byModel: ReadonlyArray<TrialResult>
  readonly byRules: ReadonlyArray<TrialResult>
}

const costOfWrong = 2
/** A reading, its instructions and its reply need about as much. */
const contextTokensMin = 12_000
/** Other conversations are longer than those of the trial. */
const timeReserve = 3
const timeoutStepMillis = 10_000

export const totalsOf = (results: ReadonlyArray<TrialResult>): TrialTotals => {
  const sum = (of: (result: TrialResult) => number) => results.reduce((total, result) => total + of(result), 0)
  return {
    held: sum(({ held }) => held),
    told: sum(({ told }) => told),
    falsehoods: sum(({ falsehoods }) => falsehoods.length),
    right: sum(({ right }) => right),
    wrong: sum(({ wrong }) => wrong.length),
    withheld: sum(({ withheld }) => withheld)
  }
}

const worthOf = ({ falsehoods, held, right, wrong }: TrialTotals): number =>
  held + right - costOfWrong * (falsehoods + wrong)

/** One slip is no weakness. */
const isWeak = ({ falsehoods, held, right, wrong }: TrialTotals): boolean =>
  wrong + falsehoods > (held + right) * shareOfSlipsMax
const shareOfSlipsMax = 0.1

export const adviceOf = (tried: TriedModel): TrialAdvice => {
  const byModel = totalsOf(tried.byModel)
  if (worthOf(byModel) <= worthOf(totalsOf(tried.byRules))) {
    return {
      isBetterThanRules: false,
      settings: { MUNIMENT_LLM_PROVIDER: "none" },
      notes: ["The rules alone do as well or better: this model should not be configured."]
    }
  }
  const { config, isStrict, listing } = tried
  const timeoutMillis = timeoutFor(tried) ?? config.timeoutMillis
  const slots = config.concurrency ?? listing?.slots
  return {
    isBetterThanRules: true,
    settings: {
      MUNIMENT_LLM_PROVIDER: config.provider,
      MUNIMENT_LLM_BASE_URL: config.baseUrl,
      MUNIMENT_LLM_MODEL: config.model,
      ...(timeoutMillis !== undefined && { MUNIMENT_LLM_TIMEOUT_MILLIS: String(timeoutMillis) }),
      ...(slots !== undefined &&
        slots !== callSettings({ ...config, concurrency: undefined }).concurrency && {
          MUNIMENT_LLM_CONCURRENCY: String(slots)
        }),
      ...((isStrict || isWeak(byModel)) && { MUNIMENT_LLM_CHECKS: "strict" })
    },
    notes: notesOf(tried)
  }
}

/** Undefined: what is configured, or the default, is enough. One setting bounds readings and answers. */
const timeoutFor = ({ byModel, config }: TriedModel): number | undefined => {
  const slowest = (of: (result: TrialResult) => number) => timeReserve * Math.max(...byModel.map(of))
  const needed = {
    extraction: slowest(({ readingMillis }) => readingMillis),
    answer: slowest(({ answerMillis }) => answerMillis)
  }
  const isEnough = needed.extraction <= timeoutOf(config, "extraction") && needed.answer <= timeoutOf(config, "answer")
  if (isEnough) return undefined
  const millis = Math.max(needed.extraction, needed.answer, timeoutOf(config, "extraction"))
  return Math.ceil(millis / timeoutStepMillis) * timeoutStepMillis
}

/** A call of the model that reads failed. */
export const isUnread = ({ failures }: TrialResult): boolean =>
  Object.keys(failures).some((reason) => reason.startsWith("extraction"))

const notesOf = ({ abilities, byModel, config, listing }: TriedModel): ReadonlyArray<string> => {
  const contextTokens = listing?.contextTokens.get(config.model)
  const product = listing?.product
  const longer = product === undefined ? undefined : longerContext[product]
  return [
    ...(contextTokens !== undefined && contextTokens < contextTokensMin
      ? [
          `A context of ${contextTokens} tokens is too short for long conversations.${longer === undefined ? "" : ` ${longer}`}`
        ]
      : []),
    ...(abilities.thinking === "stays_on"
      ? ["The model thinks before it answers and cannot be told not to: replies take longer, and some may be cut off."]
      : []),
    ...(byModel.some(isUnread)
      ? ["Some readings failed; what rules do not find in such conversations is kept as messages only."]
      : [])
  ]
}

/** Advice for a longer context, in the words of the server. */
const longerContext: Readonly<Record<NonNullable<ServerListing["product"]>, string>> = {
  Ollama: "Start Ollama with OLLAMA_CONTEXT_LENGTH=16384.",
  "llama.cpp": "Start llama-server with -c 16384, times the number of its slots (-np).",
  "LM Studio": "Load the model with a context of 16384 tokens.",
  vLLM: "Start vLLM with --max-model-len 16384."
}
