/**
 * A sentence as words with their parts of speech. Contractions are written out first, so that the rules
 * see `I am` and `do not` only; the tagger (compromise) is asked for parts of speech and names, and its
 * doubts (`like` as a preposition) are left to the rules.
 */
import nlp from "compromise/two"

export interface Word {
  /** As written, without the punctuation around it. */
  readonly text: string
  readonly lower: string
  readonly before: string
  /** Punctuation and space behind it. */
  readonly after: string
  readonly tags: ReadonlySet<string>
}

/** Straight quotes and dashes; `I'm`, `im` -> `I am`; `don't` -> `do not`. Names with `'s` stay as they are. */
export const writtenOut = (text: string): string =>
  contractions.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), plainMarks(text))

export const plainMarks = (text: string): string =>
  text
    .replace(/[\u2018\u2019\u02bc]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2013\u2014]/g, " - ")

const contractions: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bcan't\b|\bcant\b|\bcannot\b/gi, "can not"],
  [/\bwon't\b/gi, "will not"],
  [/\bain't\b/gi, "am not"],
  [/\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t\b/gi, "$1 not"],
  [/\b(that|what|he|she|they|there|who)s\b/g, "$1's"],
  [/\bits (?=(?:an?|the|my|on|in|at|not|just|so|too|called|about|now|been)\b)/g, "it is "],
  [/\b(?:i'm|im)\b/gi, "I am"],
  [/\b(?:i've|ive)\b/gi, "I have"],
  [/\bi'll\b/gi, "I will"],
  [/\b(i|we|you|he|she|they)'d (been|had|gone|never|always)\b/gi, "$1 had $2"],
  [/\b(i|we|you|he|she|they|it)'d\b/gi, "$1 would"],
  [/\b(you|we|they|these|those)'re\b/gi, "$1 are"],
  [/\b(you|we|they)'ve\b/gi, "$1 have"],
  [/\b(you|we|they|he|she|it|there|that)'ll\b/gi, "$1 will"],
  [/\b(he|she|it|that|there|who)'s (been|got|had|gone|become|always been)\b/gi, "$1 has $2"],
  [/\b(he|she|it|that|there|who|what|where|how|here|name|birthday)'s\b/gi, "$1 is"],
  [/\b(\p{L}+)'s (got|been|gone|had)\b/giu, "$1 has $2"],
  [
    /\b(\p{Ll}+)'s (?=(?:booked|scheduled|due|set|planned|cancelled|canceled|postponed|tomorrow|next \p{L}|on (?:the|\d|\p{Lu})))/gu,
    "$1 is "
  ],
  [/\bgonna\b/gi, "going to"],
  [/\bwanna\b/gi, "want to"],
  [/\bgotta\b/gi, "have to"],
  [/\bfave?\b/gi, "favorite"],
  [/\bfavourite\b/gi, "favorite"],
  [/(^|[^\w'])i(?=[\s,])/g, "$1I"]
]

/** The words of one sentence that was written out. */
export const wordsOf = (sentence: string): ReadonlyArray<Word> =>
  nlp(sentence)
    .docs.flat()
    .map((term) => {
      // A contraction that is left (`Anna's moving`) comes as two terms, the second without text.
      const text = term.text === "" ? (implicitOf(term) ?? "") : spoken(term.text, implicitOf(term))
      return { text, lower: text.toLowerCase(), before: term.pre, after: term.post || "", tags: term.tags ?? new Set() }
    })
    .filter(({ text }) => text !== "")
    .reduce<Array<Word>>(joinCompounds, [])

/** The tagger cuts `mother-in-law` in three; the last word says what the compound is. */
const joinCompounds = (words: Array<Word>, word: Word): Array<Word> => {
  const last = words.at(-1)
  if (last?.after !== "-") {
    words.push(word)
    return words
  }
  const text = `${last.text}-${word.text}`
  words[words.length - 1] = { ...word, text, lower: text.toLowerCase(), before: last.before }
  return words
}

const implicitOf = (term: object): string | undefined =>
  "implicit" in term && typeof term.implicit === "string" ? term.implicit : undefined

/** `Anna's` that stands for `Anna is` is `Anna`, in its own letters. */
const spoken = (text: string, implicit: string | undefined): string =>
  implicit !== undefined && text.toLowerCase().startsWith(implicit) ? text.slice(0, implicit.length) : text

/** Words as text again, one space between them, inner punctuation kept, the outer removed. */
export const textOf = (words: ReadonlyArray<Word>): string =>
  words
    .map(({ after, before, text }, index) => {
      const mark = index === words.length - 1 ? after.replace(/[\s,;:.!?-]+$/, "") : after.trimEnd()
      return `${before.trimStart()}${text}${mark}`
    })
    .join(" ")
    .replace(/\s+/g, " ")
    .trim()
