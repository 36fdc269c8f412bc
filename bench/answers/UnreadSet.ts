/**
 * Conversations and questions that nobody who works on extraction, ranking or answers reads: rules and weights cannot be
 * fitted to them. Only the author of the set opens `unread/`; others run `unread.ts` and read its figures.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Terms } from "../extraction/LabelledSet.ts"

export interface UnreadMessage {
  readonly id: string
  /** Two people who chat with each other are both `user`; `name` tells them apart. */
  readonly role: "user" | "assistant"
  readonly name?: string
  readonly text: string
  /** ISO 8601, UTC; ascending in a conversation. */
  readonly sentAt: string
}

export interface UnreadConversation {
  readonly id: string
  readonly topic: string
  readonly messages: ReadonlyArray<UnreadMessage>
}

export const questionTypes = [
  "when",
  "where",
  "who",
  "amount",
  "duration",
  "reason",
  "preference",
  "yesno",
  "update",
  "other",
  "unanswerable"
] as const
export type QuestionType = (typeof questionTypes)[number]

interface Asked {
  readonly id: string
  readonly conversation: string
  readonly question: string
}

export interface AnswerableQuestion extends Asked {
  readonly type: Exclude<QuestionType, "unanswerable">
  readonly answer: string
  /** Messages that give the answer, each by itself. */
  readonly gold: ReadonlyArray<string>
  /** Messages with an earlier value that no longer holds. */
  readonly outdated?: ReadonlyArray<string>
  /** What a right answer says, in any of the wordings of each group. A hint: the report is judged by reading. */
  readonly expected: Terms
}

/** About something that was never said, or was said of somebody else. */
export interface UnanswerableQuestion extends Asked {
  readonly type: "unanswerable"
}

export type UnreadQuestion = AnswerableQuestion | UnanswerableQuestion

export interface UnreadSet {
  readonly conversations: ReadonlyArray<UnreadConversation>
  readonly questions: ReadonlyArray<UnreadQuestion>
}

const folder = join(import.meta.dirname, "unread")
const questionsFile = "questions.json"

export const readUnreadSet = (): UnreadSet => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json") && name !== questionsFile)
  return {
    conversations: files.sort().map((name) => readJson<UnreadConversation>(name)),
    questions: readJson<ReadonlyArray<UnreadQuestion>>(questionsFile)
  }
}

const readJson = <A>(name: string): A => JSON.parse(readFileSync(join(folder, name), "utf8")) as A
