/**
 * For a question about the present: of two statements that say different things of the same person and matter, the later
 * one goes first, be it a message, a fact or what a caller stored. Whether they are of one matter is weighed as log-odds
 * and no sign decides alone: how far the two stand out as near each other, how well each fits the question, what they
 * share, words of change. A guess, so a search can switch it off (contract: Search, `newerFirst`).
 */
import { tellsChange } from "@muniment/language/question/ChangeSigns"
import { laterReader } from "@muniment/language/question/AskedMatter"
import type { CandidateMessage } from "./Evidence.ts"
import { messageTraits } from "../text/MemoryText.ts"

/** How many of the first hits may change places, and how many are compared, from the best one on. */
export const LATER_FIRST_HITS = 20
const COMPARED_MAX = 10

/** Fitted on updates of our own, told in chats and stored as facts, on everyday conversations and LoCoMo; rounded. */
const weights = {
  intercept: -1.2,
  /** Weight of how much nearer the two are to each other than each of them is to the usual hit. */
  standout: 41,
  /** Weight of the log-odds by which the older one ranks higher. */
  gap: -1,
  /** Weight of `LaterSigns`: a changed thing is seldom called by its name again. */
  lost: 2,
  /** Weight for facts, which call it by its name. */
  lostOfFact: -7,
  partly: -1.1,
  /** Weight of the root of the share. */
  changes: 1.9,
  notSo: -1.5,
  otherThing: -1.2,
  lacksValue: -1.5,
  /** Weight of ln(hits from the older one on). */
  place: -0.7
}

/** Two hits are compared with each other, and each with the median of the others where there are as many. */
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
  /** Text that was found of the hit. */
  readonly text: string
}

/** Why a hit changed its place. */
export type MoveReason = "slot" | "change" | "same"

/** Facts about two statements. */
export interface Pairs<A> {
  /** Cosine of their vectors, on the scale of e5-small-v2; undefined where they cannot be compared. */
  readonly cosineOf: (one: A, other: A) => number | undefined
  /** Whether what is known of `newer` superseded what is known of `older`. */
  readonly isLater?: (older: A, newer: A) => boolean
}

/**
 * Log-odds of a superseded memory's message. They decide alone where nothing else compares the two: a message tells
 * several things.
 */
const SLOT_ODDS = 1.5

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
  const asked = askedPairs(question)
  let isChanged = false
  // The later one may have a later one; every round takes the top to a later time.
  for (let round = 1; round < first.length; round++) {
    const top = first.find(isStatement)
    const update = top && bestUpdate(first, top, asked, pairs)
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
  { mayChange, odds }: AskedPairs,
  { cosineOf, isLater }: Pairs<A>
): { readonly hit: A; readonly reason: MoveReason; readonly odds: number } | undefined => {
  const from = hits.indexOf(top)
  const later = hits.filter((hit) => areComparable(top, hit) && isNewer(hit, top) && mayChange(top, hit))
  const usualOf = (one: A): number => {
    const cosines = hits.flatMap((other) => (other === one ? [] : (cosineOf(one, other) ?? [])))
    const expected = one.message === undefined ? USUAL_OF_FACTS : USUAL_COSINE
    return cosines.length < OTHERS_MIN ? expected : Float64Array.from(cosines).sort()[cosines.length >> 1]!
  }
  const found = later.flatMap((hit) => {
    const cosine = cosineOf(top, hit)
    const place = hits.indexOf(hit) - from
    const isKnown = isLater?.(top, hit) === true
    const compared =
      place > 0 && place < COMPARED_MAX && cosine !== undefined
        ? odds(top, hit, cosine - (usualOf(top) + usualOf(hit)) / 2) + weights.place * Math.log(place)
        : -Infinity
    const most = isKnown ? SLOT_ODDS + (cosine === undefined ? 0 : compared) : compared
    const reason: MoveReason = isKnown ? "slot" : tellsChange(hit.text) ? "change" : "same"
    return most < 0 ? [] : [{ hit, odds: most, reason }]
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
  // The user knows better what an assistant says of its user.
  (older.who === newer.who || (byUser(older) === 0 && (byUser(newer) ?? 0) !== 0)) &&
  (older.saidAt === undefined) === (newer.saidAt === undefined)

/** 0: by an assistant. */
const byUser = ({ message }: StatedHit): number | undefined => message && message.traits & messageTraits.isByUser

const isStatement = ({ message }: StatedHit): boolean =>
  message === undefined || (message.traits & messageTraits.onlyAsks) === 0

/** By time, then by position in the conversation, then in the order of storing. */
const isNewer = (one: StatedHit, other: StatedHit): boolean =>
  ((one.saidAt ?? 0) - (other.saidAt ?? 0) ||
    one.createdAt - other.createdAt ||
    (one.message?.position ?? 0) - (other.message?.position ?? 0) ||
    (one.id > other.id ? 1 : -1)) > 0

type AskedPairs = ReturnType<typeof askedPairs>

const askedPairs = (question: string) => {
  const { mayChange, signsOf } = laterReader(question)
  /** Log-odds that `newer` is a later state of what `older` says, but for its place. */
  const odds = (older: StatedHit, newer: StatedHit, standout: number): number => {
    const signs = signsOf(older.text, newer.text)
    return (
      weights.intercept +
      weights.standout * standout +
      weights.gap * Math.min(4, Math.max(-1, older.order - newer.order)) +
      (newer.message === undefined ? weights.lostOfFact : weights.lost) * signs.lost +
      (signs.isPartly ? weights.partly : 0) +
      weights.changes * Math.sqrt(signs.changes) +
      (signs.isNotSo ? weights.notSo : 0) +
      (signs.isOfOtherThing ? weights.otherThing : 0) +
      (signs.lacksValue ? weights.lacksValue : 0)
    )
  }
  return { odds, mayChange: (older: StatedHit, newer: StatedHit) => mayChange(older.text, newer.text) }
}
