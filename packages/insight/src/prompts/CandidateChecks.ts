/**
 * Checks what a model proposed against what it was shown: a candidate, a fault that is put to the model once, or the reason
 * for a rejection. Even a model that obeys an attacker passes only with what a message of the conversation says.
 *
 * A quote stands in a message; names, numbers and days stand in what was shown, or follow from it by the calendar; what is
 * denied stays denied. Not the words: a careful model says in its own what messages say over several lines. A strict
 * check, for weak models, takes only what a quoted sentence of the writer's own states, mostly in its words.
 */
import type { Schema } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"
import { isForeign } from "@muniment/language/text/Language"
import { queryTerms, tokenize } from "@muniment/language/text/Tokenizer"
import {
  type ClaimedText,
  clausesIn,
  isDenied,
  isQuoted,
  isWordingShown,
  shareAmong,
  type ShownText,
  strayIn,
  tellingTerms
} from "./Support.ts"
import { derivedNumbers } from "./DerivedNumbers.ts"
import type { Candidate, DroppedCandidate, Turn } from "../extraction/Extractor.ts"
import { framesOf } from "@muniment/language/speech/Frames"
import { moodOf, negatorsIn, statementsOf } from "@muniment/language/speech/Mood"
import { sentencesOf, writtenOut } from "@muniment/language/speech/WrittenOut"
import { datesInText, weekdayNames } from "@muniment/language/calendar/CalendarWords"
import { clippedText, isJsonArray, leafTexts, visibleLine, visibleText } from "@muniment/language/text/VisibleText"
import { type DateSupport, tellsDay } from "@muniment/language/calendar/DateSupport"
import { filledMemory, type WireMemory, type WireRecord, withinBounds } from "./ExtractionPrompt.ts"
import { isInstruction } from "./InstructionText.ts"
import type { PromptKind } from "./PromptKinds.ts"

/** Confidence of candidates that passed the checks. */
const modelConfidence = 0.9
/** A weak model's words have so large a share of those that it quotes from. */
const strictShareMin = 0.6

/** A message that was shown in whole or in part. */
export interface ShownMessage extends Pick<Turn, "role" | "name" | "content"> {
  /** Which its relative dates count from. */
  readonly day: string
}

/** Texts that the model was shown; the basis of the checks. */
export interface Shown {
  /** Those that may be filled. */
  readonly kinds: ReadonlyMap<string, PromptKind>
  readonly messages: ReadonlyMap<number, ShownMessage>
  /** Turns before the first message, oldest first, by their numbers. */
  readonly context: ReadonlyMap<number, ShownMessage>
  /** Messages that give orders; nothing in them is accepted. */
  readonly ordering: ReadonlySet<number>
  /** Id in the prompt -> a known memory that may be replaced: whom it is about, and what it says. */
  readonly known: ReadonlyMap<string, { readonly about: string; readonly text: string }>
  /** All that is known, open or not. */
  readonly knownTexts: ReadonlyArray<string>
  /** Messages, context, names and what is known, without what gives orders. */
  readonly everything: ShownText
  readonly dates: DateSupport
  readonly isStrict: boolean
}

export type Judgement =
  | { readonly candidate: Candidate; readonly replaces: string | undefined }
  /** `isRepairable`: the model may correct it. */
  | { readonly dropped: DroppedCandidate; readonly isRepairable: boolean }

/** A flat memory. */
export const judgeMemory = (given: WireMemory, shown: Shown): Judgement => {
  const wire = withinBounds(given)
  const { about, op, quote, text, type } = wire
  const texts = [about, text, quote]
  const placed = placedQuote(quote, wire.n, shown)
  const data: JsonObject = { subject: about, fact: text }
  const drop = dropOf({ kind: "factual_memory", data }, placed?.sources ?? [])
  if (text === "" || about === "") return drop("malformed", "it says nothing")
  if (texts.some(isInstruction)) return drop("instruction", "it gives orders instead of saying something")
  if (placed === undefined) return drop("unsupported", "its quote is in none of the messages", true)
  const unfit = unfitSource(placed, shown)
  if (unfit !== undefined) return drop(...unfit)
  const { message, sources } = placed
  if (hasFirstPerson(text)) return drop("unsupported", "it is not said in the third person", true)
  if (isSame(text, message.content))
    return drop("unsupported", "it repeats the message instead of saying what it tells", true)
  const target = op === "add" ? undefined : shown.known.get(wire.id ?? "")
  if (target !== undefined && !isOfSame(target, { about, text }))
    return drop("unsupported", "it has nothing in common with the memory that it would replace", true)
  if (target !== undefined && isSame(text, target.text))
    return drop("unsupported", "the memory that it would replace says the same")
  if (op === "end" && target === undefined) return drop("unsupported", "it ends no known memory")
  const fault = faultIn(
    [
      { property: "subject", text: about },
      { property: "fact", text }
    ],
    sources,
    shown
  )
  if (fault !== undefined) return drop("unsupported", fault, true)
  if (shareAmong(tellingTerms(text, about), shown.everything.terms) === 0)
    return drop("unsupported", "none of its words stands in the messages", true)
  const weakness = shown.isStrict ? weaknessIn({ about, quote, text }, placed, shown) : undefined
  if (weakness !== undefined) return drop(...weakness)
  if (op === "add" && isCutOff(quote, message.content) && negatorsIn(writtenOut(text)).length === 0)
    return drop("unsupported", "it leaves out the denial before its quote", true)
  const day = toldDay(wire.date ?? undefined, sources, shown)
  const filled = filledMemory({ about, text, type }, op === "end" ? undefined : day, new Set(shown.kinds.keys()))
  if (filled === undefined) return drop("malformed", "its kind was not asked for")
  return {
    candidate: {
      ...filled,
      confidence: modelConfidence,
      ...(day !== undefined && { when: day }),
      mentions: [],
      sources: indexesOf(sources)
    },
    replaces: target === undefined ? undefined : wire.id!
  }
}

/** A memory of a registered kind. */
export const judgeRecord = (wire: WireRecord, shown: Shown): Judgement => {
  const kind = shown.kinds.get(wire.kind)
  const data = keptData(wire.data, kind)
  const placed = placedQuote(wire.quote, wire.n, shown)
  const name = clippedText(visibleLine(wire.kind), Limits.schemaNameLengthMax)
  const drop = dropOf({ kind: name, data }, placed?.sources ?? [])
  if (kind === undefined) return drop("malformed", "its kind was not asked for")
  if (Object.keys(data).length === 0) return drop("malformed", "its data has none of the properties of its kind")
  if ([...namesAndTexts(data), wire.quote].some(isInstruction))
    return drop("instruction", "it gives orders instead of saying something")
  if (placed === undefined) return drop("unsupported", "its quote is in none of the messages")
  const unfit = unfitSource(placed, shown)
  if (unfit !== undefined) return drop(...unfit)
  const claims = Object.entries(data).flatMap(([property, value]) =>
    leafTexts(value)
      .filter((text) => !kind.offered.has(text))
      .map((text) => ({ property, text }))
  )
  const fault = faultIn(claims, placed.sources, shown)
  if (fault !== undefined) return drop("unsupported", fault)
  if (!isWordingShown(claims, shown.everything)) return drop("unsupported", "no message says it in such words")
  return {
    candidate: {
      kind: kind.kind.name,
      data,
      confidence: modelConfidence,
      mentions: [],
      tags: [],
      sources: indexesOf(placed.sources)
    },
    replaces: undefined
  }
}

/** Numbers of the messages that their writer asked not to keep; empty where no such words stand in a message of theirs. */
export const withheldBy = ({ n, quote }: Pick<WireRecord, "n" | "quote">, shown: Shown): ReadonlyArray<number> => {
  const placed = placedQuote(quote, n, shown)
  if (placed === undefined || !isWish(quote, placed, shown)) return []
  const { name } = placed.message
  return [...new Set([...n, placed.number])]
    .filter((number) => {
      const message = shown.messages.get(number) ?? shown.context.get(number)
      const isNear = number <= placed.number && number >= placed.number - withheldReach
      return isNear && message?.role === "user" && message.name === name
    })
    .slice(0, withheldMax)
}
/** "Don't keep that" is said of what was said shortly before. */
const withheldReach = 4
const withheldMax = 3

/** Of the writer's own: not of a text that was pasted, nor of a message that gives orders. */
const isWish = (quote: string, { message: { content, role }, number }: PlacedQuote, { ordering }: Shown): boolean =>
  role === "user" &&
  !ordering.has(number) &&
  !isFramed(quote, content) &&
  asksToWithhold.test(sentencesAround(quote, content))

const isFramed = (quote: string, content: string): boolean => {
  const start = placeOf(quote, content)
  return framesOf(content).some((frame) => frame.start <= start && start < frame.end)
}

/** "Don't keep that", not "don't forget that", in the languages of most users; a model alone could leave out what it likes. */
const refusing =
  "don['’]?t|do not|never|not to|no need to|rather (?:you )?(?:not|didn['’]?t)|shouldn['’]?t|without|stop|avoid"
const keeping = String.raw`keep|kept|sav|stor|remember|record|writ|not(?:e|ing)\b|log|memori|retain|hold on to`
const asksToWithhold = new RegExp(
  [
    String.raw`\b(?:${refusing})\b[^.!?]{0,60}\b(?:${keeping})`,
    String.raw`\boff the record\b|(?<!(?:n['’]?t|\bnot|\bnever) )\b(?:forget|delete|erase|wipe|remove|scrub|scrap|strike)\b[^.!?]{0,30}\b(?:this|that|it|what|my|the)\b`,
    String.raw`\bnicht\b[^.!?]{0,40}(?:speicher|merk|behalt|notier|aufschreib|festhalt)|\b(?:vergiss(?! (?:bitte )?nicht)|lösch)`,
    String.raw`\bno\b[^.!?]{0,40}(?:guard|recuerd|anot|almacen|registr)|(?<!\bno )\b(?:olvida|borra)`,
    String.raw`\bne\b[^.!?]{0,40}(?:gard|retien|not|enregistr|mémoris)|(?<!\bn['’])\b(?:oublie|efface)`,
    String.raw`\bnon\b[^.!?]{0,40}(?:salv|ricord|memorizz|annot|tener|registr)|(?<!\bnon )\b(?:dimentica|cancella)`,
    String.raw`\bnão\b[^.!?]{0,40}(?:guard|salv|lembr|anot|memoriz|regist)|(?<!\bnão )\b(?:esqueça|esquece|apag)`
  ].join("|"),
  "iu"
)

/** Weak models may only find what the writer states. */
const weaknessIn = (
  { about, quote, text }: Pick<WireMemory, "about" | "quote" | "text">,
  { message: { content }, sources }: PlacedQuote,
  { messages }: Shown
): Refusal | undefined => {
  if (isFramed(quote, content)) return ["unsupported", "it stands in a text that is not the writer's own"]
  const sentence = sentencesAround(quote, content)
  const statement = statementsOf(sentence).find((part) => part.includes(quote.trim())) ?? sentence
  const mood = isForeign(content) ? "stated" : moodOf(writtenOut(statement.trim()))
  if (mood === "asked") return ["question", "a question states nothing"]
  if (mood === "supposed") return ["hypothetical", "supposed, not stated"]
  if (mood !== "stated") return ["unsupported", "words of somebody else, or taken back"]
  if (!isForeign(content) && clausesIn(text.replaceAll(about, "")).some((clause) => isDenied(clause, [content])))
    return ["unsupported", "it denies what the message states, or states what it denies"]
  const told = new Set(
    [about, ...sources.map((number) => messages.get(number)!.content)].flatMap((one) => [...tokenize(one)])
  )
  return shareAmong(tellingTerms(text), told) < strictShareMin
    ? ["unsupported", "many of its words are in none of the messages"]
    : undefined
}

/** "I don't [live in Rome]": what is quoted is denied by the words before it. */
const isCutOff = (quote: string, content: string): boolean => {
  const before = content.slice(0, placeOf(quote, content)).match(/(?:[\p{L}'’]+ ){1,2}$/u)?.[0] ?? ""
  return /(?:\bnot|\bnever|n['’]t) (?:\p{L}+ )?$/iu.test(before)
}

/** Where it begins; 0 where it is written otherwise. */
const placeOf = (quote: string, content: string): number =>
  Math.max(0, content.toLowerCase().indexOf(quote.trim().toLowerCase()))

/** The sentences that a quote stands in. */
const sentencesAround = (quote: string, content: string): string => {
  const start = placeOf(quote, content)
  const end = start + quote.trim().length
  let after = 0
  const inside = content
    .split("\n")
    .flatMap(sentencesOf)
    .filter((sentence) => {
      const from = content.indexOf(sentence, after)
      after = from + sentence.length
      return from < end && after > start
    })
  return inside.join(" ")
}

interface PlacedQuote {
  readonly number: number
  readonly message: ShownMessage
  /** Numbers of the messages, without those that give orders, the quoted one among them. */
  readonly sources: ReadonlyArray<number>
}

/** In one of the messages that it names, else in the only other one that has it. */
const placedQuote = (
  quote: string,
  given: ReadonlyArray<number>,
  { messages, ordering }: Shown
): PlacedQuote | undefined => {
  const named = [...new Set(given)].filter((number) => messages.has(number))
  const holds = (number: number): boolean => isQuoted(quote, messages.get(number)!.content)
  const others = [...messages.keys()].filter((number) => !named.includes(number) && holds(number))
  const inNamed = named.filter(holds)
  const number =
    inNamed.find((one) => messages.get(one)!.role === "user") ??
    inNamed[0] ??
    (others.length === 1 ? others[0] : undefined)
  if (number === undefined) return undefined
  const sources = [...new Set([...named, number])].filter((one) => !ordering.has(one)).sort((a, b) => a - b)
  return { number, message: messages.get(number)!, sources }
}

type Refusal = readonly [reason: DroppedCandidate["reason"], message: string, isRepairable?: boolean]

const unfitSource = ({ number, sources }: PlacedQuote, shown: Shown): Refusal | undefined => {
  if (shown.ordering.has(number)) return ["instruction", "the message that it quotes gives orders"]
  if (sources.every((source) => shown.messages.get(source)!.role !== "user"))
    return ["unsupported", "only an assistant says it"]
  return undefined
}

/** Orders have no place in what is kept; neither has a name, a number or a day that nobody told. */
const faultIn = (
  claims: ReadonlyArray<ClaimedText>,
  sources: ReadonlyArray<number>,
  shown: Shown
): string | undefined => {
  const cited = sources.map((number) => shown.messages.get(number)!)
  const years = [...new Set(cited.map(({ day }) => Number(day.slice(0, 4))))]
  const stray = strayIn(claims, { years, isTold: dayTeller(sources, shown), shown: shown.everything })
  if (stray === undefined) return undefined
  if ("day" in stray) return `the day ${stray.day} does not follow from the messages`
  const invented = stray.word
  const isNumber = /\p{N}/u.test(invented)
  // Other languages write nouns with a capital.
  const isOfForeign = cited.some(({ content }) => isForeign(content)) && claims.some(({ text }) => isForeign(text))
  if (!isNumber && isOfForeign) return undefined
  const texts = [...cited.map(({ content }) => content), ...shown.knownTexts]
  const from = { count: sources.length, days: cited.map(({ day }) => day), nowMillis: undefined }
  if (isNumber && derivedNumbers(texts, from).includes(invented)) return undefined
  return `"${invented}" stands in no message`
}

/** Of messages that are not cited the nearest before them count: a question may state the day that its answer is about. */
const dayTeller = (sources: ReadonlyArray<number>, { context, dates, knownTexts, messages }: Shown) => {
  const first = Math.min(...sources)
  const before = [...messages].flatMap(([number, message]) =>
    number < first && number >= first - messagesBefore ? [message] : []
  )
  const said = [
    ...sources.map((number) => messages.get(number)!),
    ...before,
    ...[...context.values()].slice(-turnsBefore)
  ]
  const known = { day: messages.get(first)!.day, texts: knownTexts }
  const named = new Set(
    weekdayNames.flatMap((name, weekday) =>
      sources.some((number) => new RegExp(`\\b${name}`, "i").test(messages.get(number)!.content)) ? [weekday] : []
    )
  )
  const knownDays = knownTexts.flatMap((text) => datesInText(text, Number(known.day.slice(0, 4))).dates.flat())
  // "Sorry, the 29", after "jan 22".
  const isInKnownMonth = (day: string): boolean =>
    sources.some((number) => new RegExp(`\\b${Number(day.slice(-2))}\\b`).test(messages.get(number)!.content)) &&
    said.some(({ content, day: saidOn }) =>
      datesInText(content, Number(saidOn.slice(0, 4)))
        .dates.flat()
        .some((one) => one.slice(0, 7) === day.slice(0, 7))
    )
  // "By the summer": a year alone, of this or the next one.
  const isNearYear = (day: string): boolean =>
    day.endsWith("-01-01") && Math.abs(Number(day.slice(0, 4)) - Number(known.day.slice(0, 4))) <= 1
  // "Saturday", of an event whose day is known.
  const isNearKnown = (day: string): boolean =>
    named.has((new Date(day).getUTCDay() + 6) % 7) &&
    knownDays.some((one) => Math.abs(Date.parse(one) - Date.parse(day)) < 7 * dayMillis)
  return (day: string): boolean =>
    isNearKnown(day) ||
    isInKnownMonth(day) ||
    isNearYear(day) ||
    [...said.map(({ content, day: saidOn }) => ({ day: saidOn, texts: [content] })), known].some((one) =>
      tellsDay(day, one, dates)
    )
}
const turnsBefore = 3
const messagesBefore = 8

const iso = /^(\d{4}-\d{2}-\d{2})(?:T\S*)?$/

/**
 * The day of an event. Models tend to add the day of the message where the text has none: that is dropped, as is one that
 * nobody told.
 */
const toldDay = (date: string | undefined, sources: ReadonlyArray<number>, shown: Shown): string | undefined => {
  const day = iso.exec(date?.trim() ?? "")?.[1]
  if (day === undefined || Number.isNaN(Date.parse(day))) return undefined
  const isOfMessage = sources.some((number) => shown.messages.get(number)!.day === day)
  const isToldWell = sources.some((number) => {
    const { content, day: saidOn } = shown.messages.get(number)!
    return shown.dates.isTold(day, content, saidOn)
  })
  return isToldWell || (!isOfMessage && dayTeller(sources, shown)(day)) ? day : undefined
}

/** Outside of quotation marks. */
export const hasFirstPerson = (text: string): boolean =>
  !isForeign(text) &&
  /(?<![\p{L}'’])(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Mm]ine|[Mm]yself)(?![\p{L}])/u.test(
    text.replaceAll(/["“][^"”]*["”]/g, "")
  )

export const wordsOf = (text: string): string => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ")
const isSame = (one: string, other: string): boolean => wordsOf(one) === wordsOf(other)

/** About the same, or with a word in common beside the names. */
const isOfSame = (
  known: { readonly about: string; readonly text: string },
  news: { readonly about: string; readonly text: string }
): boolean => {
  if (wordsOf(known.about) === wordsOf(news.about)) return true
  const names = new Set([known.about, news.about, "user"].flatMap((name) => [...tokenize(name)]))
  const told = new Set(queryTerms(known.text))
  return queryTerms(news.text).some((term) => told.has(term) && !names.has(term))
}

const indexesOf = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => numbers.map((number) => number - 1)

const dropOf =
  (what: Pick<DroppedCandidate, "kind" | "data">, sources: ReadonlyArray<number>) =>
  (reason: DroppedCandidate["reason"], message: string, isRepairable = false): Judgement => ({
    dropped: { ...what, reason, message, sources: indexesOf(sources) },
    isRepairable
  })

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
