/**
 * The part that a question asks for: an amount, a duration, a place, a person, a reason, a name, a date. Each row says
 * how it is asked for, what shape it has in a statement, and its plain form: a sum rather than any number, "because" rather
 * than "for". The tests run its sentences. A part that the question itself names does not count.
 */
import { either, phrases, wordOf } from "../text/OneOf.ts"
import { stopWords } from "../text/Language.ts"
import { tokenize } from "../text/Tokenizer.ts"
import { monthNames, numberWords, WEEKDAY as ANY_WEEKDAY, weekdayNames } from "../calendar/CalendarWords.ts"
import { isUser } from "../people/Relations.ts"

export type PartName =
  | "frequency"
  | "age"
  | "duration"
  | "amount"
  | "date"
  | "contact"
  | "detail"
  | "name"
  | "place"
  | "person"
  | "reason"
  | "yesNo"
  | "thing"
  | "topic"

interface AnswerPartRow {
  readonly name: PartName
  readonly asked: RegExp
  /** Undefined: any statement has it. */
  readonly held?: (statement: HeldIn, asked: ReadonlySet<string>) => boolean
  readonly question: string
  /** Statements with and without the part. */
  readonly example: string
  readonly counterexample?: string
  /** Its plain form; a sentence with it and one without. */
  readonly plain?: RegExp
  readonly plainly?: readonly [string, string]
}

/** Parts of a statement that are looked at. */
export interface HeldIn {
  readonly text: string
  readonly subject: string | undefined
  /** Day of the statement, known beside the text. */
  readonly date: string | undefined
  readonly location: string | undefined
  readonly participants: ReadonlyArray<string>
}

/** The row whose `asked` stands first in the question, of two at the same word the upper one; yes or no only without others. */
export const partAsked = (lower: string): PartName => {
  const found = answerParts
    .map(({ asked, name }) => ({ name, at: lower.search(asked) }))
    .filter(({ at }) => at >= 0)
    .sort((left, right) => left.at - right.at)
  return (found.find(({ name }) => name !== "yesNo") ?? found[0])?.name ?? "topic"
}

/** `asked`: stems of the question. */
export const hasPart = (part: PartName, statement: HeldIn, asked: ReadonlySet<string>): boolean =>
  (byName.get(part)?.held?.(statement, asked) ?? true) ||
  (alsoPlain.has(part) && isPlain(part, statement.text, { topic: [], counted: [] }))

/** Their plain forms have more: "the 16th", "9 march", "40 min". */
const alsoPlain: ReadonlySet<PartName> = new Set(["age", "date", "duration"])

const matches =
  (pattern: RegExp) =>
  ({ text }: HeldIn): boolean =>
    pattern.test(text)

const NUMBER =
  "(?:\\d[\\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|sixty|hundred|thousand|dozen|couple|several|both|twice|half|no|none|single)"
const UNIT = "(?:minutes?|hours?|days?|weeks?|months?|years?|decades?|semesters?|seasons?)"
const DATE = new RegExp(
  `\\b(?:${monthNames.join("|")}|(?:${weekdayNames.join("|")})s?|(?:19|20)\\d\\d|\\d{1,2}(?::\\d\\d)? ?[ap]\\.?m\\b|\\d{1,2}:\\d\\d)|` +
    "\\b(?:noon|midnight|o'clock|yesterday|today|tomorrow|tonight|mornings?|evenings?|afternoon|weekends?|weekly|daily|" +
    "spring|summer|autumn|winter|Christmas|Easter|ago|since|nights?|(?:last|next|every|each) (?:day|week|month|year))\\b",
  // Case counts: "may" and "march" are verbs.
  "u"
)
const AMOUNT = new RegExp(`\\b${NUMBER}\\b|\\bha(?:s|ve) an? `, "i")
const FREQUENCY = new RegExp(
  "\\b(?:every|each|daily|weekly|monthly|yearly|annually|once|twice|times|always|never|often|usually|sometimes|rarely|" +
    `seldom|regularly|hourly|nightly|per|an? (?:day|week|month|year)|${ANY_WEEKDAY}s|` +
    "mornings|evenings|weekends)\\b",
  "i"
)
const DETAIL = /\b(?:colou?r|brand|make|model|breed|(?:sur|last |family |full )name) (?:is|was)\b/i
const details: ReadonlySet<string> = new Set(tokenize("colour color brand make model breed surname name"))
const REASON = wordOf(
  phrases(String.raw`
    because / bc / cuz / cause / since / due to / thanks to / so that / so i / in order to / as a result / reason / after
    that'?s why / wants? to / wanted to / (?:it|that|they) (?:make|remind|help|inspire|motivate|give)s? / inspire[ds]?
    to \p{Ll}+ / for
  `),
  "iu"
)

const hasDate = ({ date, subject, text }: HeldIn): boolean =>
  // A month's name can also be a person's (June).
  date !== undefined || DATE.test(subject === undefined ? text : text.replaceAll(subject, ""))

/** Prepositions after which any word is taken for a place. */
const INSIDE =
  /\b(?:in|at|near|under|behind|inside|beside|outside|around|from|into|above|below|between)\s+(?:(?:the|a|an|his|her|their|my|our|its)\s+)?([\p{L}\p{N}'’-]+)/giu
/** Prepositions with many uses: only a capitalised word or one with an article is taken for a place. */
const TOWARDS =
  /\b(?:to|on|for|with|by|visits?|visited|explored?)\s+(?:(?:the|a|an|his|her|their|my|our)\s+\p{L}|\p{Lu})[\p{L}'’-]*/gu
const PLACE_FIELD = /\b(?:city|town|country|address|location|place|street|venue|home|office)\b/i

const hasPlace = ({ location, text }: HeldIn, asked: ReadonlySet<string>): boolean => {
  if (location !== undefined) return true
  const isNew = (phrase: string): boolean => {
    const words = tokenize(phrase).filter((word) => !stopWords.has(word))
    return words.some((word) => !asked.has(word) && !/^\d+$/.test(word)) && !DATE.test(phrase)
  }
  const isInside = [...text.matchAll(INSIDE)].some(([, word = ""]) => isNew(word))
  if (isInside || [...text.matchAll(TOWARDS)].some(([phrase]) => isNew(phrase))) return true
  return PLACE_FIELD.test(text) && text.includes(":")
}

/** The word before a name distinguishes a place from a person. */
const CAPITALISED = /(?:(\p{L}+)\s+)?(\p{Lu}[\p{L}'’-]+)/gu
const PLACE_WORD = /^(?:in|at|from|to|near|into)$/i
const RELATIVE = wordOf(
  phrases(String.raw`
    mother / father / mum / mom / dad / sister / brother / son / daughter / husband / wife / partner / boyfriend
    girlfriend / friends? / boss / manager / doctor / dentist / teacher / neighbou?r / colleagues? / cousin
    aunt / uncle / grand\p{L}+ / roommate / flatmate / therapist / coach / kids / family / parents / teammates?
    group / team
  `),
  "giu"
)

/**
 * A capitalised word of its own: not the first of a sentence unless a verb follows ("Max is"), and not who is spoken to
 * ("Hey Nate", "Thanks, Gina").
 */
const hasNewName = (text: string, asked: ReadonlySet<string>, isPlaceLeftOut: boolean): boolean =>
  [...text.matchAll(CAPITALISED)].some(({ 0: run, 1: before = "", 2: name = "", index }) => {
    const at = index + run.length - name.length
    const lead = text.slice(0, at)
    const isFirst = /(?:^|[.!?…:]["'”’)]?\s+)$/u.test(lead)
    if (
      isFirst &&
      !/^(?:['’]s\b| (?:and|is|was|has|had|will|can|likes?|loves?|lives?|works?|came|went|wants?|plays?)\b)/u.test(
        text.slice(at + name.length)
      )
    )
      return false
    // "Named after Bob": another one's.
    if (/^after$/i.test(before) || SPOKEN_TO.test(lead) || (isPlaceLeftOut && PLACE_WORD.test(before))) return false
    return isNewWord(name, asked)
  })

const SPOKEN_TO = /(?:^|[.!?,]\s+)(?:hey|hi|hello|thanks|thank you|wow|congrats|yeah|sure|great|oh)[,!]?\s+$/i

const isNewWord = (word: string, asked: ReadonlySet<string>): boolean => {
  const [stem] = tokenize(word)
  if (/^(?:I['’]\p{L}+|UTC)$/u.test(word)) return false
  return stem !== undefined && !asked.has(stem) && !stopWords.has(word.toLowerCase()) && !DATE.test(word)
}

const hasPerson = ({ participants, subject, text }: HeldIn, asked: ReadonlySet<string>): boolean =>
  participants.some((word) => isNewWord(word, asked)) ||
  (subject !== undefined && !isUser(subject) && isNewWord(subject, asked)) ||
  hasNewName(text, asked, true) ||
  // Also one that is a month: June.
  /\b(?:name is|called|named) \p{Lu}/u.test(text) ||
  [...text.matchAll(RELATIVE)].some(([word]) => isNewWord(word, asked))

/** A name in quotation marks, or a capitalised word. */
const hasName = ({ text }: HeldIn, asked: ReadonlySet<string>): boolean =>
  /["“«]\p{L}/u.test(text) || hasNewName(text, asked, false)

/** Values with a recognisable form, by the words that ask for them; the first that occurs counts. */
const contactForms: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
  [tokenize("email mail"), /@/],
  [tokenize("address"), /\b(?:street|road|avenue|lane|square|postcode|address (?:is|:))\b/i],
  [tokenize("phone telephone number price cost salary"), /\d/]
]

const hasContact = ({ text }: HeldIn, asked: ReadonlySet<string>): boolean =>
  contactForms.find(([words]) => words.some((word) => asked.has(word)))?.[1].test(text) !== false

const AUXILIARY = "is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|must|isn't|doesn't|didn't"

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

const IS_NOW = "(?:\\b(?:is|am|are|was|turn(?:s|ed|ing)?)|['’](?:m|s|re)) (?:now |only |just |almost |nearly )?"
/** Without a unit behind it that is no age. */
const BARE_NUMBER =
  "\\d{1,3}(?![\\d,.:]*\\d| ?(?:%|km|euros?|pounds?|dollars?|per|a|each|in|on|min|minutes?|hours?|days?|weeks?)\\b)"
const BARE_NUMERAL = `(?:${numberWords.slice(1).join("|")}|\\p{L}+teen|\\p{L}+ty)(?=[.,!]|$| (?:now|and|years?|months?|in)\\b)`

/** First words of a sentence that are no names. */
const NOT_NAME =
  "(?!(?:I|The|They|This|That|These|Those|It|He|She|We|You|There|What|My|Our|His|Her|And|But|So|Also|Yes|No|If|In|\\p{L}+ing)\\b)"

export const answerParts: ReadonlyArray<AnswerPartRow> = [
  {
    name: "frequency",
    asked: /\bhow (?:often|frequently|regularly)\b/,
    held: matches(FREQUENCY),
    question: "How often does Ann swim?",
    example: "I swim twice a week.",
    counterexample: "I swim in the lake.",
    plain: new RegExp(
      "\\b(?:every|each|daily|weekly|monthly|once|twice|(?:\\d+|two|three|four|five|six) (?:times|days)|" +
        `${ANY_WEEKDAY}s?|never|per|an? (?:day|week|month|year))\\b`,
      "iu"
    ),
    plainly: ["I swim twice a week.", "I swim in the lake."]
  },
  {
    name: "age",
    asked: /\bhow old\b|\bwhat age\b/,
    held: matches(
      /(?:\b(?:is|am|are|was|turn(?:s|ed|ing)?)|['’](?:m|s|re)) \d{1,3}\b|\b\d{1,3}[ -]years?\b|\b(?:years?|months?|weeks?)[ -]old\b|\bborn\b|\baged?\b/
    ),
    question: "How old is Rex?",
    example: "Rex is a four year old greyhound.",
    counterexample: "Rex is a greyhound.",
    plain: new RegExp(
      `${IS_NOW}(?:${BARE_NUMBER}|${BARE_NUMERAL})|` +
        "\\b[\\p{L}\\d]+[- ](?:years?|months?|weeks?)[- ]old\\b|, \\d{1,3}(?= ?(?:[.,!]|$))",
      "iu"
    ),
    plainly: ["Rex, she's 11 and hates cars.", "The bus is 20 minutes late."]
  },
  {
    name: "duration",
    asked: /\bhow long\b|\bhow (?:many|much) (?:time|minutes?|hours?|days?|weeks?|months?|years?)\b|\bsince when\b/,
    held: matches(
      new RegExp(
        `\\b(?:${NUMBER}|few|an?|past|many)[ -](?:\\p{Ll}+ )?${UNIT}\\b|\\bsince (?:I|we|he|she|they|the|last|\\p{Lu}|\\d)`,
        "u"
      )
    ),
    question: "How long has Ann had Rex?",
    example: "I've had him for three years.",
    counterexample: "I've had him from a shelter.",
    plain: new RegExp(`(?<!\\d )\\b${COUNT}[ -]?(?:(?!an? )\\p{Ll}+ )?${TIME_UNIT}\\b(?! ago)`, "iu"),
    plainly: ["It takes 25 min.", "I met her three years ago."]
  },
  {
    name: "amount",
    asked: either(
      /\bhow (?:many|much|tall|far|big|large|heavy|hot|fast)\b/,
      /\bwhat (?:do|does|did|will) [^?]*\b(?:cost|earn|pay|charge)\b/,
      /\bwhat(?:'s| is| was|'re| are)? [^?]*\b(?:rent|salary|fee|deposit|budget|mortgage|wage|bill|price|cost)\b/
    ),
    held: ({ text }) => AMOUNT.test(withoutDates(text)),
    question: "How many cats does Ann have?",
    example: "I have two cats.",
    counterexample: "My cats are lovely.",
    plain: new RegExp(
      `\\d(?![\\d,.]*(?: ?%| ?(?:(?!an? |per |each |every )\\p{Ll}+ )?(?:${TIME_UNIT}|year-old|o'clock)\\b))`,
      "iu"
    ),
    plainly: ["We pay 1,250 a month.", "It takes 20 minutes on 5 March."]
  },
  {
    name: "date",
    asked: /\bwhen\b|\b(?:what|which) (?:time|day|date|year|month|weekday)\b|\bhow soon\b/,
    held: hasDate,
    question: "When did Ann move?",
    example: "I moved in May.",
    counterexample: "I moved to a larger flat.",
    plain: new RegExp(
      `\\b\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${DAY}|\\b${DAY} \\d|\\b(?:in|since|until|till|by|from) ${DAY}\\b|\\b(?:at|until|till|by|before|after) (?:Christmas|Easter)\\b|\\b${WEEKDAY}\\b|` +
        "\\bthe \\d{1,2}(?:st|nd|rd|th)\\b|\\b\\d{1,2}(?::\\d\\d| ?[ap]\\.?m\\b)|\\b(?:in|since) (?:19|20)\\d\\d\\b",
      "iu"
    ),
    plainly: ["It was moved to 13 May.", "It was moved again."]
  },
  {
    name: "contact",
    asked: /\bwhat(?:'s| is| was)? [^?]*?\b(?:e-?mail|phone|telephone|number|address|price|cost|salary)\b/,
    held: hasContact,
    question: "What is Ann's phone number?",
    example: "My number is 0113 496 0000.",
    counterexample: "My number is on the card."
  },
  {
    name: "detail",
    // Values without a form of their own.
    asked: /\b(?:what|which)\b[^?]*\b(?:colou?rs?|brand|make|model|breed|surname|(?:last|family|full) name)\b/,
    held: ({ text }, asked) => [...asked].some((term) => details.has(term)) && DETAIL.test(text),
    question: "What colour is the kitchen?",
    example: "The colour is teal.",
    counterexample: "We painted the kitchen."
  },
  {
    name: "name",
    asked: /\bwhat(?:'s| is| are| was| were)? [^?]*?\b(?:names?|called|title|titled)\b|\bname of\b/,
    held: hasName,
    question: "What is the name of Ann's dog?",
    example: "My dog Rex is a greyhound.",
    counterexample: "My dog is a greyhound.",
    plain:
      /\b(?:(?:called|named)(?! (?:after|for|by|in|on|off|at|to)\b)|names? (?:is|was|are)|name['’]s|nicknamed) ["“]?\p{L}|["“]\p{Lu}/u,
    plainly: ["We have a dog called Rex.", "My sister was named after Rosa."]
  },
  {
    name: "place",
    asked: /\bwhere\b|\b(?:what|which) (?:city|country|town|place|state|village|neighbou?rhood)\b/,
    held: hasPlace,
    question: "Where does Ann live?",
    example: "I moved to Oslo.",
    counterexample: "I moved house.",
    plain: new RegExp(
      `\\b(?:in|at|from|near|to|on|around|behind)(?: (?:the|a|an|our|my|her|his|their))?(?: \\p{Ll}+)? (?!${WEEKDAY}|${DAY}\\b)\\p{Lu}\\p{L}+`,
      "u"
    ),
    plainly: ["We found a flat on Larkspur Road.", "We found a flat in the end."]
  },
  {
    name: "person",
    asked: /\bwho\b|\bwhom\b|\bwhose\b|\bwho's\b|\b(?:what|which) (?:person|people)\b/,
    held: hasPerson,
    question: "Who came to dinner?",
    example: "Dinner with my sister was fun.",
    counterexample: "Dinner was fun.",
    plain: new RegExp(
      "\\b(?:called|named|name['’]s|name is) \\p{L}|" +
        "\\b(?:is|was|be|will be) (?:now )?\\p{Lu}\\p{Ll}+ ?(?:\\p{Lu}|[.,!]|$)|" +
        "\\b(?:my|our|his|her|their|by|with|to|from|and|the|an?) (?:\\p{Ll}+[ -]){0,3}\\p{Lu}\\p{L}+|" +
        `(?:^|[.,!] )${NOT_NAME}\\p{Lu}\\p{L}+(?: \\p{Lu}\\p{L}+)?(?:['’]s)? (?:is|was|has|had|will|and|[\\p{Ll}]+(?:ed|s|ly))\\b`,
      "u"
    ),
    plainly: ["Booked it, my brother Owen is driving.", "They moved it, somebody drives."]
  },
  {
    name: "reason",
    asked: /\bwhy\b|\bhow come\b|\bwhat for\b|\bwhat (?:made|motivated|inspired|prompted)\b/,
    held: matches(REASON),
    question: "Why did Ann leave?",
    example: "I left because of the noise.",
    counterexample: "I left early.",
    plain: either(
      /\b(?:because|bc|cuz|coz|due to|thanks to|so that|in order to|as a result|reasons?|that['’]?s why|in the end it was)\b/iu,
      /(?:^|[,;.] |\b(?:and|but) )since \p{L}+/iu,
      /(?<=[\p{L}\d],? )since (?:he|she|it|we|they|i|my|our|her|his|the|their|nobody|somebody|someone)\b/iu
    ),
    plainly: ["I canceled it, since I caught a cold.", "I waited for two hours after lunch."]
  },
  {
    name: "thing",
    asked: /\bwhat\b|\bwhich\b|\bwhat's\b|\bhow\b|^(?:please )?(?:list|name)\b/,
    question: "What did Ann bake?",
    example: "I baked a pie."
  },
  {
    name: "yesNo",
    asked: new RegExp(`^(?:so |and |but |ok |okay |hey |please )*(?:${AUXILIARY})\\b`),
    question: "Does Ann bake?",
    example: "I bake pies."
  }
]

const byName = new Map(answerParts.map((row) => [row.name, row]))

/** Stems that are looked for beside the part. */
export interface AskedTerms {
  readonly topic: ReadonlyArray<string>
  /** Things that "how many" counts. */
  readonly counted: ReadonlyArray<string>
}

/** Whether the part has a plain form at all. */
export const hasPlainForm = (part: PartName): boolean => byName.get(part)?.plain !== undefined

/** "9 March" is no sum; "my sister Lotte" names the sister. */
export const isPlain = (part: PartName, sentence: string, { counted, topic }: AskedTerms): boolean => {
  const pattern = byName.get(part)?.plain
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

/** What is weighed, feared or asked rather than stated. */
export const isHedged = (text: string): boolean =>
  /\b(?:if|might|maybe|perhaps|probably|could|would(?! (?:have|rather))|should|wonder(?:ing)?|thinking (?:of|about)|not sure|hope(?:fully)?|do i|shall i)\b|\?["'”’)]?$/i.test(
    text
  )
