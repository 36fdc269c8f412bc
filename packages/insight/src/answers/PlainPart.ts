/**
 * Decides whether one sentence plainly states the part that is asked for: a sum rather than any number, "because"
 * rather than "for", "is called" rather than any capital. Weaker forms are in `AnswerPart.ts`; this is a weight of the
 * gate, no condition. Rows are data: the tests run their examples and counterexamples.
 */
import { stopWords } from "@muniment/engine/text/StopWords"
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { monthNames, weekdayNames } from "../calendar/CalendarWords.ts"
import type { PartName } from "./PartName.ts"

interface PlainPartRow {
  readonly part: PartName
  readonly pattern: RegExp
  readonly example: string
  readonly counterexample: string
}

const DAY = `(?:${[...monthNames, ...monthNames.map((name) => `${name.slice(0, 3)}\\.?`)].join("|")})`
const WEEKDAY = `(?:${weekdayNames.join("|")})s?`
/** Digits that are no sum: days, years, clock times and phone numbers. */
const DATES = new RegExp(
  `\\b\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${DAY}\\b|\\b${DAY} \\d{1,2}(?:st|nd|rd|th)?\\b|\\b(?:19|20)\\d\\d\\b(?![,.]\\d)|` +
    "\\b\\d{4}-\\d\\d-\\d\\d\\b|\\b\\d{1,2}:\\d\\d\\b|\\b\\d{1,2} ?[ap]\\.?m\\b|\\b\\d{1,2}(?:st|nd|rd|th)\\b",
  "giu"
)
const COUNT =
  "(?:\\d[\\d,.]*k?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|sixty|hundred|thousand|half an?|couple of|few|an?)"
const TIME_UNIT =
  "(?:min(?:ute)?s?|h(?:ou)?rs?|h|days?|nights?|weeks?|months?|years?|decades?|semesters?|evenings?|sessions?)"

/** First words of a sentence that are no names. */
const NOT_NAME =
  "(?!(?:I|The|They|This|That|These|Those|It|He|She|We|You|There|What|My|Our|His|Her|And|But|So|Also|Yes|No|If|In|\\p{L}+ing)\\b)"

export const plainParts: ReadonlyArray<PlainPartRow> = [
  {
    part: "amount",
    pattern: new RegExp(
      `\\d(?![\\d,.]*(?: ?%| ?(?:(?!an? |per |each |every )\\p{Ll}+ )?(?:${TIME_UNIT}|year-old|o'clock)\\b))`,
      "iu"
    ),
    example: "We pay 1,250 a month.",
    counterexample: "It takes 20 minutes on 5 March."
  },
  {
    part: "duration",
    pattern: new RegExp(`(?<!\\d )\\b${COUNT}[ -]?(?:(?!an? )\\p{Ll}+ )?${TIME_UNIT}\\b(?! ago)`, "iu"),
    example: "It takes 25 min.",
    counterexample: "I met her three years ago."
  },
  {
    part: "age",
    pattern:
      /(?:\b(?:is|am|are|was|turn(?:s|ed|ing)?)|['’](?:m|s|re)) (?:now |only |just |almost |nearly )?(?:\d{1,3}(?![\d,.:]*\d| ?(?:%|km|euros?|pounds?|dollars?|per|a|each|in|on|min|minutes?|hours?|days?|weeks?)\b)|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\p{L}+teen|\p{L}+ty)(?=[.,!]|$| (?:now|and|years?|months?|in)\b))|\b[\p{L}\d]+[- ](?:years?|months?|weeks?)[- ]old\b|, \d{1,3}(?= ?(?:[.,!]|$))/iu,
    example: "Rex, she's 11 and hates cars.",
    counterexample: "The bus is 20 minutes late."
  },
  {
    part: "reason",
    pattern:
      /\b(?:because|bc|cuz|coz|due to|thanks to|so that|in order to|as a result|reasons?|that['’]?s why|in the end it was)\b|(?:^|[,;.] |\b(?:and|but) )since \p{L}+|(?<=[\p{L}\d],? )since (?:he|she|it|we|they|i|my|our|her|his|the|their|nobody|somebody|someone)\b/iu,
    example: "I canceled it, since I caught a cold.",
    counterexample: "I waited for two hours after lunch."
  },
  {
    part: "place",
    pattern: new RegExp(
      `\\b(?:in|at|from|near|to|on|around|behind)(?: (?:the|a|an|our|my|her|his|their))?(?: \\p{Ll}+)? (?!${WEEKDAY}|${DAY}\\b)\\p{Lu}\\p{L}+`,
      "u"
    ),
    example: "We found a flat on Larkspur Road.",
    counterexample: "We found a flat in the end."
  },
  {
    part: "name",
    pattern:
      /\b(?:(?:called|named)(?! (?:after|for|by|in|on|off|at|to)\b)|names? (?:is|was|are)|name['’]s|nicknamed) ["“]?\p{L}|["“]\p{Lu}/u,
    example: "We have a dog called Rex.",
    counterexample: "My sister was named after Rosa."
  },
  {
    part: "person",
    pattern: new RegExp(
      "\\b(?:called|named|name['’]s|name is) \\p{L}|" +
        "\\b(?:is|was|be|will be) (?:now )?\\p{Lu}\\p{Ll}+ ?(?:\\p{Lu}|[.,!]|$)|" +
        "\\b(?:my|our|his|her|their|by|with|to|from|and|the|an?) (?:\\p{Ll}+[ -]){0,3}\\p{Lu}\\p{L}+|" +
        `(?:^|[.,!] )${NOT_NAME}\\p{Lu}\\p{L}+(?: \\p{Lu}\\p{L}+)?(?:['’]s)? (?:is|was|has|had|will|and|[\\p{Ll}]+(?:ed|s|ly))\\b`,
      "u"
    ),
    example: "Booked it, my brother Owen is driving.",
    counterexample: "They moved it, somebody drives."
  },
  {
    part: "date",
    pattern: new RegExp(
      `\\b\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${DAY}|\\b${DAY} \\d|\\b(?:in|since|until|till|by|from) ${DAY}\\b|\\b(?:at|until|till|by|before|after) (?:Christmas|Easter)\\b|\\b${WEEKDAY}\\b|` +
        "\\bthe \\d{1,2}(?:st|nd|rd|th)\\b|\\b\\d{1,2}(?::\\d\\d| ?[ap]\\.?m\\b)|\\b(?:in|since) (?:19|20)\\d\\d\\b",
      "iu"
    ),
    example: "It was moved to 13 May.",
    counterexample: "It was moved again."
  },
  {
    part: "frequency",
    pattern:
      /\b(?:every|each|daily|weekly|monthly|once|twice|(?:\d+|two|three|four|five|six) (?:times|days)|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|never|per|an? (?:day|week|month|year))\b/iu,
    example: "I swim twice a week.",
    counterexample: "I swim in the lake."
  }
]

const byPart = new Map(plainParts.map(({ part, pattern }) => [part, pattern]))

/** Whether the part has a plain form at all. */
export const isPlainPart = (part: PartName): boolean => byPart.has(part)

/** What is looked for beside the part, as stems. */
export interface AskedTerms {
  readonly topic: ReadonlyArray<string>
  /** What "how many" counts. */
  readonly counted: ReadonlyArray<string>
}

/** "9 March" is no sum; "my sister Lotte" names the sister. */
export const statesPlainly = (part: PartName, sentence: string, { counted, topic }: AskedTerms): boolean => {
  const pattern = byPart.get(part)
  if (pattern === undefined) return false
  if (part === "name") return (pattern.test(sentence) && !callsOther(sentence, topic)) || isNamedBeside(sentence, topic)
  if (part === "age") return pattern.test(withoutDates(sentence))
  if (part !== "amount") return pattern.test(sentence)
  const rest = withoutDates(sentence)
  return counted.length === 0 ? pattern.test(rest) : isCounted(rest, counted)
}

/** "A helper called Oksana" names no gran; "she's called" and "a woman called" may. */
const callsOther = (text: string, topic: ReadonlyArray<string>): boolean => {
  const called = [...text.matchAll(CALLED)].map(([, word = ""]) => word.toLowerCase())
  const isOther = (word: string): boolean =>
    !stopWords.has(word) && !anyone.has(word) && !tokenize(word).some((stem) => topic.includes(stem))
  return topic.length > 0 && called.length > 0 && called.every(isOther)
}
const CALLED = /(?<![\p{L}'’])([\p{L}-]+)(?:,? (?:is|was|are|who is))? (?:called|named|nicknamed) /giu
const anyone: ReadonlySet<string> = new Set(
  "shes hes its guy man woman girl boy person one thing place somebody someone".split(" ")
)

const NOUN_NAME = /((?:\p{Ll}[\p{L}-]* ){1,2})["“]?\p{Lu}\p{L}+/gu
const NAME_NOUN = /\p{Lu}\p{L}+(?:,| is| was) (?:my|our|his|her|their|an?|the) ((?:[\p{L}-]+ ?){1,3})/gu
const BETWEEN = /\b(?:in|at|from|to|near|on|by|for|with|of|after|and|or|is|was)\b/

/** "Sister Lotte", "Lotte, my sister". */
const isNamedBeside = (text: string, topic: ReadonlyArray<string>): boolean =>
  [...text.matchAll(NOUN_NAME), ...text.matchAll(NAME_NOUN)].some(
    ([, words = ""]) => !BETWEEN.test(words) && tokenize(words).some((stem) => topic.includes(stem))
  )

export const withoutDates = (text: string): string => text.replaceAll(DATES, " ")

const NUMBERED = new RegExp(`\\b${COUNT} ((?:[\\p{L}-]+ ?){1,3})`, "giu")

/** "310 pages", "two big rooms". */
const isCounted = (text: string, counted: ReadonlyArray<string>): boolean =>
  [...text.matchAll(NUMBERED)].some(([, words = ""]) => tokenize(words).some((stem) => counted.includes(stem)))

/** Says that a value is no longer what it was. */
export const tellsChange = (text: string): boolean => CHANGE.test(text)

/** Says what a value was changed to. */
export const tellsSwitch = (text: string): boolean => SWITCH.test(text)

const SWITCH =
  /\b(?:changed|moved|postponed|delayed|shift(?:ed)?|resched\p{L}+|rebooked|raised|switched|swapped|leaves|quit|starts? (?:at|as)|started (?:at|as)|goes up|went up|went down|instead|had to|(?:is|are) now)\b|\bnow (?:it['’]s |is )?\d|\b(?:days|times|a \p{L}+|per \p{L}+|\d) now\b/iu

const CHANGE =
  /\b(?:now|actually|instead|changed?|moved|moves|postponed|delayed|shift(?:ed)?|resched\p{L}+|rebooked|raised|went up|goes up|went down|in the end|after all|no longer|not any ?more|new|finally|turns out|again|switched|swapped|dropped out|correction|as of|from now|anymore|leaves|quit|starts?|started|had to)\b/iu

/** What is weighed, feared or asked rather than stated. */
export const isHedged = (text: string): boolean =>
  /\b(?:if|might|maybe|perhaps|probably|could|would(?! (?:have|rather))|should|wonder(?:ing)?|thinking (?:of|about)|not sure|hope(?:fully)?|do i|shall i)\b|\?["'”’)]?$/i.test(
    text
  )
