/**
 * A newer value told in a few words within a talk about the matter: "It's 1,050 now" after "Shall we go over the rent
 * again?". The message itself says too little, so the two before it say what it is about. A guess by rules for English.
 */
import { asksWho, otherPeople, sortAsked, tellsSort } from "./AskedValue.ts"
import { changeSigns } from "./ChangeSigns.ts"
import { queryTerms } from "../text/Tokenizer.ts"

/** A message before the one that is judged, in the same conversation. */
export interface SaidBefore {
  readonly text: string
  readonly isByOther: boolean
  /** Of its vector and the question's, on the scale of e5-small-v2; undefined where they cannot be compared. */
  readonly cosine: number | undefined
}

/** How many messages before one are read. */
export const SAID_BEFORE = 2
/** Longer messages say themselves what they are about. */
const wordsMax = 18
/** From this cosine on a message may be about the question, and one higher by `cosineSpan` surely is. */
const cosineMin = 0.8
const cosineSpan = 0.1

/** Chosen on talks of our own (`bench/retrieval/updates.ts`), so that LoCoMo loses little; README.md in this folder. */
const weights = {
  intercept: -1.2,
  /** Of the cosine, 0 at `cosineMin` and 1 at `cosineSpan` above it. */
  near: 1,
  /** Of each of up to two words of the matter in the messages before. */
  shared: 0.5,
  /** Of the cosine of a question that it replies to. */
  nearQuestion: 0.5,
  replies: 0.5,
  value: 1,
  sign: 1,
  leans: 0.5,
  isFar: -0.5
}
/** What the messages before must give to be about the matter. */
const aboutMin = 0.4
/** Messages ranked before it from which on it is far behind. */
const farPlace = 5

export const mayReply = (text: string): boolean => text.split(/\s+/).length <= wordsMax

/** Log-odds that `text` is a later state of what `older` says; -Infinity: it is none, or another matter. */
export const replyOdds = (
  question: string,
  older: string,
  text: string,
  before: ReadonlyArray<SaidBefore>,
  place: number
): number => {
  const last = before.at(-1)
  if (last === undefined || !mayReply(text) || text.includes("?")) return -Infinity
  const matter = wordsOf(`${question} ${older}`)
  const replies = last.isByOther && last.text.includes("?")
  const isAsked = replies && nearness(last) >= aboutMin && wordsOf(last.text).intersection(matter).size > 0
  if (isOfOthers(question, older, text, isAsked ? [] : before)) return -Infinity
  const isRefusal = refusal.test(text)
  const leans = isRefusal || leaning.test(text) || pronoun.test(text.split(/\s+/).slice(0, headWords).join(" "))
  if (!leans && !replies) return -Infinity
  const sort = sortAsked(question, older)
  const hasSign = Object.values(changeSigns(text)).some((sign) => sign > 0)
  if (
    sort === undefined
      ? !hasSign && !(replies && isRefusal) && !isAsked
      : !tellsSort(sort, text, `${question} ${older}`)
  )
    return -Infinity
  const about =
    weights.near * Math.max(...before.map(nearness)) +
    weights.shared *
      Math.min(
        2,
        before.reduce((words, one) => words.union(wordsOf(one.text)), new Set<string>()).intersection(matter).size
      ) +
    (replies ? weights.nearQuestion * nearness(last) : 0)
  if (about < aboutMin) return -Infinity
  return (
    weights.intercept +
    about +
    (replies ? weights.replies : 0) +
    (sort === undefined ? 0 : weights.value) +
    (hasSign ? weights.sign : 0) +
    (leans ? weights.leans : 0) +
    (place >= farPlace ? weights.isFar : 0)
  )
}

const nearness = ({ cosine = 0 }: SaidBefore): number => Math.min(1, Math.max(0, (cosine - cosineMin) / cosineSpan))

const passing = new Set(
  queryTerms(
    "call name go get thing know think want need like make day time still much many good well come take new use back look see sure yes ok"
  )
)
const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(queryTerms(text).filter((term) => term.length > 2 && !passing.has(term)))

const refusal =
  /^(?:(?:oh|well|ah|hey)[,!. ]+)*(?:no|nah|nope|not|actually|sadly|hold|scratch|careful|correction|wait|goodness|better)\b/i
const leaning =
  /^(?:(?:oh|well|haha|hm+|yess*|hey|ah|ugh|lol)[,!. ]+)*(?:yes|yep|yeah|it|that|they|she|he|we're|them|those|there|her|his|its|make|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?=\b|\d)/i
const pronoun = /\b(?:it|they|them|she|he|there|that|this one|ones?|off)\b/i
const headWords = 5

const unreal =
  /\b(?:if|would|could|might|maybe|perhaps|one day|i'd|we'd|used to|last (?:year|month)|thinking of|i wish (?:i|we|they|he|she))\b/i
const asksSelf = /\b(?:do|am|are|have|should|will|can) (?:i|we)\b/i
const ofThird = /\b(?:he|she)(?:'s|'ll| (?:is|was|has|had|started|took|gets|got|left|goes|went|works|lives|pays))\b/i
const forOther = /\b(?:for|with) (?:her|him|them)\b|\b(?:hers|theirs)\b/i
const subject = /(?:^|[.!?] )(?:my|our|his|her|their) (?:\w+ )?(\w+)/i
const partOfDay = /\b(?:morning|noon|afternoon|evening|night|breakfast|lunch|dinner)\b/i

/** Whether it speaks of somebody or something else, or of what is not so. */
export const isOfOthers = (
  question: string,
  older: string,
  text: string,
  before: ReadonlyArray<SaidBefore>
): boolean => {
  const said = text.replaceAll("\u2019", "'")
  if (unreal.test(said) || forOther.test(said)) return true
  if (asksSelf.test(question) && ofThird.test(said)) return true
  const known = `${question} ${older}`.toLowerCase()
  const part = partOfDay.exec(question)?.[0]
  if (part !== undefined && partOfDay.test(said) && !said.toLowerCase().includes(part.toLowerCase())) return true
  const owner = subject.exec(said)?.[0]
  const isOther = (one: string): boolean =>
    one.matchAll(otherPeople).some(([, person]) => !known.includes(person!.toLowerCase().replace(/s$/, "")))
  return (owner !== undefined && !asksWho(question) && isOther(owner)) || before.some((one) => isOther(one.text))
}
