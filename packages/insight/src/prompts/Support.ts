/**
 * Checks that the conversation supports a candidate: its quote is in a cited message; its names, numbers and addresses,
 * and enough of its words, are in what the model was shown.
 *
 * The check is lexical: a candidate in entirely different words, or in another language, is lost. That is the price of
 * not trusting the model.
 */
import { stopWords } from "@muniment/language/text/Language"
import { queryTerms, tokenize } from "@muniment/language/text/Tokenizer"
import { datesInText, monthNames, numberWords, weekdayNames } from "@muniment/language/calendar/CalendarWords"
import { visibleText } from "@muniment/language/text/VisibleText"
import { negatorsIn } from "@muniment/language/speech/Mood"
import { sentencesOf, writtenOut } from "@muniment/language/speech/WrittenOut"

/** Least share of a candidate's words that must be in the shown text. */
const supportedShareMin = 0.3
const quoteLengthMin = 3

/** Ignores case, typographic quotes and spacing. */
const matchable = (text: string): string =>
  visibleText(text)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[‘’ʼ]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[\n ]*/g, "\n")
    .trim()

/** Ignores spacing, case and typographic quotes; an ellipsis or quotes around it come from the model. */
export const isQuoted = (quote: string, message: string): boolean => {
  const wanted = matchable(quote)
    .replaceAll("\n", " ")
    .replace(/^["'…. ]+|["'…. ]+$/g, "")
  const text = matchable(message).replaceAll("\n", " ")
  return wanted === text || (wanted.length >= quoteLengthMin && text.includes(wanted))
}

/** Texts that the model was shown, indexed by word. */
export interface ShownText {
  readonly text: string
  readonly terms: ReadonlySet<string>
}

export const makeShownText = (texts: ReadonlyArray<string>): ShownText => ({
  text: texts.map(matchable).join("\n"),
  terms: new Set(texts.flatMap((text) => [...tokenize(visibleText(text))]))
})

/** A text of a candidate without its dates, and its property. */
export interface ClaimedText {
  readonly property: string
  readonly text: string
}

/** Properties that hold names: each word of the value must be in the shown text. */
const identityProperty =
  /subject|name|person|people|participant|member|friend|partner|spouse|compan|employer|city|town|country|place|location|address|mail|phone|url|link|website|handle|account|wallet|iban/i
/** Names of the speakers in data; they need no support. */
const speakers = new Set(["user", "assistant", "system", "human", "ai", "i", "me", "speaker", "users", "assistants"])

/** The words of a text that say something, but whom it is about. */
export const tellingTerms = (text: string, about = ""): ReadonlyArray<string> =>
  queryTerms(about === "" ? text : text.replaceAll(about, "")).filter((term) => !stopWords.has(term))

/** How many of the words stand among others; 1 where there are none. */
export const shareAmong = (terms: ReadonlyArray<string>, others: ReadonlySet<string>): number =>
  terms.length === 0 ? 1 : terms.filter((term) => others.has(term)).length / terms.length

/** The first day that is not told, read in any of the years; else the first word that no shown text supports. */
export const strayIn = (
  claims: ReadonlyArray<ClaimedText>,
  {
    isTold,
    shown,
    years
  }: {
    readonly years: ReadonlyArray<number>
    readonly isTold: (day: string) => boolean
    readonly shown: ShownText
  }
): { readonly day: string } | { readonly word: string } | undefined => {
  const readings = claims.map(({ property, text }) => ({
    property,
    text,
    found: years.map((one) => datesInText(text, one))
  }))
  for (const { found } of readings) {
    // The same places of the text, in each of the years.
    const days = (found[0]?.dates ?? []).map((_, at) => found.flatMap(({ dates }) => dates[at] ?? []))
    const stray = days.find((alternatives) => !alternatives.some(isTold))
    if (stray !== undefined) return { day: stray[0]! }
  }
  const word = inventedWord(
    readings.map(({ found, property, text }) => ({ property, text: found[0]?.rest ?? text })),
    shown
  )
  return word === undefined ? undefined : { word }
}

/** The first unsupported word, or undefined. */
export const inventedWord = (claims: ReadonlyArray<ClaimedText>, shown: ShownText): string | undefined => {
  for (const { property, text } of claims) {
    const isIdentity = identityProperty.test(property)
    for (const match of text.matchAll(/[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}'’._@:/%+-]|(?<=\d),(?=\d{3}(?!\d)))*/gu)) {
      const word = match[0].replace(/['’]s$|[.,:'’/+-]+$/gi, "")
      const isLater = match.index > 0 && !/[.!?]\s*$/.test(text.slice(0, match.index))
      // One capital may only start the sentence; two in a row are a name.
      const isName = /^\p{Lu}/u.test(word) && (isLater || isIdentity || /^\p{Lu}{2}/u.test(word))
      const isAddress = /@|:\/\/|\p{L}[._]\p{L}/u.test(word)
      if (isAddress || /\p{N}/u.test(word) ? !isNumberShown(word, shown) : isName && !isNameShown(word, shown)) {
        return word
      }
    }
  }
  return undefined
}

/** Whether enough of the words are in the shown text; a text without words passes. */
export const isWordingShown = (claims: ReadonlyArray<ClaimedText>, shown: ShownText): boolean => {
  const terms = claims.flatMap(({ text }) => queryTerms(visibleText(text))).filter((term) => !speakers.has(term))
  return shareAmong(terms, shown.terms) >= supportedShareMin
}

/** `1,200` equals `1200`, `3` equals `three`, `15:00` equals `3 pm`. */
const isNumberShown = (word: string, shown: ShownText): boolean => {
  const wanted = matchable(word)
  // A space may stand between numbers, or in one.
  const grouped = shown.text.replaceAll(/(?<=\d)[,'](?=\d{3})/g, "")
  const plain = grouped.replaceAll(/(?<=\d) (?=\d{3})/g, "")
  const whole = wanted.replaceAll(",", "")
  if ((wanted.includes("-") && hasWord(shown.text, wanted)) || hasWord(grouped, whole) || hasWord(plain, whole))
    return true
  const hour = /^(\d{1,2}):\d{2}$/.exec(wanted)?.[1]
  if (hour !== undefined) return hasWord(plain, String(Number(hour))) || hasWord(plain, String(Number(hour) - 12))
  const [, ordinal] = /^(\d+)(?:st|nd|rd|th)$/.exec(wanted) ?? []
  if (ordinal !== undefined) return hasWord(plain, ordinal)
  // "121" of a price, "121k"
  const [, thousands] = /^(\d{2,})000$/.exec(whole) ?? []
  if (thousands !== undefined && hasWord(plain, thousands)) return true
  // "3-person", "GPIO3"
  const parts = wanted.match(/\p{L}+|\p{N}+/gu) ?? []
  if (/^(?:\p{N}+-?\p{L}+|\p{L}+-?\p{N}+)$/u.test(wanted) && parts.every((part) => isPartShown(part, shown)))
    return true
  const spelled = /^\d{1,2}$/.test(wanted) ? numberWords[Number(wanted)] : undefined
  return spelled !== undefined && new RegExp(`\\b${spelled}\\b`).test(shown.text)
}

const isPartShown = (part: string, shown: ShownText): boolean =>
  /\p{N}/u.test(part) ? hasWord(shown.text, part) : tokenize(part).every((term) => shown.terms.has(term))

const isNameShown = (word: string, shown: ShownText): boolean => {
  const wanted = matchable(word)
  if (speakers.has(wanted) || calendarWords.has(wanted) || calendarWords.has(wanted.replace(/s$/, ""))) return true
  const terms = tokenize(word)
  return terms.length === 0 ? hasWord(shown.text, wanted) : terms.every((term) => shown.terms.has(term))
}

/** Dates are checked as dates, and feasts have several names. */
const calendarWords = new Set([
  ...[...monthNames, ...weekdayNames].map(matchable),
  ..."christmas xmas easter boxing halloween thanksgiving ramadan eid diwali hanukkah".split(" ")
])

/** A number not inside a longer one; letters may follow, as in "3pm". A letter by itself. */
const hasWord = (text: string, word: string): boolean => {
  const inside = /\p{N}/u.test(word) ? /\p{N}/u : /[\p{L}\p{N}]/u
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!inside.test(text[at - 1] ?? "") && !inside.test(text[at + word.length] ?? "")) return true
  }
  return false
}

/** A clause of the texts has nearly all its words, and denies where it states, or the other way round; none agrees with it. */
export const isDenied = (sentence: string, texts: ReadonlyArray<string>): boolean => {
  const own = partOf(sentence)
  if (own.terms.size < 2) return false
  const told = texts
    .flatMap(sentencesOf)
    .flatMap(clausesIn)
    .map(partOf)
    .filter(({ terms }) => terms.intersection(own.terms).size >= SHARE_MIN * own.terms.size)
  return told.length > 0 && told.every((part) => part.isDenied !== own.isDenied)
}
const SHARE_MIN = 0.8
const denials: ReadonlySet<string> = new Set(tokenize("not never no none nobody nothing neither nor without cannot"))

export const clausesIn = (sentence: string): ReadonlyArray<string> =>
  sentence.split(/[,;:]\s+|\s*[()]\s*|\s+(?:and|but)\s+/i)

const partOf = (text: string) => ({
  terms: new Set(queryTerms(text).filter((term) => !denials.has(term))),
  isDenied: negatorsIn(writtenOut(text)).length > 0
})
