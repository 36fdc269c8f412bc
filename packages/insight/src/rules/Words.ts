/**
 * A sentence as words with their parts of speech. Contractions are written out first (`writtenOut`); the tagger
 * (compromise) is asked for parts of speech and names, and its doubts (`like` as a preposition) are left to the rules.
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
