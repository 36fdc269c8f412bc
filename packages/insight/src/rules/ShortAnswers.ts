/**
 * Joins a bare answer (`Berlin`) with the assistant's question (`Where do you live?`) to one sentence, if it has the form
 * of what is asked for: a name for a name, a number for a number. The question gives the verb and the subject, never a
 * value; `yes` and `no` turn the question itself into a statement.
 */
import { capitalised } from "./Finding.ts"
import { offers } from "./lexicon/speech.ts"
import { oneOf } from "../text/OneOf.ts"
import type { Turn } from "../extraction/Extractor.ts"
import { plainMarks } from "../speech/WrittenOut.ts"
import { type Word, wordsOf } from "./Words.ts"

const answerWordsMax = 8
const questionLengthMax = 300

export const lastQuestion = (turn: Turn | undefined): string | undefined => {
  if (turn?.role !== "assistant") return undefined
  return /([^.!?\n]*)\?[^?]*$/.exec(plainMarks(turn.content.slice(-questionLengthMax)))?.[1]?.trim()
}

/** The answer as a whole sentence; undefined if it is one already, or is no answer. */
export const bareAnswer = (question: string, sentence: string | undefined): string | undefined => {
  const answer = sentence?.replace(/[.!]+$/, "").trim()
  if (answer === undefined || answer === "" || answer.split(" ").length > answerWordsMax) return undefined
  const polar = polarAnswer(plainMarks(question), answer)
  if (polar !== undefined) return polar
  if (unanswered.test(answer)) return undefined
  const found = forms.find(([pattern]) => pattern.test(question))
  const match = found?.[0].exec(question)
  if (found === undefined || match === null || match === undefined || !found[2](answer, question)) return undefined
  return found[1](answer.replace(/^(?:it is|they are|mostly|just|about|around) (?=\S)/i, ""), match)
}

const unanswered =
  /\b(?:I|I'm|my|we|you|is|are|not|don't|none|nope|why|what|skip|rather|ok|okay|sure|thanks|yes|yeah|idk|dunno|maybe|later|nothing)\b|\?$/i

/** `your wife's`, `the kids'` as the user says it. */
const mine = (owned: string): string =>
  owned
    .trim()
    .replace(/\byour\b/gi, "my")
    .replace(/^the /i, "my ")

type Form = (answer: string, question: string) => boolean

/** Capitalised words and nothing else, which are names or words that the tagger does not know. */
const isName: Form = (answer) =>
  wordsOf(answer).length > 0 && wordsOf(answer).every((word) => joins.test(word.lower) || isNamed(word))
const joins = /^(?:it|is|at|in|from|for|near|the|of|de|la|and|&|in|at)$/
const isNamed = (word: Word): boolean =>
  /^\p{Lu}/u.test(word.text) &&
  !word.tags.has("Date") &&
  (isKnownName(word) || [...word.tags].every((tag) => plainTags.has(tag)))
const plainTags: ReadonlySet<string> = new Set(["Noun", "Singular", "ProperNoun"])
const isKnownName = ({ tags }: Word): boolean =>
  ["Person", "Place", "City", "Country", "Organization", "Demonym", "Language"].some((tag) => tags.has(tag))

/** One noun or a short list of them, with their articles and adjectives. */
const isThing: Form = (answer) => {
  const words = wordsOf(answer.replace(/,(?! ?(?:and|or)\b)[^,]*$/, ""))
  const last = words.at(-1)
  return (
    last !== undefined &&
    ["Noun", "Gerund", "Adjective"].some((tag) => last.tags.has(tag)) &&
    !words.some(({ lower, tags }) => tags.has("Pronoun") || tags.has("Question") || vague.test(lower))
  )
}
const vague =
  /^(?:any\w*|every\w*|no\w*|some\w*|whatever|stuff|things?|question|idea|guess|next|too|depends|story|both|neither|either|less)$/

const isWorkplace: Form = (answer, question) => isName(answer, question) || /^(?:at|for) (?:an?|the|my) /i.test(answer)

/** Each is a name: `English, Polish and some Czech`. */
const isLanguages: Form = (answer) =>
  answer
    .split(/,? and |, /)
    .every((one) => wordsOf(one.replace(/^(?:a little|some|a bit of|fluent) /i, "")).every(isLanguage))
const isLanguage = (word: Word): boolean =>
  /^\p{Lu}/u.test(word.text) && (isKnownName(word) || /(?:ish|ese|an|ic|ch|k|i|u|og|ew)$/.test(word.text))
const hasName: Form = (answer) => /\b\p{Lu}/u.test(answer)
const isAddress: Form = (answer) => /\S@\S/.test(answer)
const hasNumber: Form = (answer) => /\d/.test(answer)
/** The rule that reads the sentence decides. */
const isAny: Form = () => true
const lowered = (answer: string): string => answer.charAt(0).toLowerCase() + answer.slice(1)

/** One of the things between which the question lets choose. */
const isChoice: Form = (answer, question) =>
  answer
    .toLowerCase()
    .split(/\W+/)
    .some(
      (word) =>
        word.length > 2 && !/^(?:the|and|both|please)$/.test(word) && new RegExp(`\\b${word}\\b`, "i").test(question)
    )

const forms: ReadonlyArray<readonly [RegExp, (answer: string, question: RegExpExecArray) => string, Form]> = [
  [
    /\b(?:your (?:full |first )?name(?= *$|[ ,]*(?:again|please)?$)|I call you|who am I (?:talking|speaking))/i,
    (answer) => `I am ${answer.replace(/^(?:it is|it's) /i, "")}`,
    isName
  ],
  [
    /\bwhat (?:is|are) (your [\w' -]+?'s? names?|the \w+'s? names?) *$|\bwhat's (your [\w' -]+?'s? names?) *$/i,
    (answer, [, one, other]) => `${capitalised(mine(one ?? other ?? ""))} is ${answer}`,
    isName
  ],
  [
    /\bwhat (?:is|are) (your [a-z ]+?|the [a-z]+) called *$|\bwhat's (your [a-z ]+?) called *$/i,
    (answer, [, one, other]) => `${capitalised(mine(one ?? other ?? ""))} is called ${answer}`,
    isName
  ],
  [/\bwhere (?:are you from|do you come from)\b/i, (answer) => `I am from ${answer.replace(/^from /i, "")}`, isName],
  [
    /\b(?:where do you live|where are you (?:based|located|living)|(?:what|which) (?:city|town|country|state) (?:do you live|are you)(?! \w+ing\b))/i,
    (answer) => `I live in ${answer.replace(/^(?:in|at) /i, "")}`,
    isName
  ],
  [
    /\bwhere (?:does|do) (your [\w ]+?) live\b/i,
    (answer, [, who = ""]) => `${capitalised(mine(who))} lives in ${answer.replace(/^in /i, "")}`,
    isName
  ],
  [/\bhow old are you|your age\b/i, (answer) => `I am ${answer.replace(/ years old$/i, "")} years old`, isAny],
  [
    /\bhow old (is|are) ((?:your|the) [\w ]+|he|she|they)\b/i,
    (answer, [, be = "", who = ""]) =>
      `${capitalised(mine(who))} ${be} ${answer.replace(/ years old$/i, "")} years old`,
    isAny
  ],
  [
    /\b(?:do you do for (?:a living|work)|your (?:job|occupation|profession|line of work))\b/i,
    (answer) => `My job is ${lowered(answer)}`,
    isAny
  ],
  [/\bwhere do you work\b/i, (answer) => `I work at ${answer.replace(/^(?:at|for) /i, "")}`, isWorkplace],
  [/\bwhat (?:do|are) you study/i, (answer) => `I study ${answer}`, isThing],
  [/\b(?:what|which) languages? (?:do|can|else do) you speak\b/i, (answer) => `I speak ${answer}`, isLanguages],
  [/\b(?:what|which) time ?zone\b/i, (answer) => `My timezone is ${answer.replace(/^(?:in|on) /i, "")}`, hasName],
  [
    /\byour (favou?rite [\w ]+?)(?: is)?$/i,
    (answer, [, what = ""]) => `My ${what} is ${answer.replace(/, .*$/, "")}`,
    isThing
  ],
  [/\b(?:your|an?) e-?mail\b/i, (answer) => `My email is ${answer}`, isAddress],
  [/\byour (?:phone )?number\b/i, (answer) => `My phone number is ${answer}`, hasNumber],
  [/\b(?:when is your birthday|your birthday)\b/i, (answer) => `My birthday is ${answer}`, hasNumber],
  [
    /\bany (?:food )?allerg|\ballergic to (?:anything|something)\b/i,
    (answer) =>
      no.test(answer)
        ? "I have no allergies"
        : `I am allergic to ${lowered(answer.replace(/^(?:yes,? |just |only |to )+/i, ""))}`,
    isThing
  ],
  [
    /\b(?:any|have) (?:dietary|food) (?:restrictions?|requirements?|preferences?|needs)\b/i,
    (answer) => dietText(answer),
    isAny
  ],
  [
    /\b(?:any|have) (?:pets?|kids|children|siblings|brothers or sisters|animals)\b/i,
    (answer) => `I have ${lowered(answer)}`,
    isThing
  ],
  [
    /\bwhen(?:'s| is| are) (your [\w ]+|the [\w ]+)$/i,
    (answer, [, what = ""]) =>
      `${capitalised(what.replace(/^your /i, "my "))} is ${/^(?:on|at|in|next|this|tomorrow|today)\b/i.test(answer) ? "" : "on "}${answer}`,
    isAny
  ],
  [
    /\b(?:where|which \w+|what \w+) are you (flying|going|moving|travell?ing|heading)(?: to)?\b/i,
    (answer, [, verb = ""]) => `I am ${verb} to ${answer.replace(/^to /i, "")}`,
    isName
  ],
  [
    /\bwhen are you (\w+ing[\w ]*)$/i,
    (answer, [, act = ""]) =>
      `I am ${act} ${/^(?:on|at|in|next|this|tomorrow|today)\b/i.test(answer) ? "" : "on "}${answer}`,
    isAny
  ],
  [
    /\bplans?\b.*\b(for (?:the|this|next) weekend|for (?:tomorrow|tonight)|this weekend|tomorrow)\b/i,
    (answer, [, time = ""]) =>
      /^\w+ing\b/.test(answer)
        ? `I am going ${answer} ${time.replace(/^for /, "").replace(/^the weekend$/, "this weekend")}`
        : answer,
    isAny
  ],
  [
    /\b(?:do you prefer|would you (?:rather|prefer)|which do you (?:prefer|like)) .*\bor\b/i,
    (answer) => `I prefer ${lowered(answer).replace(/, please$/i, "")}`,
    isChoice
  ],
  [
    /\bwhat (?:is|are) (your [a-z ]{3,24})$|\bwhat's (your [a-z ]{3,24})$/i,
    (answer, [, one, other]) => `${capitalised(mine(one ?? other ?? ""))} is ${answer}`,
    isThing
  ]
]

const dietText = (answer: string): string => {
  const avoided = /^(?:no|without) ([\w ]+?)(?:,? please)?$/i.exec(answer)?.[1]
  return avoided === undefined ? `I am ${answer}` : `I do not eat ${avoided}`
}

const yes =
  /^(?:yes|yeah|yep|yup|yea|i am|i do|sure do|indeed|correct|that's right|of course)(?:,? (?:i (?:am|do|have)|always|very much|indeed|absolutely|a lot))?$/i
const no =
  /^(?:no|nope|nah|not really|never|not at all|i don't|i'm not)(?:,? (?:i (?:don't|do not|am not|'m not|haven't)|never|not really|not at all|thanks?|sorry))?$/i
const corrected = /^(?:[Nn]o|[Nn]ope|[Nn]ah|[Aa]ctually),? (?:in|at|to) (\p{Lu}[\p{L}' -]+)$/u

const polar = oneOf(offers, {
  before: String.raw`(?:^|[,;] ?|\b(?:so|and|but) )(are you|do you|have you(?: ever)?) (?!`,
  after: String.raw`)([\w' -]+)$`,
  flags: "i"
})

/** Yes-no questions about the user; not offers (`do you want me to ...`). */
const polarAnswer = (question: string, answer: string): string | undefined => {
  const asked = polar.exec(question)
  const [, lead = "", rest = ""] = asked ?? []
  if (asked === null || / or |\b(?:me|this|that|it)\b/.test(rest)) return undefined
  const place = corrected.exec(answer)?.[1]
  if (place !== undefined) return /^live\b/.test(rest) ? `I live in ${place}` : undefined
  const isYes = yes.test(answer)
  if (!isYes && !no.test(answer)) return undefined
  const told = rest.replace(/\byour\b/g, "my").replace(/^have any (\w+)$/, isYes ? "have $1" : "have any $1")
  if (/^are/i.test(lead)) return `I am ${isYes ? "" : "not "}${told}`
  if (/^have/i.test(lead)) return isYes ? `I have ${told}` : `I have never ${told}`
  return isYes ? `I ${told}` : `I do not ${told}`
}
