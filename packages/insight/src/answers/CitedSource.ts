/** A memory that an answer may cite, with all that it says. */
import { speakersDay } from "@muniment/engine/text/SpokenDates"
import { leafTexts } from "../prompts/ClippedJson.ts"
import type { Quote } from "./Quote.ts"
import { spokenDates } from "./SpokenDate.ts"
import type { Evidence } from "./WrittenAnswer.ts"

export interface Source {
  readonly memory: Evidence
  /** Undefined where it has no words of its own, or too many others stand before it. */
  readonly quote: Quote | undefined
  readonly texts: ReadonlyArray<string>
  /** On which it was said, `YYYY-MM-DD`. */
  readonly day: string
}

export const sourceOf = (memory: Evidence, quotes: ReadonlyArray<Quote>): Source => {
  const quote = quotes.find((one) => one.memory === memory)
  const saidOn = quote?.statement.speaker?.saidOn ?? memory.when
  const own = leafTexts(memory.data)
  const spoken = own.flatMap((text) => spokenDates(text, saidOn).map(({ resolved }) => resolved))
  return {
    memory,
    quote,
    texts: [memory.kind, ...own, memory.when ?? "", ...spoken],
    day: speakersDay(saidOn) ?? new Date(memory.createdAt).toISOString().slice(0, "2026-01-31".length)
  }
}
