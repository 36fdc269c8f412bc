/**
 * Of the first hits of a question about the present, a newer message that tells of a change goes before the best one:
 * "the bookshop hired me" before "I work as a waitress". A guess by signs, weighed as log-odds: how near the two are,
 * words of change, the sort of value that is asked for, whom it is about, its place. It costs .007 nDCG@10 on chats and
 * nothing of recall, so a search can switch it off (contract: Search).
 */
import { mayChange } from "./AskedMatter.ts"
import { hasAskedValue } from "./AskedValue.ts"
import { changeSigns, tellsChange } from "./ChangeSigns.ts"
import type { CandidateMessage } from "./Evidence.ts"
import { isOfOther, isNotSo } from "./OtherMatter.ts"
import { messageTraits } from "../text/MessageText.ts"
import { queryTerms } from "../text/Tokenizer.ts"

/** How many of the first hits may change places, and how many messages from the best one on. */
export const NEWER_FIRST_HITS = 20
const MESSAGES_MAX = 10
/** From this cosine on two messages say nearly the same, and the newer needs no word of change. Scale of e5-small-v2. */
export const SAME_MATTER_COSINE_MIN = 0.9

/** Fitted on updates of our own and on LoCoMo, rounded; README.md in this folder. */
const weights = {
  intercept: -0.3,
  /** Of the cosine of both messages above the mean of such pairs. */
  cosine: 24,
  cosineMean: 0.84,
  ended: 2,
  shifted: 1.5,
  holdsNow: 1,
  begun: 1.5,
  owned: 0.2,
  /** Of ln(hits before it). */
  place: -1.5,
  /** The question asks for a time, an amount or a person, and it names none. */
  lacksValue: -2.2,
  /** It is about somebody, or something of the speaker, that neither the question nor the older message names. */
  ofOther: -1.6,
  /** It speaks of another person's state or of what is not so. */
  notSo: -1.5,
  asks: -0.8,
  addresses: -0.7,
  /** Of the share of the question's terms in it: what changes is seldom called by its name again. */
  asked: -1.2
}

export interface DatedHit {
  readonly createdAt: number
  readonly eventAt?: number | undefined
  /** 0..1. */
  readonly relevance?: number | undefined
  readonly message?: (CandidateMessage & { readonly position?: number | undefined }) | undefined
  /** What was found of a message. */
  readonly text: string
  /** Keys of the messages that it is, or was taken from. */
  readonly sources: ReadonlyArray<string>
}

/** Why a hit changed its place. */
export type MoveReason = "slot" | "change" | "same"

/** What is known of two messages. */
export interface Pairs<A> {
  /** Of their vectors, on the scale of e5-small-v2; undefined where they cannot be compared. */
  readonly cosineOf: (one: A, other: A) => number | undefined
  /** Whether what was extracted of `newer` superseded what was extracted of `older`. */
  readonly isLater?: (older: A, newer: A) => boolean
}

/** Log-odds of what a slot says: one of ten is wrong. */
const SLOT_ODDS = 2.2

/**
 * `onMove` is called for each hit that goes up, with the older hit that it passes and the probability that it is a later
 * state of that one. Returns the same array if nothing changes places.
 */
export const newerUp = <A extends DatedHit>(
  ranking: ReadonlyArray<A>,
  question: string,
  pairs: Pairs<A>,
  onMove: (hit: A, reason: MoveReason, older: A, chance: number) => void = () => {}
): ReadonlyArray<A> => {
  const first = ranking.slice(0, NEWER_FIRST_HITS)
  const asked = new Set(queryTerms(question))
  let isChanged = false
  // The newer one may have a newer one; every round takes the top to a later time.
  for (let round = 1; round < first.length; round++) {
    const top = first.find(isStatement)
    const update = top && bestUpdate(first, top, question, asked, pairs)
    if (update === undefined) break
    const { hit: newer, odds, reason } = update
    first.splice(first.indexOf(newer), 1)
    first.splice(placeBefore(first, top!, newer), 0, newer)
    onMove(newer, reason, top!, 1 / (1 + Math.exp(-odds)))
    isChanged = true
  }
  return isChanged ? [...first, ...ranking.slice(NEWER_FIRST_HITS)] : ranking
}

interface Update<A> {
  readonly hit: A
  readonly reason: MoveReason
  readonly odds: number
}

/** The hit most probably an update of `top`; undefined where none is more probable than not. */
const bestUpdate = <A extends DatedHit>(
  hits: ReadonlyArray<A>,
  top: A,
  question: string,
  asked: ReadonlySet<string>,
  { cosineOf, isLater }: Pairs<A>
): Update<A> | undefined => {
  const messages = hits.slice(hits.indexOf(top)).filter(({ message }) => message !== undefined)
  let best: Update<A> | undefined
  for (const [place, hit] of messages.entries()) {
    if (!areComparable(top, hit) || !isNewer(hit, top) || !mayChange(question, top.text, hit.text)) continue
    const asChange =
      place < MESSAGES_MAX && !isHidden(question, hit, messages.slice(0, place))
        ? updateOdds(top.text, hit.text, cosineOf(top, hit), place, question, asked)
        : -Infinity
    const bySlot = isLater?.(top, hit) === true ? SLOT_ODDS : -Infinity
    const odds = Math.max(bySlot, asChange)
    if (odds < (best?.odds ?? 0)) continue
    best = { hit, odds, reason: bySlot === odds ? "slot" : tellsChange(hit.text) ? "change" : "same" }
  }
  return best
}

/** Hardly relevant, behind one that nearly surely is, and without a change of what is asked. */
const isHidden = (question: string, hit: DatedHit, before: ReadonlyArray<DatedHit>): boolean =>
  (hit.relevance ?? 1) < HARDLY_RELEVANT_MAX &&
  before.some(({ relevance = 0 }) => relevance >= SURELY_RELEVANT_MIN) &&
  !(hasAskedValue(question, hit.text) && tellsChange(hit.text))
const HARDLY_RELEVANT_MAX = 0.1
const SURELY_RELEVANT_MIN = 0.7

/** Two statements of one speaker, whatever they say. */
export const areComparable = (one: DatedHit, other: DatedHit): boolean =>
  isStatement(one) && isStatement(other) && one.message?.speaker === other.message?.speaker

const isStatement = ({ message }: DatedHit): boolean =>
  message !== undefined && (message.traits & messageTraits.onlyAsks) === 0

/** Log-odds that `text` is a later state of what `older` says; `place`: messages ranked before it. */
const updateOdds = (
  older: string,
  text: string,
  cosine: number | undefined,
  place: number,
  question: string,
  asked: ReadonlySet<string>
): number => {
  if (cosine === undefined) return -Infinity
  const { begun, ended, holdsNow, owned, shifted } = changeSigns(text)
  if (!tellsChange(text) && cosine < SAME_MATTER_COSINE_MIN) return -Infinity
  const named = new Set(queryTerms(text))
  return (
    weights.intercept +
    weights.cosine * (cosine - weights.cosineMean) +
    weights.ended * ended +
    weights.shifted * shifted +
    weights.holdsNow * holdsNow +
    weights.begun * begun +
    weights.owned * owned +
    weights.place * Math.log(place) +
    (hasAskedValue(question, text) ? 0 : weights.lacksValue) +
    (isOfOther(question, older, text) ? weights.ofOther : 0) +
    (isNotSo(question, older, text) ? weights.notSo : 0) +
    (text.includes("?") ? weights.asks : 0) +
    (addressed.test(text) ? weights.addresses : 0) +
    weights.asked * (asked.size > 0 ? asked.intersection(named).size / asked.size : 0)
  )
}

const addressed = /\byou(?:r|'re|'ve)?\b/i
/** Before `top`, and before what stands directly before it: questions, and what was taken from older messages. */
const placeBefore = (hits: ReadonlyArray<DatedHit>, top: DatedHit, newer: DatedHit): number => {
  const outdated = new Set(hits.flatMap((hit) => (hit.message !== undefined && isNewer(newer, hit) ? hit.sources : [])))
  const isPassed = ({ message, sources }: DatedHit): boolean =>
    message === undefined
      ? sources.some((source) => outdated.has(source))
      : (message.traits & messageTraits.onlyAsks) !== 0
  let place = hits.indexOf(top)
  while (place > 0 && isPassed(hits[place - 1]!)) place--
  return place
}

const isNewer = (one: DatedHit, other: DatedHit): boolean =>
  ((one.eventAt ?? one.createdAt) - (other.eventAt ?? other.createdAt) ||
    one.createdAt - other.createdAt ||
    (one.message?.position ?? 0) - (other.message?.position ?? 0)) > 0
