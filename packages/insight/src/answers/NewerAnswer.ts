/**
 * Of several quotes that answer a question the newest counts where it states a change: "The rent is now 1,250" replaces
 * "we pay 1,180". Slots with one value are compared in `SlotValue.ts`; this compares any two quotes by the words of the
 * question.
 *
 * Invariant: a quote is replaced by one of the same speaker alone that is newer and meets all conditions, has the part
 * that is asked for and holds as many words of the question beside it; or that the search put first as the new state.
 */
import { isNewState } from "./ChangedSince.ts"
import type { Weighed } from "./GroundedGate.ts"
import type { Quote } from "./Quote.ts"
import { isPlainPart, tellsChange, tellsSwitch } from "./PlainPart.ts"
import { asksOnly } from "./QuotedSentence.ts"
import type { Question } from "./Question.ts"
import { byTime, saidAt, speakerOf } from "./QuoteSource.ts"

interface WeighedQuote extends Quote, Weighed {}

/** Order kept; a quote that replaces another takes over its chance, and the other loses its own. */
export const withNewerAnswers = <Q extends WeighedQuote>(
  question: Question,
  quotes: ReadonlyArray<Q>
): ReadonlyArray<Q> => {
  if (question.part === "yesNo") return withNewestStand(question, quotes)
  if (question.isOfPast || question.isWhenDone || !isPlainPart(question.part)) return quotes
  const times = quotes.map((quote) => saidAt(quote, quotes))
  const speakers = quotes.map((quote) => speakerOf(quote, quotes))
  const chances = quotes.map(({ chance }) => chance)
  const byAge = quotes
    .keys()
    .toArray()
    .toSorted((left, right) => byTime(times[left]!, times[right]!))
  for (const newer of byAge) {
    const quote = quotes[newer]!
    const least = tellsSwitch(quote.text) ? SWITCH_NEAR_MIN : NEAR_MIN
    for (const older of byAge) {
      if (older === newer || chances[older] === 0 || speakers[older] !== speakers[newer]) continue
      if (byTime(times[older]!, times[newer]!) >= 0) continue
      const isNear = quote.near > 0 && tellsChange(quote.text) && quote.near >= least * quotes[older]!.near
      // The search put it first: it takes it for a later state.
      if (!isNear && !(newer < older && isNewState(question, quotes[older]!, quote, quotes))) continue
      chances[newer] = Math.max(chances[newer]!, chances[older]!)
      chances[older] = 0
    }
  }
  return quotes.map((quote, at) => ({ ...quote, chance: chances[at]! }))
}

/** What somebody said of the matter later, however it is meant, takes the stand of before. */
const withNewestStand = <Q extends WeighedQuote>(
  { subject, topic }: Question,
  quotes: ReadonlyArray<Q>
): ReadonlyArray<Q> => {
  const wanted = topic.filter((term) => !subject.terms.includes(term))
  return quotes.map((quote) => {
    if (quote.chance === 0) return quote
    const [time, speaker] = [saidAt(quote, quotes), speakerOf(quote, quotes)]
    const isOutdated = quotes.some(
      (other) =>
        other.statement.speaker !== undefined &&
        !asksOnly(other.text) &&
        wanted.every((term) => other.terms.has(term)) &&
        speakerOf(other, quotes) === speaker &&
        byTime(saidAt(other, quotes), time) > 0
    )
    return isOutdated ? { ...quote, chance: 0 } : quote
  })
}

/** Of the share of the older quote: of a quote that says "now", and of one that says "moved to". */
const NEAR_MIN = 0.95
const SWITCH_NEAR_MIN = 0.3
