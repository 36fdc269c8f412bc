/**
 * The tokeniser of documents and queries. Text is folded (compatibility forms, lower case, no diacritics) and cut
 * into runs of letters, digits and marks. English words are stemmed (M. F. Porter, "An algorithm for suffix stripping",
 * 1980), irregular forms by their base; words of other languages as `LanguageStems` says. Runs in scripts without
 * spaces are cut by Intl.Segmenter.
 *
 * Invariants: deterministic, linear in the text; a token is 1 to `TOKEN_LENGTH_MAX` code points of letters, digits
 * and marks, without white space, quotes or control characters, so FTS5 keeps it unchanged.
 */
import { stemmer } from "stemmer"
import { foldWord, isStopWord, languageOf, latinLanguages, stopWords, type TextLanguage } from "./Language.ts"
import { baseStem, hasStemmedScript, languageOfScript, languageStem } from "./LanguageStems.ts"

export const TOKEN_LENGTH_MAX = 64
export const TOKENS_PER_TEXT_MAX = 8_192
/** Terms that a query is scored by: its rarest (`weighQuery`). */
export const QUERY_TERMS_MAX = 128
/** Terms of a query whose documents are counted: more than a query of `Limits.queryLengthMax` mostly has. */
export const QUERY_TERMS_COUNTED_MAX = 256
/** Longest piece for the segmenter, whose cost grows faster than its input. */
const SEGMENTED_LENGTH_MAX = 512

/** Tokens of a document's text in order, repeats kept, at most `tokensMax`. */
export const tokenize = (text: string, tokensMax: number = TOKENS_PER_TEXT_MAX): ReadonlyArray<string> => {
  if (text === "") return []
  return (asciiWords(text, tokensMax) ?? words(text, tokensMax)).map(stem)
}

/** How the texts of a document become tokens. */
export interface Analyzer {
  /** The tokens of its main text, and the language that they were stemmed by. */
  readonly main: (text: string) => { readonly tokens: ReadonlyArray<string>; readonly language: TextLanguage }
  /** The tokens of another text of it, in the language of the main one. */
  readonly other: (text: string, language: TextLanguage, tokensMax?: number) => ReadonlyArray<string>
}

/** English stems for every text: what files held up to version 11, and what earlier releases look for. */
export const englishOnly: Analyzer = {
  main: (text) => ({ tokens: tokenize(text), language: "english" }),
  other: (text, _, tokensMax) => tokenize(text, tokensMax)
}

/** Stems by the language of the text, marked with it (`LanguageStems`); as many tokens as `englishOnly`. */
export const byLanguage: Analyzer = {
  main: (text) => {
    if (text === "") return { tokens: [], language: "english" }
    const ascii = asciiWords(text, TOKENS_PER_TEXT_MAX)
    const folded = ascii ?? words(text, TOKENS_PER_TEXT_MAX)
    const language = languageOf(text, folded)
    const isPlain = language === "english" && (ascii !== undefined || !hasStemmedScript(text))
    if (isPlain) return { tokens: folded.map(stem), language }
    const accented = ascii ?? accentedWords(text, TOKENS_PER_TEXT_MAX)
    return { tokens: accented.map((word) => stemIn(word, language)), language }
  },
  other: (text, language, tokensMax = TOKENS_PER_TEXT_MAX) => {
    if (language === "english" && !hasStemmedScript(text)) return tokenize(text, tokensMax)
    const read = asciiWords(text, tokensMax) ?? accentedWords(text, tokensMax)
    return read.map((word) => stemIn(word, language))
  }
}

/**
 * Terms of a query as an index looks for them, in order of appearance; stop words only if there is nothing else. A term
 * is the English stem of a word and its stems in other languages, joined by `VARIANT_SEPARATOR`: any of them is the
 * word, in a document of that language.
 */
export const searchTerms = (query: string): ReadonlyArray<string> => {
  const ascii = asciiWords(query, TOKENS_PER_TEXT_MAX)
  const all = ascii ?? accentedWords(query, TOKENS_PER_TEXT_MAX)
  const folded = ascii ?? all.map(foldWord)
  const language = languageOf(query, folded)
  const telling = all.filter((_, at) => !isStopWord(folded[at]!, language))
  // Forms of one word in English are one term.
  const terms = new Map<string, Set<string>>()
  for (const word of telling.length > 0 ? telling : all) {
    const own = stem(foldWord(word))
    const variants = terms.get(own) ?? new Set([own])
    for (const variant of foreignStems(word)) variants.add(variant)
    terms.set(own, variants)
  }
  return [...terms.values()].slice(0, QUERY_TERMS_COUNTED_MAX).map((variants) => [...variants].join(VARIANT_SEPARATOR))
}

export const VARIANT_SEPARATOR = "|"

/** Terms of a query, where those that stand for one person are one term. */
export const joinedTerms = (
  terms: ReadonlyArray<string>,
  sames: ReadonlyArray<ReadonlySet<string>> = []
): ReadonlyArray<string> => {
  if (sames.length === 0) return terms
  const joined = new Map<unknown, Set<string>>()
  for (const term of terms) {
    const variants = term.split(VARIANT_SEPARATOR)
    const same = sames.find((one) => one.has(variants[0]!))
    const known = joined.get(same ?? term) ?? new Set(same)
    joined.set(same ?? term, known.union(new Set(variants)))
  }
  return [...joined.values()].map((variants) => [...variants].join(VARIANT_SEPARATOR))
}

const foreignStems = (word: string): ReadonlyArray<string> => {
  const script = languageOfScript(word)
  if (script === undefined) return []
  const languages = script === "latin" ? latinLanguages : [script]
  return languages.map((language) => bounded(languageStem(word, language)))
}

/** The stored token of a word. `language`: of its text. */
const stemIn = (word: string, language: TextLanguage): string => {
  const script = languageOfScript(word)
  const by = script === "latin" ? language : (script ?? "english")
  return by === "english" ? stem(foldWord(word)) : bounded(languageStem(word, by))
}

/** Distinct terms of a query in order of appearance; stop words only if there is nothing else. */
export const queryTerms = (query: string): ReadonlyArray<string> => {
  const all = asciiWords(query, TOKENS_PER_TEXT_MAX) ?? words(query, TOKENS_PER_TEXT_MAX)
  const telling = all.filter((word) => !stopWords.has(word))
  return [...new Set((telling.length > 0 ? telling : all).map(stem))].slice(0, QUERY_TERMS_MAX)
}

/**
 * The words of a pure ASCII text; undefined for any other text. Gives the same words as `words` without Unicode
 * tables: most text is ASCII, and cutting it was half of the cost of planning a write.
 */
const asciiWords = (text: string, wordsMax: number): Array<string> | undefined => {
  const folded = text.toLowerCase()
  const found: Array<string> = []
  let start = -1
  for (let at = 0; at <= folded.length; at++) {
    const unit = at < folded.length ? folded.charCodeAt(at) : SPACE
    if (unit >= ASCII_CLASSES.length) return undefined
    if (ASCII_CLASSES[unit] === 1) {
      if (start < 0) start = at
      continue
    }
    if (start >= 0 && found.length < wordsMax) found.push(bounded(folded.slice(start, at)))
    start = -1
    if (unit === APOSTROPHE) at += cliticAt(folded, at)
  }
  return found
}

/** Length of the clitic that follows an apostrophe and ends a word; 0 if there is none. */
const cliticAt = (folded: string, apostrophe: number): number => {
  const length = ASCII_CLITICS.find((clitic) => folded.startsWith(clitic, apostrophe + 1))?.length ?? 0
  return ASCII_CLASSES[folded.charCodeAt(apostrophe + 1 + length)] === 1 ? 0 : length
}

const SPACE = 0x20
const APOSTROPHE = 0x27
const ASCII_CLITICS = ["s", "t", "d", "m", "re", "ve", "ll"]
/** By code unit: 1 for a lower-case letter or a digit. */
const ASCII_CLASSES = Uint8Array.from({ length: 0x80 }, (_, unit) => Number(/[a-z0-9]/.test(String.fromCharCode(unit))))

const words = (text: string, wordsMax: number): Array<string> => runs(fold(text), wordsMax)

/** The words of a text in lower case with their accents. */
const accentedWords = (text: string, wordsMax: number): Array<string> =>
  runs(text.toLowerCase().normalize("NFKC").toLowerCase().replace(CLITIC, " "), wordsMax).filter(
    (word) => foldWord(word) !== ""
  )

const runs = (text: string, wordsMax: number): Array<string> => {
  const found: Array<string> = []
  for (const [run] of text.matchAll(RUN)) {
    if (UNSPACED.test(run)) pushSegments(run, found, wordsMax)
    else found.push(bounded(run))
    if (found.length >= wordsMax) return found.slice(0, wordsMax)
  }
  return found
}

const RUN = /[\p{L}\p{N}\p{M}]+/gu
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** "Ann's" and "isn't" become "ann" and "isn": the clitic would only lengthen the document. */
const CLITIC = /['\u2019](?:s|t|d|m|re|ve|ll)(?![\p{L}\p{N}\p{M}])/gu

const fold = (text: string): string => foldWord(text).replace(CLITIC, " ")

// A fixed locale: with the host's, the same file would tokenise differently on another machine.
const segmenter = new Intl.Segmenter("en", { granularity: "word" })

const pushSegments = (run: string, found: Array<string>, wordsMax: number): void => {
  let start = 0
  while (start < run.length && found.length < wordsMax) {
    let end = Math.min(run.length, start + SEGMENTED_LENGTH_MAX)
    if (end < run.length && isLowSurrogate(run.charCodeAt(end))) end -= 1
    for (const { segment, isWordLike } of segmenter.segment(run.slice(start, end))) {
      if (isWordLike) found.push(bounded(segment))
    }
    start = end
  }
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

const bounded = (word: string): string =>
  word.length <= TOKEN_LENGTH_MAX ? word : [...word].slice(0, TOKEN_LENGTH_MAX).join("")

const STEMMABLE = /^[a-z]{3,}$/

/** Cached stems; about 6 MB at most. */
const stems = new Map<string, string>()
const stemsMax = 65_536
/** V8 represents a longer word as a slice that keeps its whole text in memory. */
const cachedLengthMax = 12

const stem = (word: string): string => {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (!STEMMABLE.test(word)) return word
  const found = baseStem(stemmer(word))
  if (word.length > cachedLengthMax) return found
  if (stems.size >= stemsMax) stems.clear()
  stems.set(word, found)
  return found
}
