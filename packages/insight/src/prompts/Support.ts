/**
 * Whether a candidate is carried by the conversation: its quote stands in a cited message, its names,
 * numbers and addresses stand in what the model was shown, and enough of its words do.
 *
 * The check is lexical: a candidate that says the same in other words entirely, or in another language,
 * is lost. That is the price for a model that can be talked into anything.
 */
import { queryTerms, tokenize } from "@muniment/engine/recall/Tokenizer"
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import { numberWords } from "./NumberWords.ts"
import { visibleText } from "./VisibleText.ts"

/** Least share of a candidate's words that the shown text must hold. */
const supportedShareMin = 0.3
const quoteLengthMin = 3

/** Case, typographic quotes and blanks do not matter. */
const matchable = (text: string): string =>
  visibleText(text)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[‘’ʼ]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[\n ]*/g, "\n")
    .trim()

/** Blanks, case and typographic quotes aside; an ellipsis or quotes around it are the model's. */
export const isQuoted = (quote: string, message: string): boolean => {
  const wanted = matchable(quote)
    .replaceAll("\n", " ")
    .replace(/^["'…. ]+|["'…. ]+$/g, "")
  const text = matchable(message).replaceAll("\n", " ")
  return wanted === text || (wanted.length >= quoteLengthMin && text.includes(wanted))
}

/** What the model was shown, ready for looking words up. */
export interface ShownText {
  readonly text: string
  readonly terms: ReadonlySet<string>
}

export const makeShownText = (texts: ReadonlyArray<string>): ShownText => ({
  text: texts.map(matchable).join("\n"),
  terms: new Set(texts.flatMap((text) => [...tokenize(visibleText(text))]))
})

/** A text of a candidate and the property that it stands in, dates taken out. */
export interface ClaimedText {
  readonly property: string
  readonly text: string
}

/** Properties whose value names somebody, something or somewhere: each of its words must be shown. */
const identityProperty =
  /subject|name|person|people|participant|member|friend|partner|spouse|compan|employer|city|town|country|place|location|address|mail|phone|url|link|website|handle|account|wallet|iban/i
/** How speakers are called in data, whatever their messages call them. */
const speakers = new Set(["user", "assistant", "system", "human", "ai", "i", "me", "speaker", "users", "assistants"])

/** The first word that nothing shown carries, or undefined. */
export const inventedWord = (claims: ReadonlyArray<ClaimedText>, shown: ShownText): string | undefined => {
  for (const { property, text } of claims) {
    const isIdentity = identityProperty.test(property)
    for (const match of text.matchAll(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’._@:/%+-]*/gu)) {
      const word = match[0].replace(/['’]s$|[.,:'’/+-]+$/gi, "")
      const isLater = match.index > 0 && !/[.!?]\s*$/.test(text.slice(0, match.index))
      // Every sentence begins with a capital; few begin with two.
      const isName = /^\p{Lu}/u.test(word) && (isLater || isIdentity || /^\p{Lu}{2}/u.test(word))
      const isAddress = /@|:\/\/|\p{L}[._]\p{L}/u.test(word)
      if (isAddress || /\p{N}/u.test(word) ? !isNumberShown(word, shown) : isName && !isNameShown(word, shown)) {
        return word
      }
    }
  }
  return undefined
}

/** Whether the shown text holds enough of the words; texts without any word need none. */
export const isWordingShown = (claims: ReadonlyArray<ClaimedText>, shown: ShownText): boolean => {
  const terms = claims.flatMap(({ text }) => queryTerms(visibleText(text))).filter((term) => !speakers.has(term))
  const carried = terms.filter((term) => shown.terms.has(term)).length
  return terms.length === 0 || carried >= terms.length * supportedShareMin
}

/** `1,200` and `1200`, `3` and `three`, `15:00` and `3 pm` are the same. */
const isNumberShown = (word: string, shown: ShownText): boolean => {
  const wanted = matchable(word)
  const plain = shown.text.replaceAll(/(?<=\d)[,' ](?=\d{3})/g, "")
  if (hasWord(plain, wanted.replaceAll(",", ""))) return true
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
