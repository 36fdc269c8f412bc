/**
 * Analysis of a question: the part that it asks for, content words, the names that an answer must be about, and whether
 * it is about the asker. English, by rules; a query without a question word is a topic. A question is data: no
 * instruction in it is followed.
 */
import { either } from "../text/OneOf.ts"
import { asksPresent } from "./QuestionTraits.ts"
import { stopWords } from "../text/Language.ts"
import { queryTerms, tokenize } from "../text/Tokenizer.ts"
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import { partAsked, type PartName } from "./AnswerPart.ts"
import { plainText } from "../text/VisibleText.ts"
import { slotAsked } from "./SlotValue.ts"

export interface Question {
  /** On one line, without control characters. */
  readonly text: string
  readonly part: PartName
  /** Why no single statement answers it; undefined: one may. */
  readonly open: OpenForm | undefined
  /** Stems of its content words; at least one unless the question has no words. */
  readonly terms: ReadonlyArray<string>
  /** Those that say what it is about: without "cost" in "how much does it cost?". As many as `terms` where none is left. */
  readonly topic: ReadonlyArray<string>
  /** Names in it, each as its stems: an answer must be about all of them. */
  readonly names: ReadonlyArray<ReadonlyArray<string>>
  /** Words in the position of the subject ("does *Rex* eat"): a statement must contain one of them. */
  readonly focus: ReadonlyArray<string>
  /** Years that it names. */
  readonly years: ReadonlyArray<string>
  /** The single value that is asked for, see `SlotValue.ts`. */
  readonly slot: string | undefined
  /** Sign of the preference asked for ("like", "hate"); a yes-no question accepts both. */
  readonly liking: "likes" | "dislikes" | undefined
  /** About the asker: "I", "my", "the user". */
  readonly isOfAsker: boolean
  /** Asks about the past: "before", "used to". */
  readonly isOfPast: boolean
  /** Asks for the state of today, or for what is planned: "is", "do", "who drives". */
  readonly isOfPresent: boolean
  /** "When did": what is still to come is no answer. */
  readonly isWhenDone: boolean
  /** "When is", "when do I": the day on which something was said is no answer. */
  readonly isWhenDue: boolean
  /** "What did you suggest?": asks for the assistant's own words. */
  readonly isOfAssistant: boolean
  /** Stems of what the asker calls their own: "my new dentist". */
  readonly owned: ReadonlyArray<string>

  readonly counted: ReadonlyArray<string>
  /** Whom or what it is about, by its grammar. */
  readonly subject: AskedSubject
  /** "What can't I eat?" */
  readonly isNegative: boolean
}

const QUESTION_LENGTH_MAX = 2_000

/** Say which of several things is meant, and nothing of the thing. */
const ages: ReadonlySet<string> = new Set(tokenize("new old current next last first"))

/** Words that ask for a part, so that an answer seldom has them. */
const partWords: Partial<Readonly<Record<PartName, ReadonlySet<string>>>> = {
  amount: new Set(tokenize("cost costs price pay paid worth expensive charge spend earn get amount sum")),
  duration: new Set(tokenize("take takes took taking last lasts lasted stay staying")),
  age: new Set(tokenize("old age")),
  name: new Set(tokenize("name named call called")),
  date: new Set(tokenize("happen appointment date due")),
  place: new Set(tokenize("located place"))
}

export const readQuestion = (raw: string): Question => {
  const text = plainText(raw, QUESTION_LENGTH_MAX)
  const lower = text.toLowerCase().replaceAll("’", "'")
  const names = namesIn(text)
  const isOfAsker = ASKER.test(lower)
  const part = partAsked(lower)
  const focus = focusOf(lower)
  const liking = part === "yesNo" ? undefined : likingOf(lower)
  // "Like" is a stop word of searches, but the only content word of "What does Alice like?".
  const liked = liking !== undefined && /\blike\b/.test(lower) ? tokenize(liking) : []
  const telling = queryTerms(text).filter(
    (term) => !fillers.has(term) && !stopWords.has(term) && !(isOfAsker && term === "user")
  )
  const asked = [...telling, ...liked]
  const askedFor = partWords[part]
  const topic = asked.filter((term) => askedFor?.has(term) !== true && !ages.has(term))
  return {
    text,
    part,
    open: openFormOf(lower),
    // "Who am I?" has no content word and asks for the name.
    terms: asked.length > 0 ? asked : isOfAsker ? tokenize("name") : queryTerms(text),
    topic: topic.length > 0 ? topic : asked,
    names,
    focus,
    years: lower.match(/\b(?:19|20)\d\d\b/g) ?? [],
    slot: slotAsked(lower, names.flat()),
    liking,
    isOfAsker,
    isOfPast: PAST.test(lower),
    isOfPresent: asksPresent(lower) || (!PAST.test(lower) && /\b(?:may|must|need)\b/.test(lower)),
    isWhenDone: part === "date" && /\b(?:did|was|were|has|had)\b/.test(lower),
    isWhenDue: part === "date" && !/\b(?:did|was|were|has|have|had)\b/.test(lower),
    isOfAssistant: /\b(?:you|your|yours|assistant)\b(?! (?:know|remember|tell))/.test(lower),
    owned: [...lower.matchAll(/\b(?:my|our) ([\p{L}-]+)(?:'s)?(?: ([\p{L}-]+))?/gu)].flatMap(([, one = "", two = ""]) =>
      tokenize(`${one} ${two}`).filter((term) => asked.includes(term))
    ),
    subject: askedSubject(text, names),
    isNegative: /\b(?:not|never|no longer)\b|n't\b/.test(lower),
    counted: tokenize(/\bhow many ((?:[\p{L}-]+ ){1,2})/u.exec(lower)?.[1] ?? "").filter((term) => !stopWords.has(term))
  }
}

const ASKER = /\b(?:i|i'm|i've|i'd|me|my|mine|myself|we|our|us|the user|user's)\b/
const PAST =
  /\b(?:before|previous|previously|used to|formerly|former|earlier|originally|once|in the past|old (?:job|address|flat|house|employer))\b/

const likingOf = (lower: string): Question["liking"] => {
  if (
    /\b(?:hates?|dislikes?|avoids?|can't stand|not (?:like|eat|want|tolerate|enjoy)|n't (?:like|eat|want|tolerate|enjoy))\b/.test(
      lower
    )
  )
    return "dislikes"
  return /\b(?:likes?|loves?|enjoys?|prefers?|favou?rite|fond)\b/.test(lower) ? "likes" : undefined
}

const AUXILIARY = "is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|must|isn't|doesn't|didn't"
/**
 * The subject after the auxiliary, without articles and possessives: `does alice's sister` gives sister, `is the spare
 * key` gives spare or key. "The name of the dog" gives dog in any position.
 */
const SUBJECT_OF =
  "\\s+(the |a |an |my |our |his |her |their |your |this |that |any |some )?([\\p{L}\\p{N}-]+)('s)?(?:\\s+([\\p{L}\\p{N}-]+))?"
const FOCUSES = [new RegExp(`\\bnames? of${SUBJECT_OF}`, "u"), new RegExp(`\\b(?:${AUXILIARY})${SUBJECT_OF}`, "u")]

const focusOf = (lower: string): ReadonlyArray<string> => {
  for (const pattern of FOCUSES) {
    const [, article, word = "", possessive, next = ""] = pattern.exec(lower) ?? []
    const words = possessive !== undefined ? [next] : article === undefined ? [word] : [word, next]
    const telling = words.filter((one) => !stopWords.has(one) && !dates.has(one) && !collective.has(one))
    const terms = tokenize(telling.join(" ")).filter((term) => !fillers.has(term) && term !== nameTerm)
    if (terms.length > 0) return terms
  }
  return []
}

const [nameTerm] = tokenize("name")
/** Groups: a statement about one member may be the best answer. */
const collective: ReadonlySet<string> = new Set(["family", "household", "team", "couple"])

/** Sequences of capitalised words after the first word. */
const namesIn = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  [...text.matchAll(NAME)]
    .map(([run]) => run.split(" ").filter((word) => !isCommon(word)))
    .filter((words) => words.length > 0)
    .map((words) => tokenize(words.join(" ")))
    .slice(0, NAMES_MAX)

const NAMES_MAX = 8
const NAME = /(?<=[\p{L}\p{N},;:'"] ["']?)\p{Lu}[\p{L}\p{N}'’-]*(?: \p{Lu}[\p{L}\p{N}'’-]*)*/gu

/** Capitalised words that are no names: question words, months, days. */
const isCommon = (word: string): boolean => {
  const plain = word.toLowerCase().replace(/['’].*$/, "")
  return stopWords.has(plain) || dates.has(plain)
}

const dates: ReadonlySet<string> = new Set([
  ...[...monthNames, ...weekdayNames].map((name) => name.toLowerCase()),
  "christmas",
  "easter"
])

/** Words of asking, without content. */
const fillers: ReadonlySet<string> = new Set(
  tokenize(
    "know knows remember recall tell say said told mentioned remind kind type sort many much often long far thing things " +
      "anything something everything someone somebody anyone time day date year month place person people currently now " +
      "still today usually ever happen happens happened happening exactly actually really list give information about " +
      "soon going per along much when what where who why how which use used"
  )
)

/** `thing`: whatever has an article; `open`: the question asks who or what does something. */
export interface AskedSubject {
  readonly kind: "asker" | "person" | "thing" | "open"
  /** "We": of several who talk with each other anybody. */
  readonly isGroup: boolean
  /** Stems of its words; of "Ann's mother" the mother's. */
  readonly terms: ReadonlyArray<string>
  /** The auxiliary before it, and the words behind it, in lower case. */
  readonly auxiliary: string
  readonly rest: string
}

const ANY_CASE = AUXILIARY.split("|")
  .map((word) => `[${word[0]!.toUpperCase()}${word[0]}]${word.slice(1)}`)
  .join("|")
const VERB_BEFORE = `(?:\\b(?:${ANY_CASE})(?:n['’]t)?|(?<=\\b(?:[Ww]ho|[Ww]hat|[Ww]here|[Ww]hen|[Hh]ow))['’]s)`
const ASKER_OR_OWNED = "([Ii]|we|the user(?!['’]s))(?= |\\?|$)|((?:my|our|the user['’]s) )"
const NAME_OR_ARTICLE = "(\\p{Lu}[\\p{L}-]+(?: \\p{Lu}[\\p{L}-]+)*)(['’]s )?|(the |an? |this |that |these |those )?"
const SUBJECT = new RegExp(`${VERB_BEFORE} +(?!\\p{Ll}+ing\\b)(?:${ASKER_OR_OWNED}|${NAME_OR_ARTICLE})(.*)$`, "u")

export const askedSubject = (text: string, names: ReadonlyArray<ReadonlyArray<string>>): AskedSubject => {
  const found = SUBJECT.exec(text)
  if (found === null) return { kind: "open", isGroup: false, terms: [], auxiliary: "", rest: "" }
  const [whole, asker, owned, name, possessive] = found
  const rest = found[6] ?? ""
  const auxiliary = (/^\p{L}+/u.exec(whole)?.[0] ?? "is").toLowerCase()
  const isGroup = /^(?:we|our )$/.test(asker ?? owned ?? "")
  if (asker !== undefined) return { kind: "asker", isGroup, terms: [], auxiliary, rest: rest.toLowerCase() }
  const isName = name !== undefined && tokenize(name).some((stem) => names.some((known) => known.includes(stem)))
  if (isName && possessive === undefined) {
    return { kind: "person", isGroup, terms: tokenize(name), auxiliary, rest: rest.toLowerCase() }
  }
  const words = (isName || owned !== undefined ? rest : `${name ?? ""}${possessive ?? ""}${rest}`).trim()
  const terms = nounsOf(words)
  const kind = isName || owned !== undefined ? "person" : terms.length === 0 ? "open" : "thing"
  return { kind, isGroup, terms, auxiliary, rest: words.toLowerCase() }
}

const NOUNS_MAX = 2
const nounsOf = (words: string): ReadonlyArray<string> => {
  const first: Array<string> = []
  for (const word of words.split(/[^\p{L}\p{N}_'’-]+/u)) {
    if (first.length === NOUNS_MAX || stopWords.has(word.toLowerCase()) || word === "") break
    first.push(word)
  }
  return tokenize(first.join(" "))
}

export type OpenForm = "list" | "count" | "would" | "summary"

interface OpenFormRow {
  readonly form: OpenForm
  readonly pattern: RegExp
  readonly example: string
  readonly counterexample: string
}

/** In lower case. */
export const openFormOf = (lower: string): OpenForm | undefined =>
  openForms.find(({ pattern }) => pattern.test(lower))?.form

/** A noun in the plural: not "news", "is", "was", "class", "bus". */
const PLURAL = "(?!(?:is|was|does|has|this|his|its|news|[\\p{L}-]+'s)\\b)[\\p{L}-]{2,}[^su\\P{L}]s"

export const openForms: ReadonlyArray<OpenFormRow> = [
  {
    form: "would",
    pattern: /\b(?:would|might|likely|probably)\b|\bcould (?!you)/,
    example: "what job might maria pursue?",
    counterexample: "could you tell me where maria works?"
  },
  {
    form: "summary",
    pattern:
      /\b(?:summari[sz]e|summary|overview|describe[ds]?|tell me (?:all )?about|how (?:has|have|did|do|does) [^?]+ (?:change[ds]?|evolve[ds]?|develop(?:ed)?|progress(?:ed)?))\b/,
    example: "how has her job changed since may?",
    counterexample: "when did her job change?"
  },
  {
    form: "count",
    pattern: either(
      /\bhow many (?:different |other )?times\b|\bby how (?:much|many)\b/u,
      /\bhow (?:many|much)\b[^?]*\b(?:in total|altogether|so far|overall)\b/u,
      /\bhow many [^?]*?\b(?:has|have|had|did|of) (?!(?:\p{L}+ )?(?:have|got|own)\b)[^?]+ (?:\p{L}{2,}(?:ed|en|ne)|won|made|read|been|gone|met|bought|done|run|sold|taught|had)\b/u
    ),
    example: "how many times has she been to the beach?",
    counterexample: "how many cats does she have?"
  },
  {
    form: "list",
    pattern: new RegExp(
      "\\b(?:what|which|name|list) (?:are |were |all )?(?:(?:the|some|other|new|different|of|all) )*(?:kinds|types|sorts)\\b|" +
        `\\b(?:what|which) (?:(?:other|different|new|specific|main|two|three|\\p{L}+-?\\p{L}+) ){0,2}${PLURAL}\\b(?! (?:of|in) the)|` +
        `\\b(?:what|who|which) (?:are|were) (?:[^?]*'s? )?[^?]*${PLURAL}\\b|` +
        "\\bwhat (?:else|all)\\b|\\bin (?:what|which) ways\\b|\\bboth\\b|\\b(?:list|name) (?:all|the|some|every)\\b",
      "u"
    ),
    example: "what activities does melanie like?",
    counterexample: "what is the class about?"
  }
]
