/** What a trial of one conversation comes to, by the words of its facts, falsehoods and answers (pure). */
import type { JsonObject } from "@muniment/domain/Memory"
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
  /** Of the slowest answer. */
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
