/**
 * A set of our own in the form of LoCoMo: every conversation of `test/vectors` in one namespace, one message = one
 * memory, and questions with the messages that answer them. No weight was ever chosen on it, so it shows whether
 * weights chosen on LoCoMo hold elsewhere; it is small, hence coarse.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Corpus, Question } from "./Locomo.ts"
import { neighboursOf } from "./Locomo.ts"

interface Message {
  readonly role: "user" | "assistant"
  readonly content: string
}

interface Conversation {
  readonly id: string
  readonly conversationDate: string
  readonly names?: ReadonlyArray<string>
  readonly messages: ReadonlyArray<Message>
}

/** Written for answers over imported conversations: a right answer holds one phrase of each group. */
interface AnswerQuestion {
  readonly conversationId: string
  readonly question: string
  readonly answerable: boolean
  readonly expected: ReadonlyArray<ReadonlyArray<string>>
}

/** Written for this bench: the message that answers holds `says`. */
interface TurnQuestion {
  readonly conversation: string
  readonly says: string
  readonly question: string
}

interface Turn extends Message {
  readonly session: string
  readonly speaker: string
  readonly text: string
  readonly date: string
}

const vectors = join(import.meta.dirname, "..", "..", "test", "vectors")

export const readOwnTurns = (): Corpus => {
  const conversations = ["conversations/dev", "conversations/held-out", "questions/conversations"].flatMap(
    (file): ReadonlyArray<Conversation> => readJson(file)
  )
  const turns = conversations.flatMap(turnsOf)
  const saying = (conversation: string, phrases: ReadonlyArray<string>): ReadonlySet<number> =>
    new Set(
      turns.flatMap(({ session, role, text }, at) => {
        const said = text.toLowerCase()
        const answers = role === "user" && phrases.some((phrase) => said.includes(phrase.toLowerCase()))
        return session === conversation && answers ? [at] : []
      })
    )
  const forTurns = readJson("recall/questions").map(({ conversation, says, question }: TurnQuestion): Question => ({
    text: question,
    evidence: saying(conversation, [says]),
    isAdversarial: false
  }))
  const forAnswers = readJson("questions/questions")
    .filter(({ answerable }: AnswerQuestion) => answerable)
    .map(({ conversationId, question, expected }: AnswerQuestion): Question => ({
      text: question,
      evidence: saying(conversationId, expected.flat()),
      isAdversarial: false
    }))
  return {
    name: "our own turns",
    speakers: [...new Set(turns.map(({ speaker }) => speaker))].sort(),
    memories: turns.map((turn, at) => ({
      kind: "conversation_turn",
      data: { subject: turn.speaker, text: turn.text },
      tags: [],
      when: turn.date,
      neighbours: neighboursOf(turns, at)
    })),
    // An expected answer may not occur literally ("2026-04-10"); such a question has no evidence here.
    questions: [...forTurns, ...forAnswers].filter(({ evidence }) => evidence.size > 0)
  }
}

const turnsOf = ({ id, conversationDate, names, messages }: Conversation): ReadonlyArray<Turn> =>
  messages.map((message) => ({
    ...message,
    session: id,
    speaker: message.role === "user" ? (names?.[0] ?? "user") : "assistant",
    text: message.content,
    date: `${conversationDate}T00:00:00.000Z`
  }))

const readJson = (name: string) => JSON.parse(readFileSync(join(vectors, `${name}.json`), "utf8"))
