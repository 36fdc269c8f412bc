/**
 * Decides which sentences state a fact. Questions, hypotheticals, instructions, other people's words and role play do not;
 * each is reported with its reason. Introductions (`by the way`, `remember that`, `I should mention that`) are removed.
 */
import {
  admissions,
  asides,
  attacks,
  imperatives,
  interjections,
  keepings,
  lastingPlays,
  mentions,
  mockeries,
  notings,
  questionWords,
  ownSmallTalk,
  requested,
  requests,
  rolePlays,
  smallTalkForms,
  stories,
  suppositions
} from "./lexicon/sentences.ts"
import { oneOf } from "./OneOf.ts"
import type { DroppedCandidate } from "../extraction/Extractor.ts"
import { greeted, paraphrased } from "./Paraphrases.ts"

export type Verdict = { readonly states: true; readonly text: string; readonly isAsked: boolean } | Stop

export interface Stop {
  readonly states: false
  readonly reason: DroppedCandidate["reason"] | "small_talk"
  readonly message: string
}

const stop = (reason: Stop["reason"], message: string): Stop => ({ states: false, reason, message })
const sarcasm = stop("unsupported", "sarcasm")

/** `sentence` has its contractions expanded (Words.ts). */
export const gate = (sentence: string): Verdict => {
  const { isAsked, text } = withoutIntroduction(sentence)
  if (text === "" || smallTalk.test(text) || talkOfSelf.test(text)) return stop("small_talk", "small talk")
  const bar = barred(text) ?? (mockery.test(sentence) ? sarcasm : undefined)
  if (bar !== undefined) return bar
  if (isQuestion(text)) return stop("question", "a question states nothing")
  if (attack.test(text)) return stop("instruction", "an instruction, no fact")
  if (request.test(text) || asks.test(text)) return stop("instruction", "a request to the assistant")
  if (isReported(text)) return stop("unsupported", "words of somebody else")
  if (isHypothetical(text)) return stop("hypothetical", "supposed, not stated")
  if (!isAsked && imperative.test(text) && !/^(?:please |just )*call me /i.test(text))
    return stop("instruction", "an instruction to the assistant")
  return { states: true, text, isAsked }
}

/** What binds all statements that a sentence strings together: irony, stories, role play. */
export const barred = (text: string): Stop | undefined => {
  if (/(?:^|\s)\/s\b|\(sarcasm\)|\bas if\b/i.test(text) || mockery.test(text)) return sarcasm
  if (isWithdrawal(text) || /\b(?:just|only) (?:kidding|joking)\b|,\s(?:kidding|joking|jk|not)[.!]*$/i.test(text))
    return stop("small_talk", "small talk")
  if (story.test(text)) return stop("unsupported", "of a story or a specification")
  return rolePlay.test(text) ? stop("unsupported", "role play") : undefined
}

/** `Kidding`, `jk, mostly`: what was said before was a joke. */
export const isWithdrawal = (text: string): boolean =>
  /^(?:(?:lol|haha|ok|no|nah|nope|I am|I'm|im|just|only|totally),? )*(?:kidding|joking|jk)\b/i.test(text)

/** Starts role play, which lasts until a message ends it. */
export const startsRolePlay = (sentence: string): boolean => lastingPlay.test(sentence)

const introductions: ReadonlyArray<RegExp> = [
  oneOf(interjections, {
    before: "^",
    after: String.raw`(?: there| again| all| everyone)?[\s,!.:;-]+(?=\S)`,
    flags: "i"
  }),
  oneOf(asides, { before: "^", after: String.raw`[\s,:;-]+(?:that )?(?=\S)`, flags: "i" }),
  oneOf(mentions, {
    before: "^(?:I )?(?:just )?",
    after: String.raw` (?:to )?(?:mention|add|say|tell you|let you know|share|note|point out|clarify|confess|admit|introduce myself)(?: to you)?[\s,:;-]+(?:that )?(?=\S)`,
    flags: "i"
  }),
  oneOf(admissions, {
    before: "^I ",
    after: String.raw`(?: that)?[\s,:;-]+(?=(?:I|my|we|our|he|she|they)\b)`,
    flags: "i"
  }),
  /^did I (?:mention|tell you)(?: that)?[\s,]+(?=(?:I|my|we|our)\b)/i
]
const asking = oneOf(keepings, {
  before: "^(?:please |pls |can you |could you |you should |you can )?(?:also )?",
  after: String.raw`(?: (?:this|for later|for me|for the future|for next time))?(?: please)?[\s,:;-]+(?:that )?(?=(?:I|my|we|our|the fact|[A-Z])\b)`,
  flags: "i"
})

const noting = oneOf(notings, { before: "^(?:please |pls )?", after: String.raw`\s*:\s*`, flags: "i" })

const introductionsMax = 5

const withoutIntroduction = (sentence: string): { readonly text: string; readonly isAsked: boolean } => {
  let text = greeted(sentence.trim())
    .replace(
      /^(?:and |but |so )?(?=(?:no|nothing) (?!problem|worries|need|thanks)[\p{L}\d][^,.]*?,? please\b)/iu,
      "I prefer "
    )
    .replace(/,? please[.!]?$/i, "")
  let isAsked = false
  for (let round = 0; round < introductionsMax; round++) {
    const before = text
    for (const pattern of introductions) text = text.replace(pattern, "")
    const cut = text.replace(asking, "").replace(noting, "")
    isAsked ||= cut !== text
    text = cut
    if (text === before) break
  }
  return { text: paraphrased(completed(text.replace(/, in case\b.*$/i, "").trim())), isAsked }
}

/** Statements without their first words: `not a fan of`, `favorite food is`. */
const completed = (text: string): string =>
  text
    .replace(/^(?=(?:really |definitely |absolutely )?not (?:a (?:big |huge )?fan of|into|keen on)\b)/i, "I am ")
    .replace(
      /^(name|age|city|job|occupation|email|e-mail|(?:new )?(?:phone|number|phone number)|birthday|employer|company|nationality|hometown|allergies|pronouns): ?(?=\S)/i,
      (_, field: string) => stated(field)
    )
    .replace(/^favorite (?=[\w ]{1,30} (?:is|are|has to be)\b)/i, "My favorite ")

/** `City: Mysuru` as a sentence. */
const stated = (field: string): string => {
  if (/^age$/i.test(field)) return "I am "
  return /^city$/i.test(field) ? "I live in " : `My ${field.toLowerCase()} is `
}

/** Irony: `oh great, ...`, `I just LOVE waiting`. */
const mockery = oneOf(mockeries, { after: "" })

const story = oneOf(stories, { flags: "i" })

const smallTalk = oneOf(smallTalkForms, { before: "^", flags: "i" })
const talkOfSelf = oneOf(ownSmallTalk, {
  before: "^I ",
  after: "(?:[,.! ]|$)(?!from|at|with|in|to|that|about)",
  flags: "i"
})

const lastingPlay = oneOf(lastingPlays, { before: String.raw`\b`, flags: "i" })
const rolePlay = oneOf([...lastingPlays, ...rolePlays], { before: String.raw`\b`, flags: "i" })

const questionStart = oneOf(questionWords, { before: "^", after: String.raw`\b`, flags: "i" })

const isQuestion = (text: string): boolean => {
  if (/\?["')\s]*$/.test(text)) return true
  return (
    questionStart.test(text) &&
    !/^(?:when|what|where|how|why|which|who|while)\b[^,]*,? (?:I|we|my)\b/i.test(text) &&
    !/^(?:will|may|mark|grant)\s+[a-z]+s\b/i.test(text)
  )
}

/** Orders to a system, also when attributed to another person. */
const attack = oneOf(attacks, { flags: "i" })

const wants =
  "(?:I (?:(?:would|will|do|just|really) )*(?:need|want|like|love|appreciate|prefer)|we (?:would )?(?:need|want|like))"
const request = oneOf(requests, { before: "^", flags: "i" })
const asks = oneOf(requested, { before: `^${wants} (?:it if )?`, after: "\\b", flags: "i" })

const imperative = oneOf(imperatives, { before: "^", after: String.raw`\b`, flags: "i" })

const speakers =
  "(?:[Hh]e|[Ss]he|[Tt]hey|[Pp]eople|everyone|everybody|somebody|someone|nobody|[Mm]y [\\w-]+(?: [A-Z]\\w+)?|[Tt]he [\\w-]+(?: [\\w-]+)?|[A-Z]\\w+)"
const reports =
  "(?:says?|said|claims?|claimed|thinks?|thought|believes?|believed|tells? me|told me|tells? us|told us|insists?|insisted|mentions?|mentioned|complain(?:s|ed)|argues?|argued|suggests?|suggested|recommends?|recommended|wrote|writes|asked|asks|was like|is like|keeps? saying)"
const reported = new RegExp(
  `^(?:(?:yesterday|today|last \\w+|once|recently|the other day),? )?${speakers} (?:\\w+ly |always |just |also |once |often |keeps |recently )?${reports}\\b|\\bQUOTATION\\b|\\baccording to\\b|^(?:it|they) says?\\b`
)
/** `My sister says ...`. */
export const isReported = (text: string): boolean => reported.test(text) && !/^I\b/.test(text)

const supposed = oneOf(suppositions, { before: String.raw`\b`, after: String.raw`\b`, flags: "i" })

const isHypothetical = (text: string): boolean => {
  // With a capital letter it is the month.
  if (/\bmay (?:not )?[a-z]/.test(text)) return true
  if (supposed.test(text)) return true
  if (/\bif\b/i.test(text))
    return !/\b(?:as if|if (?:possible|(?:that|it) (?:matters|helps)|relevant|you (?:must|want to) know|you are (?:interested|curious|wondering)))\b/i.test(
      text
    )
  // `I would like`, `I would rather` and `I would love to` state a real wish.
  return (
    /\b(?:would|could|should)\b/i.test(text) &&
    !/\bwould (?:(?:really|much|rather|also|so) )*(?:like|love|rather|prefer|hate|never)\b/i.test(text) &&
    !/\bcould not\b/i.test(text)
  )
}
