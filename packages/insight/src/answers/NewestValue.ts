/** Of several quotes that state the same slot of the same one (`SlotValue.ts`) the one said last holds. */
import { tokenize } from "@muniment/engine/text/Tokenizer"
import { isUser } from "./MemoryStatement.ts"
import type { Quote } from "./Quote.ts"
import { byTime, saidAt } from "./QuoteSource.ts"
import { isOfPast, slotStated } from "./SlotValue.ts"

interface Valued extends Quote {
  /** How sure it is that the quote answers, 0..1. */
  readonly chance: number
}

/**
 * Of each slot and subject the newest value alone, with the greatest chance among all: the question has an answer, and
 * this is its present state. When the past is asked for, the values that were replaced or are stated as past. Order kept.
 */
export const withNewestValues = <V extends Valued>(
  values: ReadonlyArray<V>,
  isPastAsked: boolean
): ReadonlyArray<V> => {
  const times = new Map(values.map((value) => [value, saidAt(value, values)]))
  const slots = values.map((value) => (value.chance > 0 ? slotOf(value) : undefined))
  return values.flatMap((value, at) => {
    const slot = slots[at]
    if (slot === undefined) return [value]
    const rivals = values.filter((_, other) => slots[other] === slot)
    const isOutdated = rivals.some((other) => !isOfPast(other.text) && byTime(times.get(other)!, times.get(value)!) > 0)
    const isCurrent = !isOfPast(value.text) && !isOutdated
    // "No longer drinks coffee" is the present state as long as nothing newer is.
    const isOnly = rivals.length === 1 && !isPastAsked
    if (isCurrent === isPastAsked && !isOnly) return []
    return [{ ...value, chance: Math.max(...rivals.map(({ chance }) => chance)) }]
  })
}

const slotOf = ({ memory, statement, text }: Valued): string | undefined => {
  const slot = slotStated(memory, statement, text)
  const { subject } = statement
  // A user without a name is somebody else in the memories of another subject.
  const owner = subject === undefined || isUser(subject) ? memory.owner : undefined
  return slot && `${slot} of ${tokenize(subject ?? "").join(" ")} ${owner ?? ""}`
}
