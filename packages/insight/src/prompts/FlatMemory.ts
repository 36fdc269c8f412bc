/** The flat form in which a model writes memories, as data of the built-in kinds that were asked for. */
import type { JsonObject } from "@muniment/domain/Memory"
import type { MemoryType, WireMemory } from "./ExtractionPrompt.ts"

export interface FilledMemory {
  readonly kind: string
  readonly data: JsonObject
  readonly tags: ReadonlyArray<string>
}

const fact = "factual_memory"
const preference = "preference_memory"
const event = "temporal_event"
const instruction = "instruction_memory"

/** `kinds` has one of them. */
export const isFlat = (kinds: ReadonlySet<string>): boolean =>
  [fact, preference, event, instruction].some((kind) => kinds.has(kind))

/** `day`: a date that the messages tell. Undefined: it has none of the forms that were asked for. */
export const filledMemory = (
  { about, text, type }: Pick<WireMemory, "about" | "text"> & { readonly type: MemoryType },
  day: string | undefined,
  kinds: ReadonlySet<string>
): FilledMemory | undefined => {
  const taste = type === "preference" ? tasteOf(about, text) : undefined
  if (type === "instruction" && kinds.has(instruction))
    return { kind: instruction, data: { text, ...(day !== undefined && { since: day }) }, tags: [] }
  const tags = type === "instruction" ? ["instruction"] : []
  if (taste !== undefined && kinds.has(preference))
    return { kind: preference, data: { subject: about, ...taste }, tags }
  if (day !== undefined && (type === "event" || type === "plan") && kinds.has(event))
    return { kind: event, data: { event: text, subject: about, eventDate: day }, tags }
  return kinds.has(fact) ? { kind: fact, data: { subject: about, fact: text }, tags } : undefined
}

/** Forms of the verb behind the one that it is about. */
const verbs: ReadonlyArray<readonly [type: string, form: RegExp]> = [
  [
    "dislikes",
    /^(?:really |also )?(?:dislikes?|hates?|can ?not stand|can't stand|does not like|doesn't like|do not like|don't like) /i
  ],
  ["likes", /^(?:really |also )?(?:likes?|loves?|enjoys?|is fond of) /i],
  ["prefers", /^(?:prefers?) /i],
  ["avoids", /^(?:avoids?) /i],
  ["wants", /^(?:wants?|would like) /i],
  ["needs", /^(?:needs?) /i]
]

/** Of a text that begins with the one that it is about and such a verb; another one stays a fact. */
const tasteOf = (about: string, text: string) => {
  const start = [about, `The ${about}`].find((name) => text.toLowerCase().startsWith(`${name.toLowerCase()} `))
  if (start === undefined) return undefined
  const said = text.slice(start.length + 1)
  for (const [preferenceType, form] of verbs) {
    if (form.test(said)) return { preferenceType, preference: said.replace(form, "").replace(/[.!]+$/, "") }
  }
  return undefined
}
