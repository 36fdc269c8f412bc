/**
 * For a question about the present: of two statements that say different things of the same person and matter, the later
 * one goes first, be it a message, a fact or what a caller stored. Whether they are of one matter is weighed as log-odds
 * and no sign decides alone: how far the two stand out as near each other, how well each fits the question, what they
 * share, words of change. A guess, so a search can switch it off (contract: Search, `newerFirst`).
 */
import { mayChange } from "./AskedMatter.ts"
import { asksWho, hasAskedValue, otherPeople } from "./AskedValue.ts"
import { changeSigns, tellsChange } from "./ChangeSigns.ts"
import type { CandidateMessage } from "./Evidence.ts"
import { messageTraits } from "../text/MessageText.ts"
import { queryTerms } from "../text/Tokenizer.ts"

/** How many of the first hits may change places, and how many are compared, from the best one on. */
export const LATER_FIRST_HITS = 20
const COMPARED_MAX = 10

/** Fitted on updates of our own, told in chats and stored as facts, and on everyday conversations; rounded. */
const weights = {
  intercept: -1.3,
  /** Of how much nearer the two are than the older one is to the usual hit. */
  standout: 35,
  /** Of the log-odds by which the older one ranks higher. */
  gap: -0.45,
  /** Of the share of the question's words that the older one alone has: what changes is seldom called by its name again. */
  lost: 1.5,
  /** The same of facts, which call it by its name. */
  lostOfFact: -4,
  /** Of the share of the question's words in the newer one. */
  kept: -1.2,
  /** Of the share of other words that both have. */
  shared: 0.5,
  ended: 1,
  shifted: 1.7,
  holdsNow: 1,
  begun: 1.4,
  owned: 0.7,
  /** It speaks of another person's state or of what is not so. */
  notSo: -1.6,
  /** The question asks for a time, an amount or a person, and it names none. */
  lacksValue: -1.4,
  /** Of ln(hits from the older one on). */
  place: -1.1,
  fact: 0.6
}

/** Two hits are compared with each other, and with the median of the others where there are as many. */
const OTHERS_MIN = 5
const USUAL_COSINE = 0.78
/** Short facts about one person are near each other whatever their matter is: up to .86. */
const USUAL_OF_FACTS = 0.84

/** A hit of a search as a statement. */
export interface StatedHit {
  readonly id: string
  readonly createdAt: number
  /** Milliseconds; undefined of what was taken from messages that are not known here. */
  readonly saidAt: number | undefined
  readonly message?: (CandidateMessage & { readonly position?: number | undefined }) | undefined
  /** Whom it is by, or about, in one spelling; undefined: that is not known. */
  readonly who: string | undefined
  /** Log-odds. */
  readonly order: number
  /** What was found of it. */
  readonly text: string
}

/** Why a hit changed its place. */
export type MoveReason = "slot" | "change" | "same"

/** What is known of two statements. */
export interface Pairs<A> {
  /** Of their vectors, on the scale of e5-small-v2; undefined where they cannot be compared. */
  readonly cosineOf: (one: A, other: A) => number | undefined
  /** Whether what is known of `newer` superseded what is known of `older`. */
  readonly isLater?: (older: A, newer: A) => boolean
}

/** Log-odds of what a slot says: one of ten is wrong. */
const SLOT_ODDS = 2.2

/**
 * `onMove` is called for each hit that goes up, with the older hit that it passes and the probability that it is a later
 * state of that one. Returns the same array if nothing changes places.
 */
export const laterFirst = <A extends StatedHit>(
  ranking: ReadonlyArray<A>,
  question: string,
  pairs: Pairs<A>,
  onMove: (hit: A, reason: MoveReason, older: A, chance: number) => void = () => {}
): ReadonlyArray<A> => {
  const first = ranking.slice(0, LATER_FIRST_HITS)
  let isChanged = false
  // The later one may have a later one; every round takes the top to a later time.
  for (let round = 1; round < first.length; round++) {
    const top = first.find(isStatement)
    const update = top && bestUpdate(first, top, question, pairs)
    if (update === undefined) break
    first.splice(first.indexOf(update.hit), 1)
    first.unshift(update.hit)
    onMove(update.hit, update.reason, top!, 1 / (1 + Math.exp(-update.odds)))
    isChanged = true
  }
  return isChanged ? [...first, ...ranking.slice(LATER_FIRST_HITS)] : ranking
}

/** The hit most probably a later state of `top`; undefined where none is more probable than not. */
const bestUpdate = <A extends StatedHit>(
  hits: ReadonlyArray<A>,
  top: A,
  question: string,
  { cosineOf, isLater }: Pairs<A>
): { readonly hit: A; readonly reason: MoveReason; readonly odds: number } | undefined => {
  const from = hits.indexOf(top)
  const isLaterOfAsked = (hit: A) => isNewer(hit, top) && mayChange(question, top.text, hit.text)
  const later = hits.filter((hit) => areComparable(top, hit) && isLaterOfAsked(hit))
  if (later.length === 0) return undefined
  const cosines = hits.flatMap((hit) => (hit === top ? [] : (cosineOf(top, hit) ?? [])))
  const expected = top.message === undefined ? USUAL_OF_FACTS : USUAL_COSINE
  const usual = cosines.length < OTHERS_MIN ? expected : Float64Array.from(cosines).sort()[cosines.length >> 1]!
  const found = later.flatMap((hit) => {
    const cosine = cosineOf(top, hit)
    const place = hits.indexOf(hit) - from
    const isCompared = cosine !== undefined && place > 0 && place < COMPARED_MAX
    const weighed = isCompared
      ? updateOdds(question, top, hit, cosine - usual) + weights.place * Math.log(place)
      : -Infinity
    const bySlot = isLater?.(top, hit) === true ? SLOT_ODDS : -Infinity
    const odds = Math.max(bySlot, weighed)
    const reason: MoveReason = bySlot === odds ? "slot" : tellsChange(hit.text) ? "change" : "same"
    return odds < 0 ? [] : [{ hit, odds, reason }]
  })
  return found.reduce<(typeof found)[number] | undefined>(
    (best, one) => (best && best.odds >= one.odds ? best : one),
    undefined
  )
}

/** Whether one may be a later state of the other: both by or about one person, with times that can be compared. */
export const areComparable = (older: StatedHit, newer: StatedHit): boolean =>
  older !== newer &&
  isStatement(older) &&
  isStatement(newer) &&
  newer.who !== undefined &&
  (older.who === newer.who || (isByAssistant(older) && isByUser(newer))) &&
  (older.saidAt === undefined) === (newer.saidAt === undefined)

/** What an assistant says of its user, the user knows better. */
const isByAssistant = ({ message }: StatedHit): boolean =>
  message !== undefined && (message.traits & messageTraits.isByUser) === 0
const isByUser = ({ message }: StatedHit): boolean =>
  message !== undefined && (message.traits & messageTraits.isByUser) !== 0

const isStatement = ({ message }: StatedHit): boolean =>
  message === undefined || (message.traits & messageTraits.onlyAsks) === 0

/** By time, then by position in the conversation, then in the order of storing. */
const isNewer = (one: StatedHit, other: StatedHit): boolean =>
  ((one.saidAt ?? 0) - (other.saidAt ?? 0) ||
    one.createdAt - other.createdAt ||
    (one.message?.position ?? 0) - (other.message?.position ?? 0) ||
    (one.id > other.id ? 1 : -1)) > 0

/** Log-odds that `newer` is a later state of what `older` says, but for its place. */
const updateOdds = (question: string, older: StatedHit, newer: StatedHit, standout: number): number => {
  const asked = new Set(queryTerms(question))
  const before = new Set(queryTerms(older.text))
  const after = new Set(queryTerms(newer.text))
  const own = after.difference(asked)
  const rest = before.difference(asked)
  const isFact = newer.message === undefined
  const { begun, ended, holdsNow, owned, shifted } = changeSigns(newer.text)
  return (
    weights.intercept +
    weights.standout * standout +
    weights.gap * Math.min(4, Math.max(-1, older.order - newer.order)) +
    (isFact ? weights.lostOfFact : weights.lost) * share(asked.intersection(before).difference(after), asked.size) +
    weights.kept * share(asked.intersection(after), asked.size) +
    weights.shared * share(own.intersection(rest), Math.min(own.size, rest.size)) +
    weights.ended * ended +
    weights.shifted * shifted +
    weights.holdsNow * holdsNow +
    weights.begun * begun +
    weights.owned * owned +
    (isNotSo(question, older.text, newer.text) ? weights.notSo : 0) +
    (hasAskedValue(question, newer.text) ? 0 : weights.lacksValue) +
    (isFact ? weights.fact : 0)
  )
}

const share = (some: ReadonlySet<string>, of: number): number => some.size / Math.max(1, of)

const unreal =
  /\b(?:if|would|could|might|maybe|perhaps|one day|i'd|we'd|used to|last (?:year|month)|thinking of|i wish (?:i|we|they|he|she))\b/i
const asksSelf = /\b(?:do|am|are|have|should|will|can) (?:i|we)\b/i
const ofThird = /\b(?:he|she)(?:'s|'ll| (?:is|was|has|had|started|took|gets|got|left|goes|went|works|lives|pays))\b/i
const forOther = /\b(?:for|with) (?:her|him|them)\b|\b(?:hers|theirs)\b/i
const subjectOf = /(?:^|[.!?] )(?:my|our|his|her|their) (?:\w+ )?(\w+)/i

/** A wish, a plan or the past, or the state of another person. */
const isNotSo = (question: string, older: string, text: string): boolean => {
  const said = text.replaceAll("\u2019", "'")
  if (unreal.test(said) || forOther.test(said) || (asksSelf.test(question) && ofThird.test(said))) return true
  const owner = asksWho(question) ? undefined : subjectOf.exec(said)?.[0]
  const known = `${question} ${older}`.toLowerCase()
  return (
    owner !== undefined &&
    owner.matchAll(otherPeople).some(([, person]) => !known.includes(person!.toLowerCase().replace(/s$/, "")))
  )
}
