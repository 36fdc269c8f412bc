/**
 * Answers to questions in other languages than English, as far as the words alone show that they are answers: a statement
 * that repeats the question and has something in the place of its interrogative. "Wo wohne ich?" is answered by "Ich wohne
 * in Kiel", since the form of each word carries person, number and tense. Read from closed classes of words
 * (`foreignForms.ts`); no word is stemmed or translated.
 *
 * Invariant: nothing is claimed of a clause that is asked, denied, supposed, reported, of another subject, or part of a text
 * that the message asks to work on; nor of what a newer message of the same speaker may have changed.
 */
import { foldWord, isStopWord, languageOf, type TextLanguage } from "@muniment/language/text/Language"
import { type ForeignPart, type FrontedForms, frontedForms, type UnmovedForms, unmovedForms } from "./foreignForms.ts"
import { COMPARED_HITS, type HitList, isAssistant } from "./Gate.ts"
import { byTime, type Quote, saidAt, speakerOf } from "./Quote.ts"

/** A question in a language that is read here, and how a text answers it. */
export interface ForeignQuestion {
  /** The clause of a sentence that answers; undefined: none. `isFirst`: it begins its text. */
  readonly answeredBy: (sentence: string, isFirst: boolean) => boolean
  readonly mayChange: (text: string) => boolean
  readonly isJest: (text: string) => boolean
  /** Asks to work on a text. */
  readonly isWork: (text: string) => boolean
}

/** `unread`: in a language other than English whose questions are not read. */
export const foreignQuestion = (text: string): ForeignQuestion | "unread" | undefined => {
  const letters = text.match(/\p{L}/gu) ?? []
  const inScript = (script: RegExp): boolean => 2 * letters.filter((one) => script.test(one)).length > letters.length
  if (inScript(/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u)) {
    const isJapanese = /[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)
    return unmovedQuestion(text, isJapanese ? unmovedForms.japanese : unmovedForms.chinese) ?? "unread"
  }
  if (inScript(/\p{Script=Cyrillic}/u)) return frontedQuestion(text, frontedForms.russian, "english") ?? "unread"
  if (!inScript(/\p{Script=Latin}/u)) return letters.length > 0 ? "unread" : undefined
  const language = languageOf(text, wordsOf(text).map(foldWord))
  return language === "english" ? undefined : (frontedQuestion(text, frontedForms[language], language) ?? "unread")
}

/** The newest statement that answers, cut to it; none where it may have changed. */
export const foreignQuotes = (
  asked: ForeignQuestion | "unread",
  quotes: ReadonlyArray<Quote>,
  { isAlone }: HitList
): ReadonlyArray<Quote> => {
  if (asked === "unread") return []
  const answering = quotes.slice(0, COMPARED_HITS).flatMap((quote) => {
    const { speaker } = quote.statement
    if (speaker !== undefined && (isAssistant(speaker) || !isAlone)) return []
    const sentence = answerIn(asked, quote.statement.text)
    return sentence === undefined ? [] : [{ ...quote, text: sentence }]
  })
  const [newest] = answering.toSorted((one, other) => byTime(saidAt(other, quotes), saidAt(one, quotes)))
  if (newest === undefined) return []
  const isChanged = quotes.some(
    (other) =>
      other.memory !== newest.memory &&
      speakerOf(other, quotes) === speakerOf(newest, quotes) &&
      byTime(saidAt(other, quotes), saidAt(newest, quotes)) > 0 &&
      (asked.mayChange(other.statement.text) || asked.isJest(other.statement.text))
  )
  return isChanged ? [] : [newest]
}

const answerIn = (asked: ForeignQuestion, text: string): string | undefined => {
  // What a colon or a quotation mark introduces may be anybody's.
  if (/[:："“„«「『…]/u.test(text) || asked.isJest(text) || asked.isWork(text)) return undefined
  const sentences = text.split(SENTENCE_END).filter((one) => one !== "")
  for (const [at, sentence] of sentences.entries()) {
    // Behind a question it may be the text that the question is about.
    if (/[?？]$/u.test(sentence)) return undefined
    if (asked.answeredBy(sentence, at === 0)) return sentence
  }
  return undefined
}

/** Not behind "3. Mai" or "Dr. Weber". */
const SENTENCE_END = /(?<=(?<!\d|\b(?:Dr|Prof|Sr|Sra|Mr|Mme|Hr|Fr|St|Nr|Ing))[.!?]["'”’)]?)\s+|(?<=[。！？])\s*/u

/** Elisions written out on both sides: "j'ai" and "ai-je" have the same words. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .toLowerCase()
    .normalize("NFC")
    .replace(/(?<!\p{L})([jmtsdnlc]|qu)['’]/gu, "$1e ")
    .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []

/** Without what French and Spanish put beside their interrogatives. */
const plainlyAsked = (text: string): string =>
  text
    .replace(/\best[- ]ce qu(?:e |['’])/iu, " ")
    .replace(/\bcombien (?:de |d['’])/iu, "combien ")
    .replace(/\bpor qu[eé]\b/iu, "porqué")

/** Words up to the first interrogative: "an welchem", "o que". */
const LEAD_WORDS_MAX = 2

const frontedQuestion = (text: string, forms: FrontedForms, language: TextLanguage): ForeignQuestion | undefined => {
  const words = wordsOf(plainlyAsked(text))
  const lead = leadOf(words, forms)
  const isYesNo = lead === undefined
  if (isYesNo && !/\?\s*$/u.test(text)) return undefined
  const { last, part } = lead ?? { last: -1, part: "thing" }
  const behind = words.slice(last + 1)
  const isContent = (word: string): boolean => !isStopWord(foldWord(word), language) || /^\d/.test(word)
  // The noun behind "which" may be missing in the answer: "welches Instrument".
  const wanted = [behind, ...(!isYesNo && forms.attributive.has(words[last]!) ? [behind.slice(1)] : [])].filter(
    (rest) => rest.some(isContent)
  )
  const mayBeDenied = isYesNo || words.some((word) => forms.negators.has(word))
  const calendar = calendarOf(forms.locale)
  const holdsPart = (rest: ReadonlyArray<string>, whole: ReadonlyArray<string>): boolean => {
    switch (part) {
      case "place":
        return rest.some((word, at) => forms.prepositions.has(word) && rest[at + 1] !== undefined)
      case "time":
        return rest.some((word) => /^\d/.test(word) || calendar.has(foldWord(word)))
      case "count":
        return rest.some((word) => /^\d/.test(word) || forms.numbers.has(word))
      case "reason":
        return whole.some((word) => forms.reasons.has(word))
      case "thing":
        return rest.some(isContent)
    }
  }
  const answers = (sentence: string, rest: ReadonlyArray<string>): boolean => {
    const said = clauseOf(sentence, forms)
    const covered = new Set(rest.map(foldWord))
    const isAsked = (word: string): boolean => covered.has(foldWord(word))
    const held = new Set(said.map(foldWord))
    if (!rest.every((word) => held.has(foldWord(word)) || forms.articles.has(word))) return false
    if (said.some((word) => !isAsked(word) && forms.subordinators.has(word) && !forms.prepositions.has(word)))
      return false
    if (!mayBeDenied && said.some((word) => forms.negators.has(word))) return false
    const first = said.findIndex(isAsked)
    // "Seit März wohne ich": a phrase with a preposition may stand in front, another subject may not.
    const isLed = first > 0 && forms.prepositions.has(said[0]!) && isContent(said[first - 1]!)
    if (first > 0 && !isLed) return false
    if (isYesNo) return true
    return holdsPart(
      said.filter((word) => !isAsked(word)),
      wordsOf(sentence)
    )
  }
  const shares = (text: string): boolean => wordsOf(text).some((word) => isContent(word) && behind.includes(word))
  return {
    answeredBy: (sentence) => wanted.some((rest) => answers(sentence, rest)),
    mayChange: (text) => {
      const all = wordsOf(text)
      return (
        (shares(text) && all.some((word) => forms.changes.has(word))) ||
        (part === "place" && all.some((word) => forms.moves.has(word)))
      )
    },
    isJest: (text) => wordsOf(text).some((word) => forms.jests.has(word)),
    isWork: (text) => wordsOf(text).some((word) => [...forms.works].some((work) => word.startsWith(work)))
  }
}

/** The place of the last interrogative that the question begins with, and what is asked for. */
const leadOf = (
  words: ReadonlyArray<string>,
  { interrogatives }: FrontedForms
): { readonly last: number; readonly part: ForeignPart } | undefined => {
  const parts = Object.keys(interrogatives) as ReadonlyArray<ForeignPart>
  const asked = words.map((word) => parts.find((part) => interrogatives[part].has(word)))
  const first = asked.slice(0, LEAD_WORDS_MAX).findIndex((part) => part !== undefined)
  if (first < 0) return undefined
  const further = asked.slice(first).indexOf(undefined)
  const last = further < 0 ? words.length - 1 : first + further - 1
  return { last, part: asked.slice(0, last + 1).find((part) => part !== undefined && part !== "thing") ?? "thing" }
}

/** The words of the main clause: up to the first mark or conjunction, behind a call. */
const clauseOf = (sentence: string, { conjunctions }: FrontedForms): ReadonlyArray<string> => {
  const parts = sentence
    .split(/[,;()]|\s[-–—]\s/u)
    .map(wordsOf)
    .filter((words) => words.length > 0)
  const said = parts[0]?.length === 1 && parts.length > 1 ? parts[1]! : (parts[0] ?? [])
  const end = said.findIndex((word) => conjunctions.has(word))
  return end < 0 ? said : said.slice(0, end)
}

const calendars = new Map<string, ReadonlySet<string>>()

/** Names of months and weekdays, and words such as "yesterday" and "next week", folded. */
const calendarOf = (locale: string): ReadonlySet<string> => {
  const known = calendars.get(locale)
  if (known !== undefined) return known
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" })
  const months = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2024, month, 15)))
  const days = Array.from({ length: 7 }, (_, day) => new Date(Date.UTC(2024, 0, 1 + day)))
  const texts = [
    ...months.flatMap((date) => [
      date.toLocaleDateString(locale, { month: "long", timeZone: "UTC" }),
      date.toLocaleDateString(locale, { month: "long", day: "numeric", timeZone: "UTC" }).replace(/.*\d\S*/u, "")
    ]),
    ...days.map((date) => date.toLocaleDateString(locale, { weekday: "long", timeZone: "UTC" })),
    ...[-1, 0, 1].map((count) => relative.format(count, "day"))
  ]
  const found = new Set(
    texts.flatMap((text) => wordsOf(text).map(foldWord)).filter((word) => !/^\d/.test(word) && word.length > 2)
  )
  calendars.set(locale, found)
  return found
}

const ANSWER_LENGTH_MAX = 24

const unmovedQuestion = (text: string, forms: UnmovedForms): ForeignQuestion | undefined => {
  const asked = text.replace(/\s+/gu, "").replace(forms.questionEnd, "")
  const found = forms.interrogative.exec(asked)
  if (found === null && !forms.yesNo.test(text)) return undefined
  const at = found?.index ?? asked.length
  const before = asked.slice(0, at)
  const after = asked.slice(at + (found?.[0].length ?? 0))
  const topicless = forms.ownTopic === undefined ? before : before.replace(forms.ownTopic, "")
  // "什么名字": the noun that is asked for stands in no answer.
  const ends = [after, ...(after.length <= ATTRIBUTE_LENGTH_MAX && topicless.length > 1 ? [""] : [])]
  const content = (part: string): number => part.replace(/[はがをにでとのも我你的是です]/gu, "").length
  const wanted = ends.filter((end) => content(topicless) + content(end) > 0)
  const answers = (clause: string, end: string, isFirst: boolean): boolean => {
    if (forms.supposed.test(clause) || forms.negator.test(clause.replace(before, "").replace(end, ""))) return false
    const stated = clause.lastIndexOf(end)
    const tail = stated < 0 ? undefined : end === "" ? "" : clause.slice(stated + end.length)
    if (tail === undefined || !forms.clauseEnd.test(tail)) return false
    const head = end === "" ? clause : clause.slice(0, stated)
    const start = head.indexOf(before)
    if (before !== "" && start >= 0 && forms.own.test(head.slice(0, start)))
      return isValue(head.slice(start + before.length))
    // Its subject is left out: the speaker, where nothing stands before it.
    return (
      (topicless !== before || before === "") &&
      isFirst &&
      head.startsWith(topicless) &&
      forms.topic?.test(head.slice(topicless.length)) === false &&
      isValue(head.slice(topicless.length))
    )
  }
  const pairs = [before, after].flatMap((part) =>
    [...part.matchAll(/(?=([\p{Script=Han}\p{Script=Katakana}]{2}))/gu)].map(([, pair = ""]) => pair)
  )
  const shares = (other: string): boolean => pairs.some((pair) => other.includes(pair))
  const isOfPlace = /どこ|哪/u.test(found?.[0] ?? "")
  const isValue = (value: string): boolean =>
    found === null
      ? forms.clauseEnd.test(value)
      : value !== "" && value.length <= ANSWER_LENGTH_MAX && !forms.interrogative.test(value)
  return {
    answeredBy: (sentence, isFirst) => {
      const parts = sentence.replace(/\s+/gu, "").split(/[,，、。；;！!]/u)
      // "最近、": when it is.
      const isAdverb =
        parts.length > 1 && parts[0]!.length <= ADVERB_LENGTH_MAX && forms.topic?.test(parts[0]!) !== true
      const clause = parts[isAdverb ? 1 : 0] ?? ""
      return wanted.some((end) => answers(clause, end, isFirst))
    },
    mayChange: (other) => (shares(other) && forms.changes.test(other)) || (isOfPlace && forms.moves.test(other)),
    isJest: (other) => forms.jests.test(other),
    isWork: (other) => forms.works.test(other)
  }
}

const ATTRIBUTE_LENGTH_MAX = 2
const ADVERB_LENGTH_MAX = 2
