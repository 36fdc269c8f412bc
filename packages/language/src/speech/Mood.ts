/**
 * How a sentence is said: stated, asked, supposed, reported of somebody else, or taken back. Whether it holds still, and
 * whether it denies. Sentences have their contractions written out (WrittenOut.ts). Where it is in doubt it is not stated.
 */
import { either, oneOf } from "../text/OneOf.ts"
import {
  textNouns,
  endings,
  finiteForms,
  interjections,
  negators,
  pastStates,
  questionWords,
  settings,
  statementJoints,
  statementLeads,
  suppositions
} from "./speechWords.ts"

export type Mood = "stated" | "asked" | "supposed" | "reported" | "withdrawn"

export const moodOf = (text: string): Mood => {
  if (isQuestion(text)) return "asked"
  if (isWithdrawal(text) || takesItselfBack(text)) return "withdrawn"
  if (isReported(text)) return "reported"
  return isHypothetical(text) ? "supposed" : "stated"
}

const questionStart = oneOf(questionWords, { before: "^", after: String.raw`\b`, flags: "i" })

export const isQuestion = (text: string): boolean => {
  if (/\?["')\s]*$/.test(text)) return true
  return (
    questionStart.test(text) &&
    !/^(?:when|what|where|how|why|which|who|while)\b[^,]*,? (?:I|we|my)\b/i.test(text) &&
    !/^(?:will|may|mark|grant)\s+[a-z]+s\b/i.test(text)
  )
}

const speakers =
  "(?:[Hh]e|[Ss]he|[Tt]hey|[Pp]eople|everyone|everybody|somebody|someone|nobody|[Mm]y [\\w-]+(?: [A-Z]\\w+)?|[Tt]he [\\w-]+(?: [\\w-]+)?|[A-Z]\\w+)"
const reports =
  "(?:says?|said|claims?|claimed|thinks?|thought|believes?|believed|tells? me|told me|tells? us|told us|insists?|insisted|mentions?|mentioned|complain(?:s|ed)|argues?|argued|suggests?|suggested|recommends?|recommended|wrote|writes|asked|asks|was like|is like|keeps? saying)"
const reported = new RegExp(
  `^(?:(?:yesterday|today|last \\w+|once|recently|the other day),? )?${speakers} (?:\\w+ly |always |just |also |once |often |keeps |recently )?${reports}\\b|\\bQUOTATION\\b|\\b[Aa]ccording to\\b|^(?:it|they) says?\\b`
)
const textSays = oneOf(textNouns, {
  before: String.raw`^(?:the|this|that|his|her|my|an?) (?:[\p{L}-]+ ){0,2}(?:`,
  after: String.raw`) (?:says?|said|reads?|goes|went|states?|claims?|was)\b`,
  flags: "iu"
})
const saidBehind = /,? said (?:no ?(?:one|body)|he|she|they|my|the|\p{Lu}\p{L}+)\b/u
const deniedReport =
  /\b(?:said|say|says|saying|claim(?:ed|s)?|deny|denies|doubt|refuse to (?:say|admit)) (?:that )?(?:I|we)\b/
/** Words for somebody else to be told. */
const relayed =
  /^(?:(?:please|can you|could you|just),? )*(?:(?:[Tt]ell|[Tt]ext|[Aa]sk|[Ii]nform|[Ee]mail|[Mm]essage|[Ll]et) (?:my|our|him|her|them|the|\p{Lu}\p{L}+)\b|[Ss]ay (?:that )?(?:I|we|my)\b)/u

/** `My sister says ...`, `Tell my boss that ...`. */
export const isReported = (text: string): boolean =>
  (reported.test(text) && !/^I\b/.test(text)) ||
  relayed.test(text) ||
  textSays.test(text) ||
  saidBehind.test(text) ||
  deniedReport.test(text)

const supposed = oneOf(suppositions, { before: String.raw`\b`, after: String.raw`\b`, flags: "i" })

export const isHypothetical = (text: string): boolean => {
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

/** `Kidding`, `as if`, `that's wrong`, `delete that`: what was said before does not hold. */
export const isWithdrawal = (text: string): boolean =>
  takenBack.test(text) ||
  /^(?:(?:lol|haha|ok|no|nah|nope|I am|I'm|im|just|only|totally),? )*(?:kidding|joking|jk)\b|^(?:as if|in my dreams|not really|I wish|yeah right|or not)[.!]*$/i.test(
    text
  )

const takenBack = either(
  oneOf(
    [
      String.raw`psych\b`,
      "(?:that|this|it) (?:is|was) (?:wrong|not true|untrue|false|a lie|nonsense|not right|incorrect|a mistake)[.!]*$",
      String.raw`(?:delete|forget|ignore|scratch|scrap|strike|disregard|undo|erase|remove) (?:(?:that|this|it)[.!]*$|what I (?:just )?(?:said|wrote|told you)\b)`
    ],
    { before: "^(?:(?:lol|haha+|hm+|oh|ok|no|nah|nope|wait|sorry|actually|please),?!? )*", flags: "i" }
  ),
  /^(?:haha+|lol)[,! ]+(?:no|nope|not)[.!]*$/i
)

/** Ends with what denies it: `, not`, `(not really)`, `lol jk`. */
export const takesItselfBack = (text: string): boolean => endsDenied.test(text)
const endsDenied = either(
  /\s\/s\b|^(?:(?:yeah|yes|oh),? )?(?:sure|right),? (?=(?:I|we)\b)/i,
  /[-,(]\s?(?:not(?: really)?|just kidding|kidding|joking|jk|I wish|as if|yeah right|in my dreams)\)?[\s.!)]*$/i,
  /\b(?:lol,? )?(?:jk|just kidding)[\s.!]*$/i
)

const negation = oneOf(negators, { before: String.raw`\b(?:`, after: String.raw`)\b`, flags: "gi" })

/** Words that deny or all but deny, in order: a statement with one is read only by who knows what it denies. */
export const negatorsIn = (text: string): ReadonlyArray<string> =>
  (text.match(negation) ?? []).map((word) => word.toLowerCase())

const ended = oneOf(endings, { before: String.raw`\b(?:`, after: String.raw`)\b`, flags: "iu" })
/** A state in the past; what one was born or diagnosed with holds. */
const past = oneOf(pastStates, {
  before: String.raw`\b(?:I|we|he|she|they|\p{L}[\p{L}'-]+) (?:also |just |always |never |only |once )*(?:`,
  after: String.raw`)\b(?! (?:born|raised|brought up|diagnosed|named|called|prescribed|hired|promoted)\b)`,
  flags: "u"
})

/** Whether it states something that has ended, or that was once. */
export const isOver = (text: string): boolean => ended.test(text) || past.test(text)

export const statementsOf = (sentence: string): ReadonlyArray<string> => {
  if (whole.test(sentence)) return [sentence]
  const parts: Array<string> = []
  let from = 0
  for (const joint of sentence.matchAll(joints)) {
    const part = sentence.slice(from, joint.index)
    const isContrast = /\bbut\b/.test(joint[0])
    if (!isContrast && (reaching.test(part) || isReported(part))) continue
    // `last Friday, I went`: when it was.
    if (!hasVerb.test(part) && settings.has(/\w+/.exec(part)?.[0].toLowerCase() ?? "")) continue
    if ((/\band\b/.test(joint[0]) && !hasVerb.test(part)) || introduces.test(part)) continue
    parts.push(part)
    from = joint.index + joint[0].length
  }
  return [...parts, sentence.slice(from)].filter((part) => /\p{L}/u.test(part) && !isCall.test(part))
}

/** `remember`, `correction`: said of what follows. */
const introduces = oneOf(statementLeads, {
  before: String.raw`^(?:please |also |and |so |just )*(?:`,
  after: ")$",
  flags: "i"
})
const isCall = oneOf(interjections, { before: "^(?:", after: String.raw`)\W*$`, flags: "i" })

const whole = new RegExp(
  "^(?:\\W|and |but |so )*(?:when|while|after|before|once|until|whenever|as|since|although|though|even|what|why|how|where|who|which|do|does|did|is|are|can|could|would|will|should)\\b",
  "i"
)
const reaching = /\b(?:if|unless|imagine|suppose|pretend|whether)\b/i
const hasVerb = oneOf(finiteForms, { before: String.raw`\b(?:I|we|he|she|they|it|`, after: String.raw`)\b` })

const subject = String.raw`(?:I|we|he|she|they|it|that|there)\b(?! and\b)|(?:can|could|would|will|do) you\b|any |(?:my|our|his|her|the) (?:[\p{L}'-]+ ){1,4}?(?=FINITE)|\p{Lu}[\p{L}'-]+ (?=FINITE)|(?!(?:what|who|why|how|still|never|always)\b)\p{Ll}{3,} (?=(?:comes|starts|ends|arrives|opens|closes|leaves) )`
const finite = oneOf(finiteForms, { after: String.raw`\b` }).source
const joints = new RegExp(
  `(?:,? (?:${statementJoints.join("|")})|,|;|:| -) (?:(?:then|also|now|actually|honestly|anyway|apparently|luckily|yes|no|oh) )?(?=${subject.replaceAll("FINITE", finite)})`,
  "gu"
)
