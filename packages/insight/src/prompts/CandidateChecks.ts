/**
 * Checks what a model proposed: a candidate, or the reason for its rejection. Even a model that obeys an attacker passes
 * only with what a message of the conversation says.
 *
 * Order: shape and kind, orders, source and quote, names and numbers and wording, days, confidence.
 */
import type { Schema } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import type { Candidate, DroppedCandidate } from "../extraction/Extractor.ts"
import { clippedText, isJsonArray, leafTexts } from "./ClippedJson.ts"
import { datesInText } from "./DatesInText.ts"
import type { DateSupport } from "./DateSupport.ts"
import type { WireMemory } from "./ExtractionPrompt.ts"
import { isInstruction } from "./InstructionText.ts"
import type { PromptKind } from "./PromptKinds.ts"
import { type ClaimedText, inventedWord, isQuoted, isWordingShown, type ShownText } from "./Support.ts"
import { visibleLine, visibleText } from "../text/VisibleText.ts"

/** A lower confidence means that the model itself calls it a guess. */
const confidenceMin = 0.3
const mentionsMax = 16
const tagsMax = 8

/** What the model was shown; the basis of the checks. */
export interface Shown {
  readonly kinds: ReadonlyMap<string, PromptKind>
  /** Number of a new message -> its text in this window. */
  readonly messages: ReadonlyMap<number, string>
  /** Text of the turn before a message: a question may state the day that its answer is about. */
  readonly turnBefore: (number: number) => string
  /** Messages that give orders; nothing else in them is accepted either. */
  readonly ordering: ReadonlySet<number>
  /** Messages, context and summary, without those that give orders. */
  readonly everything: ShownText
  /** The day of a message, which its relative dates count from. */
  readonly dayOf: (number: number) => string
  readonly dates: DateSupport
}

export type Judgement = { readonly candidate: Candidate } | { readonly dropped: DroppedCandidate }

export const judge = (wire: WireMemory, shown: Shown): Judgement => {
  const kind = shown.kinds.get(wire.kind)
  const numbers = [...new Set(wire.sources)].filter((number) => shown.messages.has(number))
  const data = keptData(wire.data, kind)
  const drop = (reason: DroppedCandidate["reason"], message: string): Judgement => ({
    dropped: {
      kind: clippedText(visibleLine(wire.kind), Limits.schemaNameLengthMax),
      data,
      reason,
      message,
      sources: numbers.map((number) => number - 1)
    }
  })
  if (kind === undefined) return drop("malformed", "its kind was not asked for")
  if (Object.keys(data).length === 0) return drop("malformed", "its data has none of the properties of its kind")
  if (wire.confidence < 0 || wire.confidence > 1) return drop("malformed", "its confidence is not between 0 and 1")
  const texts = [...namesAndTexts(data), wire.quote, ...wire.tags, ...wire.mentions.map(({ name }) => name)]
  if (texts.some(isInstruction)) return drop("instruction", "it gives orders instead of saying something")
  if (numbers.length === 0) return drop("unsupported", "it names no message that it was taken from")
  const quoted = numbers.filter((number) => isQuoted(wire.quote, shown.messages.get(number) ?? ""))
  if (quoted.length === 0) return drop("unsupported", "its quote is in none of the messages that it names")
  if (quoted.every((number) => shown.ordering.has(number)))
    return drop("instruction", "the message that it quotes gives orders")

  const believed = numbers.filter((number) => !shown.ordering.has(number))
  const cited = believed.map((number) => ({
    text: `${shown.turnBefore(number)}\n${shown.messages.get(number)}`,
    day: shown.dayOf(number)
  }))
  const isOfMessage = (day: string): boolean => cited.some((message) => message.day === day)
  const { claims, days } = claimsOf(data, kind, cited)
  const invented = inventedWord(claims, shown.everything)
  if (invented !== undefined) return drop("unsupported", "it holds a name or a number that no message has")
  if (!isWordingShown(claims, shown.everything)) return drop("unsupported", "no message says it in such words")
  const isTold = (day: string): boolean => cited.some((message) => shown.dates.isTold(day, message.text, message.day))
  if (!days.every((alternatives) => alternatives.some((day) => isOfMessage(day) || isTold(day)))) {
    return drop("unsupported", "it holds a date that does not follow from the messages")
  }
  const when = eventTime(wire.when ?? undefined, isOfMessage, isTold)
  if (when === "untold") return drop("unsupported", "its event time does not follow from the messages")
  if (wire.confidence < confidenceMin) return drop("low_confidence", "the model was not sure of it")
  return {
    candidate: {
      kind: kind.kind.name,
      data,
      confidence: wire.confidence,
      ...(when === undefined ? {} : { when }),
      mentions: shownMentions(wire.mentions, shown),
      tags: shownTags(wire.tags, kind, shown),
      sources: believed.map((number) => number - 1)
    }
  }
}

/** Keeps declared properties; drops nulls and empty texts, by which models write absent values. */
const keptData = (data: JsonObject, kind: PromptKind | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries(data).flatMap(([name, value]) => {
      const isDeclared = kind?.properties === undefined || kind.properties.has(name)
      return isDeclared && value !== null && value !== "" ? [[visibleText(name), visibleJson(value)] as const] : []
    })
  )

const visibleJson = (value: Schema.Json): Schema.Json => {
  if (typeof value === "string") return visibleText(value).trim()
  if (value === null || typeof value !== "object") return value
  if (isJsonArray(value)) return value.map(visibleJson)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [visibleText(name), visibleJson(inner)]))
}

const namesAndTexts = (value: Schema.Json): ReadonlyArray<string> => {
  if (value === null || typeof value !== "object") return leafTexts(value)
  if (isJsonArray(value)) return value.flatMap(namesAndTexts)
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesAndTexts(inner)])
}

/** The claims in data: texts without their dates, and the dates. */
const claimsOf = (data: JsonObject, kind: PromptKind, cited: ReadonlyArray<{ readonly day: string }>) => {
  const years = [...new Set(cited.map(({ day }) => Number(day.slice(0, 4))))]
  const claims: Array<ClaimedText> = []
  const days: Array<ReadonlyArray<string>> = []
  for (const [property, value] of Object.entries(data)) {
    for (const text of leafTexts(value)) {
      if (kind.offered.has(text)) continue
      const found = years.map((year) => datesInText(text, year))
      claims.push({ property, text: found[0]?.rest ?? text })
      // The same places of the text, in each of the years.
      days.push(...(found[0]?.dates ?? []).map((_, at) => found.flatMap(({ dates }) => dates[at] ?? [])))
    }
  }
  return { claims, days }
}

const iso = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}):\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/

/**
 * The day of an event. Models tend to add the day of the message where the text has none: that is dropped, as is a
 * time of day, whose zone is unknown.
 */
const eventTime = (
  when: string | undefined,
  isOfMessage: (day: string) => boolean,
  isTold: (day: string) => boolean
): string | "untold" | undefined => {
  const day = iso.exec(when?.trim() ?? "")?.[1]
  if (day === undefined) return undefined
  if (isTold(day)) return day
  return isOfMessage(day) ? undefined : "untold"
}

const shownMentions = (mentions: WireMemory["mentions"], shown: Shown): Candidate["mentions"] =>
  mentions
    .map(({ name, type }) => ({ name: visibleLine(name), type: visibleLine(type).toLowerCase() }))
    .filter(({ name, type }) => {
      const terms = tokenize(name)
      return /^[a-z]{1,32}$/.test(type) && terms.length > 0 && terms.every((term) => shown.everything.terms.has(term))
    })
    .slice(0, mentionsMax)

/** Tags drive filters, so each of their words must come from the conversation or from the kind. */
const shownTags = (tags: WireMemory["tags"], { kind }: PromptKind, shown: Shown): ReadonlyArray<string> => {
  const ofKind = new Set(tokenize(`${kind.name} ${kind.description}`))
  const isShown = (term: string) => shown.everything.terms.has(term) || ofKind.has(term)
  const kept = tags
    .map((tag) => visibleLine(tag).toLowerCase())
    .filter((tag) => tag.length <= Limits.tagLengthMax && /^[\p{L}\p{N}][\p{L}\p{N}\p{M} _-]*$/u.test(tag))
    .filter((tag) => tokenize(tag).every(isShown))
  return [...new Set(kept)].slice(0, tagsMax)
}
