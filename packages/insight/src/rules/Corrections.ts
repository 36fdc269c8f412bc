/**
 * Corrections of what was said before: `actually, Porto`, `it has been moved to Friday`, `we cancelled the trip`. What they
 * correct is the latest finding that has the event or the value; the corrected one takes its place and keeps its
 * attribute, so that the memory of an earlier request gets a new version.
 */
import { eventDates } from "@muniment/language/calendar/EventDates"
import type { Finding } from "./Finding.ts"
import { type CorrectionForm, correctionForms, correctionHints } from "./lexicon/corrections.ts"
import { oneOf } from "@muniment/language/text/OneOf"
import { expanded } from "./Pattern.ts"

export interface Correction {
  readonly type: CorrectionForm["type"]
  readonly noun?: string | undefined
  readonly was?: string | undefined
  readonly now?: string | undefined
}

const rows = correctionForms.map(({ says, type }) => ({ type, says: new RegExp(expanded(says), "iu") }))

/** Cheap, before the forms. */
const hint = oneOf(correctionHints, { before: String.raw`\b`, after: String.raw`\b`, flags: "i" })

/** Every correction that a statement may be; the first that fits something said before is meant. */
export const correctionsIn = (statement: string): ReadonlyArray<Correction> => {
  const text = statement.trim().replace(/[\s,;.!)]+$/, "")
  if (!hint.test(text)) return []
  // `..., which is good`
  const [head = text] = text.split(/, (?!not\b|but\b)| which /)
  return rows.flatMap(({ says, type }): ReadonlyArray<Correction> => {
    const found = (type === "meant" ? null : says.exec(head)) ?? says.exec(text)
    const { day, noun, now, was } = found?.groups ?? {}
    return day === undefined && noun === undefined && now === undefined ? [] : [{ type, noun, was, now: day ?? now }]
  })
}

/** `finding` as it is after the correction; undefined if the correction is not about it. */
export const afterCorrection = (correction: Correction, finding: Finding, day: string): Finding | undefined => {
  const { noun, now = "", type, was } = correction
  if (finding.attribute === "name") return undefined
  if (noun !== undefined && was === undefined && !names(finding, noun)) return undefined
  if (type === "cancelled") return finding.type === "event" ? cancelled(finding) : undefined
  if (was !== undefined && holds(finding.text, was)) return replaced(finding, was, now)
  const moved = finding.type === "event" && finding.eventDate !== undefined ? redated(finding, now, day) : undefined
  if (moved !== undefined || type !== "meant") return moved
  const known = valueLike(finding, now)
  return known === undefined ? undefined : replaced(finding, known, now)
}

const contentWords = (text: string): ReadonlyArray<string> =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 2 && !/^(?:the|our|his|her|going|with|for|and)$/.test(word))

/** Whether `denial` has the value that `said` states: `no longer works at Initech` of `works at Initech`. */
export const denies = (denial: Finding, said: Finding): boolean => {
  if (said.type !== "fact" || said.attribute === "name") return false
  const [values, denied] = [valueWords(said), valueWords(denial)]
  const holdsAll = (words: ReadonlyArray<string>, text: string) =>
    words.length > 0 && words.every((word) => contentWords(text).some((other) => isSameVerb(word, other)))
  // `is not married` denies `is married to Helen`.
  return holdsAll(values, denial.text) || holdsAll(denied, said.text)
}

const isSameVerb = (word: string, other: string): boolean => word.slice(0, stem) === other.slice(0, stem)

/** Letters by which forms of one verb are known: `takes`, `taking`. */
const stem = 3
const commonVerbs = /^(?:user|has|have|had|live|lives|lived|work|works|worked|are|was|were|not|never|longer|now)$/

/** Names in the statement, else its other content words. */
const valueWords = ({ subject, text }: Finding): ReadonlyArray<string> => {
  const rest = text.replace(subject, "").replace(/^The user\b/, "")
  const names = rest.match(/(?<=\S )\p{Lu}[\p{L}\p{N}'-]+/gu) ?? []
  const words = names.length > 0 ? names.map((name) => name.toLowerCase()) : contentWords(rest)
  return words.filter((word) => !commonVerbs.test(word))
}

/** `the exam` names `The user's exam in statistics`. */
const names = (finding: Finding, noun: string): boolean => {
  const told = new Set(contentWords(finding.text))
  const words = contentWords(noun)
  const head = words.at(-1)
  return (
    finding.type === "event" &&
    head !== undefined &&
    told.has(head) &&
    words.filter((word) => told.has(word)).length * 2 >= words.length
  )
}

const cancelled = (finding: Finding): Finding => {
  const { endDate: _, entity: __, eventDate: ___, ...rest } = finding
  return finding.rule === "cancellation"
    ? finding
    : { ...rest, rule: "cancellation", text: `Cancelled: ${finding.text}` }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
const asWord = (text: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(text)}(?![\\p{L}\\p{N}])`, "iu")
const holds = (text: string, value: string): boolean => asWord(value).test(text)

const replaced = (finding: Finding, was: string, now: string): Finding => {
  const change = (text: string) => text.replace(asWord(was), () => now)
  const { entity, location } = finding
  return {
    ...finding,
    text: change(finding.text),
    ...(location === undefined ? {} : { location: change(location) }),
    ...(entity === undefined
      ? {}
      : {
          entity: {
            ...entity,
            fields: Object.fromEntries(
              Object.entries(entity.fields).map(([name, told]) => [
                name,
                typeof told === "string" ? change(told) : told
              ])
            )
          }
        })
  }
}

/** On another day: one in the month of the event, unless the correction names its own. */
const redated = (finding: Finding, spoken: string, day: string): Finding | undefined => {
  const month = (finding.eventDate ?? day).slice(0, 7)
  const anchor = month === day.slice(0, 7) ? undefined : `${month}-01`
  const text = /^\d{1,2}(?:st|nd|rd|th)/.test(spoken) ? `on the ${spoken}` : `on ${spoken}`
  const date = eventDates(text, day, "future", anchor).find(({ start }) => start !== undefined)
  if (!dayWords.test(spoken) || date?.start === undefined || text.length - date.text.length > 6) return undefined
  const { endDate: _, ...rest } = finding
  const end = date.end === undefined ? {} : { endDate: date.end }
  return { ...rest, ...end, eventDate: date.start }
}

/** Not `4 days a week`. */
const dayWords =
  /^(?!.*\b(?:days?|weeks?|hours?|minutes?) ).*(?:\d(?:st|nd|rd|th)\b|\d \p{L}{3}|\p{L}{3} \d|day\b|tomorrow|tonight|weekend)/iu

const capitals = /(?<=\b(?:in|at|for|to|from|called|is|near) )\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)*(?=[^\p{Lu}]*$)/u
const numbers = /\d[\d.,]*/g

/** The value of the finding that `now` can stand for: a name for a name, a number for the only number. */
const valueLike = (finding: Finding, now: string): string | undefined => {
  if (/^\p{Lu}[\p{L}' -]*$/u.test(now)) return capitals.exec(finding.text)?.[0]
  const [known, ...more] = finding.text.match(numbers) ?? []
  return /^\d[\d.,]*$/.test(now) && more.length === 0 ? known : undefined
}
