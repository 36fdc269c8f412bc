/**
 * Checks that the conversation supports a candidate: its quote is in a cited message; its names, numbers and addresses,
 * and enough of its words, are in what the model was shown.
 *
 * The check is lexical: a candidate in entirely different words, or in another language, is lost. That is the price of
 * not trusting the model.
 */
import { queryTerms, tokenize } from "@muniment/engine/text/Tokenizer"
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import { numberWords } from "./NumberWords.ts"
import { visibleText } from "../text/VisibleText.ts"

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

/** What the model was shown, indexed by word. */
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
  const carried = terms.filter((term) => shown.terms.has(term)).length
  return terms.length === 0 || carried >= terms.length * supportedShareMin
}

/** `1,200` equals `1200`, `3` equals `three`, `15:00` equals `3 pm`. */
const isNumberShown = (word: string, shown: ShownText): boolean => {
  const wanted = matchable(word)
  const plain = shown.text.replaceAll(/(?<=\d)[,' ](?=\d{3})/g, "")
  if ((wanted.includes("-") && hasWord(shown.text, wanted)) || hasWord(plain, wanted.replaceAll(",", ""))) return true
  const hour = /^(\d{1,2}):\d{2}$/.exec(wanted)?.[1]
  if (hour !== undefined) return hasWord(plain, String(Number(hour))) || hasWord(plain, String(Number(hour) - 12))
  const spelled = /^\d{1,2}$/.test(wanted) ? numberWords[Number(wanted)] : undefined
  return spelled !== undefined && new RegExp(`\\b${spelled}\\b`).test(shown.text)
}

const isNameShown = (word: string, shown: ShownText): boolean => {
  const wanted = matchable(word)
  return speakers.has(wanted) || calendarWords.has(wanted) || tokenize(word).every((term) => shown.terms.has(term))
}

/** Dates are checked as dates. */
const calendarWords = new Set([...monthNames, ...weekdayNames].map(matchable))

/** Not inside a longer number; letters may follow, as in "3pm". */
const hasWord = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!/[\p{N}]/u.test(text[at - 1] ?? "") && !/[\p{N}]/u.test(text[at + word.length] ?? "")) return true
  }
  return false
}
