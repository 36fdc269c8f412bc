/**
 * Sets of chats in one form: messages in order and questions with the messages that answer them. Public sets are read
 * from a folder that the caller names, since their licences forbid to copy them; a set that is not there is left out.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { readRetold, type Corpus } from "./Locomo.ts"

export interface ChatMessage {
  readonly id: string
  /** Messages of one sitting are one thread. */
  readonly session: string
  readonly role: "user" | "assistant"
  /** Of a chat between people. */
  readonly name?: string | undefined
  readonly text: string
  /** ISO 8601. */
  readonly when: string
}

export interface ChatQuestion {
  readonly text: string
  /** Ids of the messages that answer it; empty: nothing does. */
  readonly evidence: ReadonlyArray<string>
  /** ISO 8601. */
  readonly askedAt: string
  /** How many of the messages are stored when it is asked. */
  readonly stored: number
}

export interface Chat {
  readonly name: string
  readonly messages: ReadonlyArray<ChatMessage>
  /** In the order of `stored`. */
  readonly questions: ReadonlyArray<ChatQuestion>
}

export interface ChatSet {
  readonly name: string
  /** Its messages are facts, kept as direct memories. */
  readonly isOfFacts: boolean
  readonly chats: ReadonlyArray<Chat>
}

export const readChatSets = (dataDir: string, casesDir: string | undefined): ReadonlyArray<ChatSet> => [
  ...(casesDir === undefined ? [] : [{ name: "cases", isOfFacts: false, chats: readCases(casesDir) }]),
  ...publicSet(dataDir, "people", readDialogues),
  ...publicSet(dataDir, "assistant-long", readDialogues),
  ...publicSet(dataDir, "ongoing-work", readSittings),
  ...(existsSync(join(dataDir, "locomo10.json"))
    ? [
        { name: "LoCoMo", isOfFacts: false, chats: readRetold(dataDir).map((one) => locomoChat(one.messages)) },
        { name: "facts of LoCoMo", isOfFacts: true, chats: readRetold(dataDir).map((one) => locomoChat(one.facts)) }
      ]
    : [])
]

const publicSet = <A>(dataDir: string, name: string, read: (written: A) => Chat): ReadonlyArray<ChatSet> => {
  const file = join(dataDir, `${name}.json.gz`)
  if (!existsSync(file)) return []
  const written: ReadonlyArray<A> = JSON.parse(gunzipSync(readFileSync(file)).toString())
  return [{ name, isOfFacts: false, chats: written.map(read) }]
}

interface WrittenCase {
  readonly id: string
  readonly asked: string
  readonly messages: ReadonlyArray<
    Omit<ChatMessage, "session" | "text" | "when"> & { readonly sentAt: string; readonly content: string }
  >
  readonly questions: ReadonlyArray<{ readonly q: string; readonly evidence: ReadonlyArray<string> }>
}

const readCases = (folder: string): ReadonlyArray<Chat> =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file): Chat => {
      const { asked, id, messages, questions }: WrittenCase = JSON.parse(readFileSync(join(folder, file), "utf8"))
      return {
        name: id,
        messages: messages.map(({ content, sentAt, ...one }) => ({
          ...one,
          session: "t",
          text: content,
          when: sentAt
        })),
        questions: questions.map(({ evidence, q }) => ({
          text: q,
          evidence,
          askedAt: asked,
          stored: messages.length
        }))
      }
    })

interface WrittenDialogue {
  readonly name: string
  readonly turns: ReadonlyArray<{
    readonly id: string
    readonly session: number | string
    readonly date: string
    readonly speaker: string
    readonly role: "user" | "assistant"
    readonly text: string
    readonly cap: string
  }>
  readonly qs: ReadonlyArray<{ readonly q: string; readonly ev: ReadonlyArray<string> }>
}

const readDialogues = ({ name, qs, turns }: WrittenDialogue): Chat =>
  asked(
    name,
    turns.map(({ cap, date, id, role, session, speaker, text }) => ({
      id,
      session: String(session),
      role: speaker === role ? role : "user",
      name: speaker === role ? undefined : speaker,
      text: cap === "" ? text : `${text} [${cap}]`,
      when: date
    })),
    qs.map(({ ev, q }) => ({ text: q, evidence: ev }))
  )

interface WrittenSittings {
  readonly name: string
  readonly sessions: ReadonlyArray<{
    readonly uuid: string
    readonly day: string
    readonly turns: ReadonlyArray<Pick<ChatMessage, "id" | "role" | "text">>
    readonly qs: ReadonlyArray<{ readonly q: string; readonly ev: ReadonlyArray<string> }>
  }>
}

/** A question is asked at the begin of its sitting: only what was stored by then can answer it. */
const readSittings = ({ name, sessions }: WrittenSittings): Chat => {
  const messages: Array<ChatMessage> = []
  const questions: Array<ChatQuestion> = []
  for (const { day, qs, turns, uuid } of sessions) {
    const when = `${day}T00:00:00.000Z`
    const known = new Set(messages.map(({ id }) => id))
    for (const { ev, q } of qs) {
      const evidence = ev.filter((id) => known.has(id))
      if (evidence.length > 0) questions.push({ text: q, evidence, askedAt: when, stored: messages.length })
    }
    messages.push(...turns.map((turn) => ({ ...turn, session: uuid, when })))
  }
  return { name, messages, questions }
}

/** Without the adversarial questions. A fact is said by its subject. */
const locomoChat = ({ memories, name, questions }: Corpus): Chat =>
  asked(
    name,
    memories.map(({ data, when }, at) => {
      const said = data as Readonly<Record<"name" | "subject" | "text" | "fact", string | undefined>>
      return {
        id: String(at),
        session: when!.replaceAll(":", "-"),
        role: "user",
        name: said.name ?? said.subject,
        text: said.text ?? said.fact ?? "",
        when: when!
      }
    }),
    questions
      .filter(({ isAdversarial }) => !isAdversarial)
      .map(({ evidence, text }) => ({ text, evidence: [...evidence].map(String) }))
  )

const dayMillis = 86_400_000

/** A day after the last message. */
const asked = (
  name: string,
  messages: ReadonlyArray<ChatMessage>,
  questions: ReadonlyArray<Pick<ChatQuestion, "text" | "evidence">>
): Chat => {
  const last = Math.max(...messages.map(({ when }) => Date.parse(when)))
  const askedAt = new Date(last + dayMillis).toISOString()
  return { name, messages, questions: questions.map((one) => ({ ...one, askedAt, stored: messages.length })) }
}
