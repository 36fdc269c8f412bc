/**
 * Judges whether a text says what a label asks for, whatever its wording: by stems of the service's own tokeniser, free
 * of case, contractions and number words. A phrase must occur as a run of words.
 */
import { tokenize } from "@muniment/language/text/Tokenizer"
import type { Terms } from "./LabelledSet.ts"

/** A text, prepared for many look-ups. */
export interface Reading {
  /** Words with a space around each: as stems, and as they are written. */
  readonly stems: string
  readonly words: string
}

export const read = (text: string): Reading => {
  const plain = expand(text)
  return { stems: spaced(tokenize(plain).map(digits)), words: spaced(wordsOf(plain).map(digits)) }
}

/** `=phrase` asks for these exact words, `phrase` for their stems. */
export const says = (reading: Reading, phrase: string): boolean => {
  const asked = read(phrase.replace(/^=/, ""))
  return phrase.startsWith("=") ? reading.words.includes(asked.words) : reading.stems.includes(asked.stems)
}

export const saysAll = (reading: Reading, terms: Terms, without: ReadonlyArray<string> = []): boolean =>
  terms.every((group) => group.some((phrase) => says(reading, phrase))) &&
  !without.some((phrase) => says(reading, phrase))

/** The tokeniser drops `n't` with other clitics; here it decides what a sentence says. */
const expand = (text: string): string =>
  text
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/\bcan(?:'t|not)\b/gi, "can not")
    .replace(/\bwon't\b/gi, "will not")
    .replace(/n't\b/gi, " not")

const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? []

const spaced = (words: ReadonlyArray<string>): string => ` ${words.join(" ")} `

const numberWords = "zero one two three four five six seven eight nine ten eleven twelve".split(" ")
const digitsByWord: ReadonlyMap<string, string> = new Map(
  numberWords.flatMap((word, value) => [word, ...tokenize(word)].map((form) => [form, String(value)] as const))
)

const digits = (word: string): string => digitsByWord.get(word) ?? word
