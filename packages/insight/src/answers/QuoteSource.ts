/** Speaker and time of the words of a quote; an extracted memory has those of its message. */
import type { Quote } from "./Quote.ts"

/** Least share of a memory's words that the message has from which it was extracted. */
const SOURCE_SHARE_MIN = 0.7

/** What was extracted from a message that is among the quotes: by its key, else by its words. */
const sourceOf = (quote: Quote, quotes: ReadonlyArray<Quote>): Quote | undefined => {
  if (quote.statement.speaker !== undefined) return quote
  const keys = quote.memory.sources
  // It was corrected since.
  if (keys?.length === 0) return undefined
  const known = quotes.find(
    ({ memory, statement }) => statement.speaker !== undefined && memory.sources?.some((key) => keys?.includes(key))
  )
  if (known !== undefined) return known
  const own = new Set([...quote.terms].filter((term) => !/^\d|^(?:user|utc)$/.test(term)))
  const shareIn = ({ terms }: Quote): number => own.intersection(terms).size / Math.max(1, own.size)
  const messages = quotes.filter(({ statement }) => statement.speaker !== undefined)
  const [best] = messages.toSorted((left, right) => shareIn(right) - shareIn(left))
  return best !== undefined && shareIn(best) >= SOURCE_SHARE_MIN ? best : undefined
}

/** When it was said, and where in its conversation: messages of one request, or of one moment, are in order all the same. */
export interface SaidAt {
  readonly millis: number
  readonly position: number
}

/** What was extracted counts from its message, anything else from when it was stored. */
export const saidAt = (quote: Quote, quotes: ReadonlyArray<Quote>): SaidAt => {
  const source = sourceOf(quote, quotes)
  return {
    millis: Date.parse(source?.statement.speaker?.saidOn ?? "") || quote.memory.createdAt,
    position: source?.memory.turn?.position ?? 0
  }
}

/** Positive where `one` is the later. */
export const byTime = (one: SaidAt, other: SaidAt): number => one.millis - other.millis || one.position - other.position

/** How many messages behind the one that the quote is, or was taken from; undefined: in no order. */
export const messagesBehind = (quote: Quote, other: Quote, quotes: ReadonlyArray<Quote>): number | undefined => {
  const [before, after] = [sourceOf(quote, quotes)?.memory.turn, other.memory.turn]
  return before === undefined || after === undefined || before.conversation !== after.conversation
    ? undefined
    : after.position - before.position
}

/** All that was said where it was said; of what was stored directly its own text. */
export const saidWith = (quote: Quote, quotes: ReadonlyArray<Quote>): string =>
  (sourceOf(quote, quotes) ?? quote).statement.text

/** Empty where no message is known. Speakers without a name are one for each owner of memories. */
export const speakerOf = (quote: Quote, quotes: ReadonlyArray<Quote>): string => {
  const source = sourceOf(quote, quotes)
  const speaker = source?.statement.speaker
  return speaker === undefined ? "" : `${speaker.role} ${speaker.name ?? source?.memory.owner ?? ""}`
}
