/**
 * Of several quotes that answer a question the newest counts where it tells a change: "The rent is now 1,250" replaces "we pay
 * 1,180". Slots with one value are compared in `SlotValue.ts`; this compares any two quotes by the words of the question.
 *
 * Invariant: a quote is replaced by one of the same speaker alone, that is newer, meets all conditions, has the part that is
 * asked for and holds as many words of the question beside it.
 */
import type { Quote, Weighed } from "./GroundedGate.ts"
import { isPlainPart, tellsChange, tellsSwitch } from "./PlainPart.ts"
import type { Question } from "./Question.ts"

interface WeighedQuote extends Quote, Weighed {}

/** Order kept; a quote that replaces another takes over its chance, and the other loses its own. */
export const withNewerAnswers = <Q extends WeighedQuote>(
  question: Question,
  quotes: ReadonlyArray<Q>
): ReadonlyArray<Q> => {
  if (question.isOfPast || question.isWhenDone || !isPlainPart(question.part)) return quotes
  const times = quotes.map((quote) => saidAt(quote, quotes))
  const speakers = quotes.map((quote) => speakerOf(quote, quotes))
  const chances = quotes.map(({ chance }) => chance)
  const byAge = quotes
    .keys()
    .toArray()
    .toSorted((left, right) => times[left]! - times[right]!)
  for (const newer of byAge) {
    const quote = quotes[newer]!
    if (quote.near === 0 || !tellsChange(quote.text)) continue
    const least = tellsSwitch(quote.text) ? SWITCH_NEAR_MIN : NEAR_MIN
    for (const older of byAge) {
      if (older === newer || chances[older] === 0 || speakers[older] !== speakers[newer]) continue
      if (times[older]! >= times[newer]! || quote.near < least * quotes[older]!.near) continue
      chances[newer] = Math.max(chances[newer]!, chances[older]!)
      chances[older] = 0
    }
  }
  return quotes.map((quote, at) => ({ ...quote, chance: chances[at]! }))
}

/** Of the share of the older quote: of a quote that says "now", and of one that says "moved to". */
const NEAR_MIN = 0.95
const SWITCH_NEAR_MIN = 0.3
/** Of the words of a memory: so many are in the message that it was extracted from. */
const SOURCE_SHARE_MIN = 0.7

/** What was extracted from a message that is among the quotes. */
const sourceOf = (quote: Quote, quotes: ReadonlyArray<Quote>): Quote | undefined => {
  if (quote.statement.speaker !== undefined) return quote
  const own = new Set([...quote.terms].filter((term) => !/^\d|^(?:user|utc)$/.test(term)))
  const shareIn = ({ terms }: Quote): number => own.intersection(terms).size / Math.max(1, own.size)
  const messages = quotes.filter(({ statement }) => statement.speaker !== undefined)
  const [best] = messages.toSorted((left, right) => shareIn(right) - shareIn(left))
  return best !== undefined && shareIn(best) >= SOURCE_SHARE_MIN ? best : undefined
}

const saidAt = (quote: Quote, quotes: ReadonlyArray<Quote>): number =>
  Date.parse(sourceOf(quote, quotes)?.statement.speaker?.saidOn ?? "") || quote.memory.createdAt

const speakerOf = (quote: Quote, quotes: ReadonlyArray<Quote>): string => {
  const speaker = sourceOf(quote, quotes)?.statement.speaker
  return speaker === undefined ? "" : `${speaker.role} ${speaker.name ?? ""}`
}
