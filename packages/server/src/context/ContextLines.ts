/**
 * Lines of a context: which of them fit into a number of tokens, and the text that they make, by section and group.
 *
 * Invariants: lines are taken in the order in which they are given, and laid out in an order that does not depend on it;
 * the text never has more tokens than are allowed. Lines begin with neither a blank nor a slash, which are all that a token
 * of o200k_base goes on with behind a line end: the tokens of a text are those of its lines, each counted once. What a memory says stays on one line, or is indented: it cannot look like a heading.
 */
import { Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { type ContextItem, contextSections, type ContextSectionName } from "@muniment/domain/Context"
import { speakersDay, todayIn } from "@muniment/language/calendar/SpokenDates"
import { dateText } from "@muniment/language/calendar/ResolvedDates"
import type { PlacedMemory } from "../search/CallerSearch.ts"

export interface LineGroup {
  readonly key: string
  /** The line above it; none where it is empty. */
  readonly title: string
  /** Groups of a section stand in this order; equal ones by their key. */
  readonly order: number
}

export interface ContextLine {
  /** Names the same line in every context. */
  readonly key: string
  readonly section: ContextSectionName
  readonly group: LineGroup
  /** Lines of a group stand in this order. */
  readonly order: number
  /** Text of the line, without the number of its source. */
  readonly text: string
  /** Whether it ends with a number that names its memory. */
  readonly isNumbered: boolean
  readonly item: ContextItem
  /** Place of a found memory, for the attestation of its source. */
  readonly placed?: PlacedMemory | undefined
}

/** Lines that were taken, and what they need with their headings. */
export interface TakenLines {
  readonly lines: ReadonlyArray<ContextLine>
  readonly tokens: number
}

/** Lines in a row that do not fit, after which nothing more is tried. */
const missesMax = 12

export interface Fitting {
  readonly count: TokenCounter
  readonly tokensMax: number
  readonly titles: SectionTitles
}

/** The lines that fit, with their headings. An entry is taken as a whole or not, and a line once. */
export const fitting = Effect.fnUntraced(function* (
  entries: Iterable<ReadonlyArray<ContextLine>>,
  { count, titles, tokensMax }: Fitting
): Effect.fn.Return<TakenLines> {
  const lines: Array<ContextLine> = []
  const known = new Set<string>()
  let [tokens, misses] = [0, 0]
  for (const entry of entries) {
    const fresh = entry.filter(({ key }) => !known.has(key))
    const headings = new Map(fresh.flatMap((line) => headingsOf(line, titles)).filter(([key]) => !known.has(key)))
    const needed = yield* countAll(count, [...headings.values(), ...fresh.map(longestText)])
    if (tokens + needed > tokensMax) {
      if (++misses === missesMax) break
      continue
    }
    misses = 0
    tokens += needed
    lines.push(...fresh)
    for (const { key } of fresh) known.add(key)
    for (const key of headings.keys()) known.add(key)
  }
  return { lines, tokens }
})

export type SectionTitles = Readonly<Record<ContextSectionName, string>>

const headingsOf = (
  { group, section }: ContextLine,
  titles: SectionTitles
): ReadonlyArray<readonly [string, string]> => [
  [section, `${titles[section]}\n`],
  ...(group.title === "" ? [] : [[`${section} ${group.key}`, `${group.title}\n`] as const])
]

/** Numbers of up to three digits are one token each. */
const longestText = (line: ContextLine): string => lineText(line, 999)

const lineText = ({ isNumbered, text }: ContextLine, number: number): string =>
  `${text}${isNumbered ? ` [${number}]` : ""}\n`

export interface LaidSection {
  readonly name: ContextSectionName
  readonly items: ReadonlyArray<ContextItem>
  readonly text: string
}

/** Sections in their order, and the ids that the numbers in their texts name. */
export const laidOut = (lines: ReadonlyArray<ContextLine>, titles: SectionTitles) => {
  const sources: Array<string> = []
  const bySection = Map.groupBy(lines, ({ section }) => section)
  const sections = contextSections.flatMap((name): ReadonlyArray<LaidSection> => {
    const here = bySection.get(name)
    if (here === undefined) return []
    const groups = [...Map.groupBy(here, ({ group }) => group.key)].sort(
      ([leftKey, [left]], [rightKey, [right]]) => left!.group.order - right!.group.order || byText(leftKey, rightKey)
    )
    const items: Array<ContextItem> = []
    let text = `${titles[name]}\n`
    for (const [, unsorted] of groups) {
      const sorted = unsorted.toSorted((left, right) => left.order - right.order || byText(left.item.id, right.item.id))
      const { title } = sorted[0]!.group
      if (title !== "") text += `${title}\n`
      for (const line of sorted) {
        if (line.isNumbered) sources.push(line.item.id)
        items.push(line.item)
        text += lineText(line, sources.length)
      }
    }
    return [{ name, items, text }]
  })
  return { sections, sources }
}

const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** Text of a person as one line, which cannot be taken for a heading or another line. */
export const oneEntry = (text: string): string => text.trim().replace(/\s*[\r\n\u2028\u2029]+\s*/g, "\n  ")

/** Days of a context: of the caller's time zone, as texts for people, and which is today. */
export interface ContextDays {
  readonly nowMillis: number
  /** `YYYY-MM-DD`. */
  readonly today: string
  readonly of: (millis: number) => string
  /** Day of an ISO 8601 time; without a time zone of the request the day where it was said. */
  readonly said: (iso: string) => string
  /** "8 January 2026". */
  readonly shown: (day: string) => string
  /** "Thu 8 January 2026". */
  readonly withWeekday: (day: string) => string
}

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

export const contextDays = (nowMillis: number, timeZone: string | undefined): ContextDays => {
  // A day without a time, such as a conversation's date, is kept as midnight UTC, and is that day everywhere.
  const of = (millis: number) => todayIn(millis % dayMillis === 0 ? undefined : timeZone, millis)
  return {
    nowMillis,
    today: todayIn(timeZone, nowMillis),
    of,
    said: (iso) => (timeZone === undefined ? speakersDay(iso) : undefined) ?? of(Date.parse(iso)),
    shown: dateText,
    withWeekday: (day) => {
      const weekday = weekdays[new Date(day).getUTCDay()]
      return weekday === undefined ? day : `${weekday} ${dateText(day)}`
    }
  }
}

/**
 * Counts tokens by the vocabulary o200k_base (OpenAI's models since GPT-4o). It takes 2.4 MB of code and 20 MB of memory,
 * so it is loaded with its first use, which holds the loop for some 200 ms, once.
 *
 * Invariant: no text is read as a token with a meaning of its own, such as `<|endoftext|>`.
 */
export type TokenCounter = (text: string) => number

/** Which vocabulary a caller's model has. */
export type Tokenizer = "o200k_base" | "other"

/** Vocabularies of other models of this size take up to a third more tokens for the same text. */
const otherShare = 3 / 4

/** How many tokens of o200k_base fit into as many of the tokenizer. */
export const countedTokens = (tokens: number, tokenizer: Tokenizer): number =>
  tokenizer === "other" ? Math.floor(tokens * otherShare) : tokens

/** The reverse. */
export const shownTokens = (counted: number, tokenizer: Tokenizer): number =>
  tokenizer === "other" ? Math.ceil(counted / otherShare) : counted

export const tokenCounter: Effect.Effect<TokenCounter> = Effect.map(
  Effect.promise(() => import("gpt-tokenizer/encoding/o200k_base")),
  ({ countTokens, setMergeCacheSize }) => {
    setMergeCacheSize(wordsKept)
    return (text) => countTokens(text, asText)
  }
)

/** Words whose tokens are remembered: common ones take a quarter of the time then. */
const wordsKept = 8_192

const asText = { disallowedSpecial: new Set<string>() }

/** Unusual text takes up to 20 us a character. */
const charactersPerTurn = 4_000

/** Sum of texts; gives way to others between portions. */
const countAll = Effect.fnUntraced(function* (count: TokenCounter, texts: ReadonlyArray<string>) {
  let [tokens, characters] = [0, 0]
  for (const text of texts) {
    tokens += count(text)
    characters += text.length
    if (characters < charactersPerTurn) continue
    characters = 0
    yield* Effect.yieldNow
  }
  return tokens
})
