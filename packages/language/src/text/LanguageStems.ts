/**
 * Stems of words that are not English: Snowball's stemmers for the languages of `latinLanguages`, Russian, Arabic and
 * Hindi. The text tells the language of a word in Latin script; the script tells that of any other.
 *
 * Invariants: such a stem begins with the mark of its language, a letter that folding takes away, so no word of a text
 * is taken for it, and stems of two languages never meet. English stems have no mark. A stem is folded after it is
 * made, because the stemmers read accents.
 */
import { stemmer as arabic } from "@orama/stemmers/arabic"
import { stemmer as french } from "@orama/stemmers/french"
import { stemmer as german } from "@orama/stemmers/german"
import { stemmer as hindi } from "@orama/stemmers/indian"
import { stemmer as italian } from "@orama/stemmers/italian"
import { stemmer as portuguese } from "@orama/stemmers/portuguese"
import { stemmer as russian } from "@orama/stemmers/russian"
import { stemmer as spanish } from "@orama/stemmers/spanish"
import { stemmer } from "stemmer"
import { foldWord, type LatinLanguage } from "./Language.ts"

/** Modifier letters: NFKD makes plain letters of them. Stored in files, so they never change. */
export const languageMarks = {
  german: "ᵈ",
  spanish: "ᵉ",
  french: "ᶠ",
  italian: "ⁱ",
  portuguese: "ᵖ",
  russian: "ʳ",
  arabic: "ᵃ",
  hindi: "ʰ"
} as const
export type StemmedLanguage = keyof typeof languageMarks

type Stemmer = (word: string) => string
const stemmers: Readonly<Record<StemmedLanguage, Stemmer>> = {
  german,
  spanish,
  french,
  italian,
  portuguese,
  russian,
  arabic,
  hindi
}

/** Letters of Persian, Urdu and others that Arabic has not: their words are left as they are. */
const NOT_ARABIC = /[\u0679-\u06ef]/u
/** Letters of Ukrainian, Serbian, Macedonian and others. */
const NOT_RUSSIAN = /[^\u0430-\u044f\u0451]/u

/** The language whose stemmer the script of a lower-case word asks for. */
export const languageOfScript = (word: string): "russian" | "arabic" | "hindi" | "latin" | undefined => {
  const unit = word.charCodeAt(0)
  if (unit < 0x250 || (unit >= 0x1e00 && unit < 0x1f00)) return unit < 0x3a ? undefined : "latin"
  if (unit >= 0x400 && unit < 0x530) return NOT_RUSSIAN.test(word) ? undefined : "russian"
  if (unit >= 0x600 && unit < 0x700) return NOT_ARABIC.test(word) ? undefined : "arabic"
  return unit >= 0x900 && unit < 0x980 ? "hindi" : undefined
}

/** Whether a text has words whose script asks for a stemmer. */
export const hasStemmedScript = (text: string): boolean => STEMMED_SCRIPT.test(text)
const STEMMED_SCRIPT = /[\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Devanagari}]/u

/** The marked stem. `word`: lower-case, with its accents, composed. */
export const languageStem = (word: string, language: StemmedLanguage): string => {
  const mark = languageMarks[language]
  const key = mark + word
  const known = stems.get(key)
  if (known !== undefined) return known
  const stem = mark + foldStem(stemmers[language](readable(word, language)), language)
  if (word.length > cachedLengthMax) return stem
  if (stems.size >= stemsMax) stems.clear()
  stems.set(key, stem)
  return stem
}

/** What a stemmer reads: without vowel marks in Arabic, without the dot and with one nasal mark in Hindi. */
const readable = (word: string, language: StemmedLanguage): string => {
  if (language === "arabic") return foldWord(word).replaceAll("\u0640", "")
  if (language === "hindi") return word.replace(/\u093c|\u200c|\u200d/gu, "").replaceAll("\u0901", "\u0902")
  return word
}

const foldStem = (stem: string, language: StemmedLanguage): string => {
  if (language === "hindi") return stem.replace(HINDI_SPELLINGS, (letter) => HINDI_SPELLED.get(letter) ?? "")
  if (language === "arabic")
    return stem.replace(/[\u0649\u0629\u0624\u0626]/gu, (letter) => ARABIC_SPELLED.get(letter) ?? "")
  const folded = foldWord(stem)
  return PLURAL_S.has(language) && folded.length > 2 && folded.endsWith("s") ? folded.slice(0, -1) : folded
}

/** Snowball leaves the plural of short words of these languages as it is: altas, lois, leis. */
const PLURAL_S: ReadonlySet<StemmedLanguage> = new Set(["spanish", "french", "portuguese"])

/** Spellings of one word differ in them: long and short vowels, borrowed vowels, the sign that drops a vowel. */
const HINDI_SPELLED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "\u0908": "\u0907",
    "\u090a": "\u0909",
    "\u0940": "\u093f",
    "\u0942": "\u0941",
    "\u0911": "\u0913",
    "\u0949": "\u094b",
    "\u090d": "\u090f",
    "\u0945": "\u0947",
    "\u094d": ""
  })
)
const HINDI_SPELLINGS = new RegExp([...HINDI_SPELLED.keys()].join("|"), "gu")
const ARABIC_SPELLED: ReadonlyMap<string, string> = new Map(
  Object.entries({ "\u0649": "\u064a", "\u0629": "\u0647", "\u0624": "\u0648", "\u0626": "\u064a" })
)

/** Cached stems; about 6 MB at most. */
const stems = new Map<string, string>()
const stemsMax = 65_536
/** V8 represents a longer word as a slice that keeps its whole text in memory. */
const cachedLengthMax = 12

/** Marks whose stems are worth looking for only where a document of the language is. */
export const latinMarks = (["german", "spanish", "french", "italian", "portuguese"] as const).map(
  (language: LatinLanguage) => languageMarks[language]
)

/**
 * English words whose forms share no stem: verbs (went, gone), plurals (women), everyday names of family (mum, kids).
 * Porter's algorithm only cuts endings, so a question with "go" would miss a memory with "went"; and it stems some short
 * words wrongly (dies, goes). Forms that are as often another word are left out: rose, wound, bit, lay, lives. The first
 * word of a group replaces the others.
 */
const VERBS =
  "become became|begin began begun|bend bent|bite bitten|bleed bled|blow blew blown|break broke broken|breed bred|" +
  "bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came|creep crept|" +
  "deal dealt|die died dying|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|" +
  "feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|" +
  "freeze froze frozen|give gave given|go goes went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|" +
  "keep kept|know knew known|lead led|leap leapt|learn learnt|leave left|lend lent|lie lying|lose lost|make made|mean meant|" +
  "meet met|mislead misled|mistake mistook mistaken|overcome overcame|pay paid|ride rode ridden|ring rang rung|" +
  "rise risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn|shake shook shaken|shine shone|" +
  "shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|smell smelt|" +
  "speak spoke spoken|spend spent|spill spilt|spin spun|spoil spoilt|spring sprang sprung|stand stood|steal stole stolen|" +
  "stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|" +
  "tear tore torn|tell told|think thought|throw threw thrown|tie tied tying|understand understood|undertake undertook undertaken|" +
  "wake woke woken|wear wore worn|weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written"
const NOUNS =
  "foot feet|goose geese|half halves|knife knives|man men|mouse mice|person people|shelf shelves|thief thieves|" +
  "tooth teeth|wife wives|wolf wolves|woman women|" +
  "child children kid kids|mother mom mum mommy mummy mama|father dad daddy papa|" +
  "grandmother grandma granny nan|grandfather grandpa granddad grandad"

const baseOf: ReadonlyMap<string, string> = new Map(
  `${VERBS}|${NOUNS}`.split("|").flatMap((group) => {
    const [base = "", ...forms] = group.split(" ").map((word) => stemmer(word))
    return forms.map((form) => [form, base] as const)
  })
)

/** Past forms of verbs: went, told. */
export const irregularPasts: ReadonlyArray<string> = VERBS.split("|").flatMap((group) => group.split(" ").slice(1))

/** The base form's stem. Takes a stem, so it also applies to stored tokens. */
export const baseStem = (stem: string): string => baseOf.get(stem) ?? stem
