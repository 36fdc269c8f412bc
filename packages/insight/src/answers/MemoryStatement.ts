/**
 * A memory as one English statement. Each built-in kind has its own sentence, a message of a conversation is what was
 * said; a registered kind becomes "kind: field value, field value".
 *
 * Invariant: every word comes from the memory (values, field names, kind), except the joining words "on", "at", "with",
 * "the", "yes"; the text is plain and bounded.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import type { Schema } from "effect"
import type { Evidence } from "./WrittenAnswer.ts"
import { dateText, isIsoDate } from "@muniment/language/calendar/ResolvedDates"
import { datesInText } from "@muniment/language/calendar/CalendarWords"
import { isUser } from "@muniment/language/people/Relations"
import { framesOf } from "@muniment/language/speech/Frames"
import { plainText } from "@muniment/language/text/VisibleText"

export interface MemoryStatement {
  /** Ends with a full stop or an equivalent mark. */
  readonly text: string
  /** The person or thing it is about, if the memory says so. */
  readonly subject: string | undefined
  /** Words that match a question but do not appear in the text. */
  readonly unsaid: string
  /** Event time, if the text does not contain it. */
  readonly date: string | undefined
  /** Names of the event's place and participants, known from its fields. */
  readonly location: string | undefined
  readonly participants: ReadonlyArray<string>
  /** A record of the user's of a registered kind, whatever its subject is called. */
  readonly isRecord: boolean
  /** Who said it and when, of a message of a conversation. */
  readonly speaker: Speaker | undefined
}

export interface Speaker {
  readonly role: string
  /** Undefined: the conversation does not name its speakers. */
  readonly name: string | undefined
  /** ISO 8601. */
  readonly saidOn: string | undefined
}

/** Longer values are clipped. Of a long statement two sentences are quoted. */
const STATEMENT_LENGTH_MAX = 1_200
const MESSAGE_LENGTH_MAX = 4_000
const VALUE_LENGTH_MAX = 300
const FIELDS_MAX = 24
const FIELD_DEPTH_MAX = 4
const PARTICIPANTS_MAX = 8

export const readStatement = (memory: Evidence): MemoryStatement => {
  switch (memory.kind) {
    case "factual_memory":
      return factStatement(memory)
    case "preference_memory":
      return preferenceStatement(memory.data)
    case "temporal_event":
      return eventStatement(memory)
    case "instruction_memory":
      return { ...bare, text: sentence(textOf(memory.data["text"], STATEMENT_LENGTH_MAX) ?? ""), subject: undefined }
    case "conversation_message":
      return messageStatement(memory)
    default:
      return fieldsStatement(memory)
  }
}

const factStatement = ({ data, when }: Evidence): MemoryStatement => {
  const subject = textOf(data["subject"])
  const fact = textOf(data["fact"], STATEMENT_LENGTH_MAX) ?? ""
  return {
    ...bare,
    text: sentence(aboutSubject(subject, fact)),
    subject,
    date: when && dateText(plainText(when, VALUE_LENGTH_MAX))
  }
}

/** The part that the search found of a long message; of others all. What is not the speaker's own is left out. */
const messageStatement = ({ data, passage, when }: Evidence): MemoryStatement => {
  const said = ownWords(typeof data["text"] === "string" ? data["text"] : "")
  const name = textOf(data["name"])
  const words = plainText(passage === undefined ? said : said.slice(passage.start, passage.end), MESSAGE_LENGTH_MAX)
  return {
    ...bare,
    text: /[\p{L}\d]/u.test(words) ? words : "",
    subject: name,
    speaker: { role: textOf(data["role"]) ?? "user", name, saidOn: textOf(data["sentAt"]) ?? when }
  }
}

/** Frames (`framesOf`) as an ellipsis; every place stays where it is. */
const ownWords = (said: string): string =>
  framesOf(said).reduce(
    (text, { end, start }) => text.slice(0, start) + "…".padEnd(end - start) + text.slice(end),
    said
  )

const preferenceStatement = (data: JsonObject): MemoryStatement => {
  const subject = textOf(data["subject"])
  const words = [asActor(subject), textOf(data["preferenceType"]), textOf(data["preference"])]
  return { ...bare, text: sentence(joined(words)), subject, unsaid: textOf(data["domain"]) ?? "" }
}

const eventStatement = ({ data, when }: Evidence): MemoryStatement => {
  const subject = textOf(data["subject"])
  const event = (textOf(data["event"], STATEMENT_LENGTH_MAX) ?? "").replace(/[.!?]+$/, "")
  const location = textOf(data["location"])
  const participants = textsOf(data["participants"]).filter((name) => !holds(event, name) && name !== subject)
  const start = textOf(data["eventDate"]) ?? when
  const end = textOf(data["endDate"])
  const words = [
    aboutSubject(subject, event),
    ...(location !== undefined && !holds(event, location) ? [CITY.test(location) ? "in" : "at", location] : []),
    ...(datesInText(event, anyYear).dates.length === 0 ? dateWords(start, end) : []),
    ...(participants.length > 0 ? ["with", participants.join(", ")] : [])
  ]
  return { ...bare, text: sentence(joined(words)), subject, location, participants }
}

/** Only whether there are dates matters. */
const anyYear = 2000

/** One capitalised word, or "Berlin, Germany": taken for a town or country. */
const CITY = /^\p{Lu}[\p{L}-]+(?:, \p{Lu}[\p{L} -]+)?$/u

const dateWords = (start: string | undefined, end: string | undefined): ReadonlyArray<string> => {
  if (start === undefined) return end === undefined ? [] : ["until", dateText(end)]
  return end === undefined || end === start ? ["on", dateText(start)] : ["from", dateText(start), "to", dateText(end)]
}

const fieldsStatement = ({ kind, data, when }: Evidence): MemoryStatement => {
  const fields: Array<string> = []
  collectFields(data, "", 0, fields)
  const [subject] = ["subject", "name", "title"].flatMap((key) => textOf(data[key]) ?? [])
  const dated = when === undefined || fields.some((field) => field.includes(dateText(when))) ? [] : [dateText(when)]
  const text = `${keyWords(plainText(kind, VALUE_LENGTH_MAX))}: ${[...fields, ...dated].join(", ")}`
  return { ...bare, text: sentence(plainText(text, STATEMENT_LENGTH_MAX)), subject, isRecord: true }
}

const collectFields = (node: Schema.Json, key: string, depth: number, fields: Array<string>): void => {
  if (fields.length >= FIELDS_MAX || depth > FIELD_DEPTH_MAX || node === null || node === false) return
  if (Array.isArray(node) && node.every((item) => typeof item !== "object")) {
    const values = node.slice(0, FIELDS_MAX).flatMap((item) => valueText(item) ?? [])
    if (values.length > 0) fields.push(joined([key, values.join(" and ")]))
  } else if (typeof node === "object") {
    for (const [name, item] of Object.entries(node)) {
      collectFields(
        item,
        joined([key, Array.isArray(node) ? "" : keyWords(plainText(name, VALUE_LENGTH_MAX))]),
        depth + 1,
        fields
      )
    }
  } else {
    const value = valueText(node)
    if (value !== undefined) fields.push(joined([key, value]))
  }
}

const valueText = (value: Schema.Json | undefined): string | undefined => {
  if (typeof value === "string") return isIsoDate(value) ? dateText(value) : textOf(value)
  return typeof value === "number" ? String(value) : value === true ? "yes" : undefined
}

const bare = {
  unsaid: "",
  date: undefined,
  location: undefined,
  participants: [],
  isRecord: false,
  speaker: undefined
} as const

/** Adds a missing subject: "lives in Seattle" about Alice becomes "Alice lives in Seattle". */
const aboutSubject = (subject: string | undefined, text: string): string => {
  if (subject === undefined || text === "" || mentions(text, subject)) return text
  if (PREDICATE.test(text)) return joined([asActor(subject), text])
  // No name in front of the user's own statements: the asker knows who the user is.
  return isUser(subject) ? text : `${subject}: ${text}`
}

/** Begins with a lower-case verb in the third person or the past. */
const PREDICATE = /^(?:will|can|had|did|went|got|bought|met|[a-z]+(?:[^s]s|ed))\s/

/** Name of the subject; "The user" for `user`. */
const mentions = (text: string, subject: string): boolean =>
  subject.split(" ").some((name) => name.length > 1 && holds(text, name)) ||
  (isUser(subject) && /^(?:the user|user|i|my)\b/i.test(text))

const asActor = (subject: string | undefined): string | undefined =>
  subject !== undefined && isUser(subject) ? "The user" : subject

const holds = (text: string, part: string): boolean => part !== "" && text.toLowerCase().includes(part.toLowerCase())

const sentence = (text: string): string => (text === "" || /[.!?…]["')\]]?$/.test(text) ? text : `${text}.`)

const joined = (words: ReadonlyArray<string | undefined>): string =>
  words.filter((word) => word !== undefined && word !== "").join(" ")

/** `shoeSize` and `shoe_size` become `shoe size`. */
const keyWords = (key: string): string =>
  key
    .replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`)
    .replace(/[_.-]+/g, " ")
    .trim()

const textOf = (value: Schema.Json | undefined, lengthMax: number = VALUE_LENGTH_MAX): string | undefined => {
  const text = typeof value === "string" ? plainText(value, lengthMax) : ""
  return text === "" ? undefined : text
}

const textsOf = (value: Schema.Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value) ? value.slice(0, PARTICIPANTS_MAX).flatMap((item: Schema.Json) => textOf(item) ?? []) : []
