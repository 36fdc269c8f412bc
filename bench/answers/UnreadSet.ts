/**
 * Conversations and questions that nobody who works on extraction, ranking or answers reads: rules and weights cannot be
 * fitted to them. Only the author of a set opens its folder; others run `unread.ts` and read its figures.
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

/** Folders beside this file; those in `own` are ours to tune on and to check, and read. */
export const unreadSetNames = [
  "unread",
  "unread2",
  "unread3",
  "own/fit",
  "own/held",
  "own/fit2",
  "own/held2",
  "own/facts",
  "own/facts-held"
] as const
type UnreadSetName = (typeof unreadSetNames)[number]
export const newestUnreadSet: UnreadSetName = "unread3"

export const isUnreadSetName = (name: string): name is UnreadSetName => unreadSetNames.some((known) => known === name)

const questionsFile = "questions.json"

export const readUnreadSet = (name: UnreadSetName): UnreadSet => {
  const folder = join(import.meta.dirname, name)
  const files = readdirSync(folder).filter((name) => name.endsWith(".json") && name !== questionsFile)
  return {
    // A file holds one conversation or several.
    conversations: files
      .sort()
      .flatMap((file) => readJson<UnreadConversation | ReadonlyArray<UnreadConversation>>(join(folder, file))),
    questions: readJson<ReadonlyArray<UnreadQuestion>>(join(folder, questionsFile))
  }
}

const readJson = <A>(path: string): A => JSON.parse(readFileSync(path, "utf8")) as A
