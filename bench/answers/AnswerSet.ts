/**
 * The conversations and questions of `test/vectors/questions` in two parts. The first two thirds of the conversations
 * are for tuning, the last third for measuring; do not read it while tuning.
 */
import {
  type LabelledQuestion,
  type QuestionedConversation,
  readQuestionedConversations,
  readQuestions
} from "../extraction/LabelledSet.ts"

export type Part = "dev" | "check"

export interface AnswerSet {
  readonly conversations: ReadonlyArray<QuestionedConversation>
  readonly questions: ReadonlyArray<LabelledQuestion>
}

export const readAnswerSet = (part: Part | "all"): AnswerSet => {
  const all = readQuestionedConversations()
  const devLength = Math.ceil((all.length * 2) / 3)
  const conversations = part === "all" ? all : part === "dev" ? all.slice(0, devLength) : all.slice(devLength)
  const ids = new Set(conversations.map(({ id }) => id))
  return { conversations, questions: readQuestions().filter(({ conversationId }) => ids.has(conversationId)) }
}
