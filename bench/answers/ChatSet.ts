/**
 * LoCoMo (Maharana et al., 2024) as conversations to store and questions to ask, after the corrections of
 * dial481/locomo-audit. The files are licensed non-commercially and are read from a folder named by the caller.
 *
 * The first five conversations are for tuning, the last five for judging; do not read their answers while tuning.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

export type Part = "fit" | "held"

export interface ChatMessage {
  readonly id: string
  readonly session: number
  readonly name: string
  /** With the caption of a picture. */
  readonly text: string
  /** ISO 8601. */
  readonly sentAt: string
}

/** What the right answer is. */
export type AskedKind =
  /** Answered by the conversation. */
  | "answerable"
  /** About the wrong person or event, as LoCoMo has it. */
  | "adversarial"
  /** An answerable question of another conversation, with the names of this one's speakers. */
  | "swapped"

export interface ChatQuestion {
  readonly text: string
  readonly kind: AskedKind
  /** Empty unless answerable. */
  readonly gold: string
  /** Ids of the messages that answer it. */
  readonly evidence: ReadonlySet<string>
}

export interface Chat {
  readonly name: string
  readonly part: Part
  readonly messages: ReadonlyArray<ChatMessage>
  readonly questions: ReadonlyArray<ChatQuestion>
}

interface Turn {
  readonly speaker: string
  readonly dia_id: string
  readonly text: string
  readonly blip_caption?: string
}

interface LocomoChat {
  readonly sample_id: string
  readonly conversation: Readonly<Record<string, ReadonlyArray<Turn> | string>>
  readonly qa: ReadonlyArray<{
    readonly question: string
    readonly answer?: string | number
    readonly evidence?: ReadonlyArray<string>
    readonly category: number
  }>
}

interface Fix {
  readonly question_id: string
  readonly correct_answer?: string
  readonly correct_evidence?: ReadonlyArray<string>
}

const FIT_CHATS = 5
/** Distance to the conversation whose questions are asked here. */
const SWAP_DISTANCE = 2
const ADVERSARIAL = 5

export const readChats = (folder: string): ReadonlyArray<Chat> => {
  const chats: ReadonlyArray<LocomoChat> = readJson(join(folder, "locomo10.json"))
  const fixesFile = join(folder, "locomo-evidence-fixes.json")
  const fixes: ReadonlyArray<Fix> = existsSync(fixesFile) ? readJson(fixesFile) : []
  const fixed = new Map(fixes.map((fix) => [fix.question_id, fix]))
  const questions = chats.map((chat, at) =>
    chat.qa.map((qa, number) => readQuestion(qa, fixed.get(`locomo_${at}_qa${number}`)))
  )
  return chats.map((chat, at) => {
    const first = at < FIT_CHATS ? 0 : FIT_CHATS
    const other = first + ((at - first + SWAP_DISTANCE) % FIT_CHATS)
    const names = speakersOf(chats[other]!)
    const swapped = questions[other]!.filter(({ kind }) => kind === "answerable").map(({ text }) => ({
      text: withNames(text, names, speakersOf(chat)),
      kind: "swapped" as const,
      gold: "",
      evidence: new Set<string>()
    }))
    return {
      name: chat.sample_id,
      part: at < FIT_CHATS ? "fit" : "held",
      messages: readMessages(chat),
      questions: [...questions[at]!, ...swapped]
    }
  })
}

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"))

const readQuestion = (qa: LocomoChat["qa"][number], fix: Fix | undefined): ChatQuestion => {
  const isAdversarial = qa.category === ADVERSARIAL
  const cited = turnIds(fix?.correct_evidence ?? [])
  return {
    text: qa.question,
    kind: isAdversarial ? "adversarial" : "answerable",
    gold: isAdversarial ? "" : String(fix?.correct_answer ?? qa.answer ?? ""),
    evidence: isAdversarial ? new Set() : cited.size > 0 ? cited : turnIds(qa.evidence ?? [])
  }
}

/** Written "D8:6", at times "D8:6; D9:17", "D:11:26" or "D30:05". */
const turnIds = (evidence: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(
    Array.from(
      evidence.join(" ").matchAll(/D:?(\d+):(\d+)/g),
      ([, session, turn]) => `D${Number(session)}:${Number(turn)}`
    )
  )

const speakersOf = ({ conversation }: LocomoChat): ReadonlyArray<string> => [
  String(conversation["speaker_a"]),
  String(conversation["speaker_b"])
]

const withNames = (text: string, from: ReadonlyArray<string>, to: ReadonlyArray<string>): string =>
  text.replace(new RegExp(`\\b(?:${from.join("|")})\\b`, "g"), (name) => to[from.indexOf(name)]!)

const readMessages = ({ conversation }: LocomoChat): ReadonlyArray<ChatMessage> => {
  const messages: Array<ChatMessage> = []
  for (let session = 1; conversation[`session_${session}_date_time`] !== undefined; session++) {
    const turns = conversation[`session_${session}`]
    if (!Array.isArray(turns)) continue
    // "1:56 pm on 8 May, 2023"
    const [clock, day] = String(conversation[`session_${session}_date_time`]).split(" on ")
    const sentAt = new Date(`${day} ${clock} UTC`).toISOString()
    for (const { blip_caption: caption, dia_id: id, speaker: name, text } of turns as ReadonlyArray<Turn>) {
      messages.push({ id, session, name, text: caption === undefined ? text : `${text} [picture: ${caption}]`, sentAt })
    }
  }
  return messages
}
