/**
 * The conversations and questions of `test/vectors/questions` in two halves. The first half of the
 * conversations is for tuning, the second for measuring: who tunes answers does not read it.
 */
import {
  type LabelledQuestion,
  type QuestionedConversation,
  readQuestionedConversations,
  readQuestions
} from "../extraction/LabelledSet.ts"

export type Half = "dev" | "check"

export interface AnswerSet {
  readonly conversations: ReadonlyArray<QuestionedConversation>
  readonly questions: ReadonlyArray<LabelledQuestion>
}

export const readAnswerSet = (half: Half | "all"): AnswerSet => {
  const all = readQuestionedConversations()
  const middle = Math.ceil(all.length / 2)
  const conversations = half === "all" ? all : half === "dev" ? all.slice(0, middle) : all.slice(middle)
  const ids = new Set(conversations.map(({ id }) => id))
  return { conversations, questions: readQuestions().filter(({ conversationId }) => ids.has(conversationId)) }
}
