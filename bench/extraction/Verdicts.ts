/**
 * Judges whether one candidate is what one label asks for. Right means the kind, the person, the words and the day; a
 * candidate that misses only the day is counted separately.
 */
import type { Candidate } from "@muniment/insight/extraction/Extractor"
import type { EventData, FieldLabel, Forbidden, Label, LabelForm, RecordData } from "./LabelledSet.ts"
import { read, says, saysAll } from "./Wordings.ts"

export type Verdict = "right" | "wrong date" | "no"

/** The best verdict over the forms of the label. `names`: of the user. */
export const verdict = (candidate: Candidate, label: Label, names: ReadonlyArray<string>): Verdict => {
  const verdicts = [label, ...(label.or ?? [])].map((form) => formVerdict(candidate, form, names))
  return verdicts.find((one) => one === "right") ?? verdicts.find((one) => one === "wrong date") ?? "no"
}

/** All texts of the candidate count, whatever field they stand in. */
export const isForbidden = (
  candidate: Candidate,
  { kind, match }: Forbidden,
  names: ReadonlyArray<string>
): boolean => {
  if (kind !== undefined && candidate.kind !== kind) return false
  const { data } = candidate
  if (match.preferenceType !== undefined && !match.preferenceType.includes(textOf(data["preferenceType"]))) return false
  const text = Object.values(data).map(textOf).join(" . ")
  const isAboutSubject = match.subject === undefined || isSubject(textOf(data["subject"]), "", match.subject, names)
  return isAboutSubject && saysAll(read(text), match.terms, match.without)
}

const formVerdict = (candidate: Candidate, { kind, data: asked }: LabelForm, names: ReadonlyArray<string>): Verdict => {
  const { data } = candidate
  if (candidate.kind !== kind) return "no"
  if ("fields" in asked) return isRecord(data, asked) ? "right" : "no"
  const text = wordingFields.map((field) => textOf(data[field])).join(" . ")
  if (!saysAll(read(text), asked.terms, asked.without)) return "no"
  if (!isSubject(textOf(data["subject"]), text, asked.subject, names)) return "no"
  if ("preferenceType" in asked && !asked.preferenceType.includes(textOf(data["preferenceType"]))) return "no"
  return !("eventDate" in asked) || areDates(data, asked) ? "right" : "wrong date"
}

/** Where the three built-in kinds say what they are about. */
const wordingFields = ["fact", "preference", "domain", "event", "location", "participants"]

/**
 * A third person's label is also met by a memory under the user that names the person in its text
 * ("Alice's sister Anna lives in Berlin"); an event may leave its subject out. The user's own label is
 * met under the user's names only.
 */
const isSubject = (
  subject: string,
  text: string,
  asked: ReadonlyArray<string>,
  names: ReadonlyArray<string>
): boolean => {
  const own = ["user", "the user", ...names].map((name) => read(name).words)
  const isUser = own.includes(read(subject).words) || subject === ""
  return asked.some((one) =>
    one === "user" ? isUser : says(read(subject), one) || (isUser && text !== "" && says(read(text), one))
  )
}

const areDates = (data: Candidate["data"], asked: EventData): boolean =>
  isDate(data["eventDate"], asked.eventDate) && (asked.endDate === undefined || isDate(data["endDate"], asked.endDate))

const isDate = (value: unknown, asked: ReadonlyArray<string>): boolean =>
  value === undefined ? asked.includes("none") : asked.some((day) => day !== "none" && textOf(value).startsWith(day))

const isRecord = (data: Candidate["data"], { fields, optional = {} }: RecordData): boolean =>
  Object.entries(fields).every(([field, asked]) => isField(data[field], asked)) &&
  Object.entries(data).every(([field, value]) => {
    const asked = fields[field] ?? optional[field]
    return asked !== undefined && isField(value, asked)
  })

const isField = (value: unknown, asked: FieldLabel): boolean => {
  if (value === undefined || value === null) return false
  if (typeof asked !== "object") return normalised(value) === normalised(asked)
  if ("terms" in asked) return saysAll(read(textOf(value)), asked.terms, asked.without)
  if ("set" in asked) {
    const members: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
    return members.map(normalised).sort().join("|") === asked.set.map(normalised).sort().join("|")
  }
  return asked.some((one) => isField(value, one))
}

/** Case, white space and closing punctuation do not count; of a phone number only its digits do. */
const normalised = (value: unknown): string => {
  const text = textOf(value)
    .toLowerCase()
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[.,!?]+$/, "")
  return /^\+?[\d\s()./-]{7,}$/.test(text) && !/^\d{4}-\d{2}-\d{2}/.test(text) ? text.replace(/\D/g, "") : text
}

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value
  if (value === undefined || value === null) return ""
  return Array.isArray(value) ? value.map(textOf).join(" . ") : JSON.stringify(value)
}
