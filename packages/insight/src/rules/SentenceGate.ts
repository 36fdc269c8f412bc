/**
 * Decides which sentences state a fact. Questions, hypotheticals, instructions, other people's words and role play do not;
 * each is reported with its reason. Introductions (`by the way`, `remember that`, `I should mention that`) are removed.
 */
import {
  admissions,
  asides,
  attacks,
  doingHeads,
  imperatives,
  keepings,
  mentions,
  mockeries,
  notings,
  ownSmallTalk,
  pastHeads,
  requested,
  requests,
  rewrites,
  rolePlays,
  smallTalkForms,
  stateHeads,
  stories
} from "./lexicon/sentences.ts"
import { isHypothetical, isQuestion, isReported, isWithdrawal, takesItselfBack } from "@muniment/language/speech/Mood"
import { interjections } from "@muniment/language/speech/speechWords"
import { oneOf } from "@muniment/language/text/OneOf"
import type { DroppedCandidate } from "../extraction/Extractor.ts"
import { expanded } from "./Pattern.ts"

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
  if (isWithdrawal(text) || takesItselfBack(text) || /\b(?:just|only) (?:kidding|joking)\b/i.test(text))
    return stop("small_talk", "small talk")
  if (/\baccording to\b/i.test(text)) return stop("unsupported", "words of somebody else")
  if (story.test(text)) return stop("unsupported", "of a story or a specification")
  return rolePlay.test(text) ? stop("unsupported", "role play") : undefined
}

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

const rolePlay = oneOf(rolePlays, { before: String.raw`\b`, flags: "i" })

/** Orders to a system, also when attributed to another person. */
const attack = oneOf(attacks, { flags: "i" })

const wants =
  "(?:I (?:(?:would|will|do|just|really) )*(?:need|want|like|love|appreciate|prefer)|we (?:would )?(?:need|want|like))"
const request = oneOf(requests, { before: "^", flags: "i" })
const asks = oneOf(requested, { before: `^${wants} (?:it if )?`, after: "\\b", flags: "i" })

const imperative = oneOf(imperatives, { before: "^", after: String.raw`\b`, flags: "i" })

const rows = rewrites.map(({ becomes, says }) => ({ says: new RegExp(expanded(says), "u"), becomes }))
const name = "\\p{Lu}[\\p{L}'-]+(?: \\p{Lu}[\\p{L}'-]+){0,2}"
const headed = (heads: string): RegExp =>
  new RegExp(`^(?:${expanded("{soft}")} )*(?:${heads})(?![\\p{L}\\p{N}])(?! (?:you|I|he|she|it|they|we)\\b)`, "iu")
const pastHead = headed(pastHeads)
const doingHead = headed(doingHeads)
const stateHead = headed(stateHeads)

/** A statement without its first words, or in another order, as a whole sentence; most come back as they are. */
export const paraphrased = (text: string): string => {
  let result = withSpeaker(text)
  for (const { becomes, says } of rows) {
    // The capital of the first word is the sentence's.
    const form = says.test(result) ? result : lowered(result)
    if (says.test(form)) result = form.replace(says, becomes)
  }
  return result
}

const withSpeaker = (text: string): string => {
  if (stateHead.test(text)) return `I am ${lowered(text)}`
  if (doingHead.test(text) && !/\b(?:is|are|was|were|makes?|helps?|can|will|would|has|feels?)\b/.test(text))
    return `I am ${lowered(text)}`
  return pastHead.test(text) ? `I ${lowered(text)}` : text
}

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const greeting = new RegExp(
  `^(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening))[\\s,!.]+(?:there[\\s,!.]+)?(?:this is|it is) (?=${name}(?: (?:from|here|again|speaking)\\b|[.,!]|$))`,
  "iu"
)

/** `Hi, this is Maya` is a name; without the greeting it may be anything. */
export const greeted = (sentence: string): string =>
  sentence.replace(greeting, (lead, ...rest) => {
    const text: unknown = rest.at(-1)
    return typeof text === "string" && /^\p{Lu}/u.test(text.slice(lead.length)) ? "My name is " : lead
  })
