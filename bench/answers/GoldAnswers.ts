/**
 * Judges by machine whether an answer is right: it says at least half of the gold answer's words that are not in the
 * question, or the gold date within a day ("words"); or it quotes an annotated message ("evidence"). Both are guesses:
 * read a sample.
 */
import { tokenize } from "@muniment/language/text/Tokenizer"
import { stopWords } from "@muniment/language/text/Language"
import { datesInText } from "@muniment/language/calendar/CalendarWords"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { ChatQuestion } from "./ChatSet.ts"

const HELD_SHARE_MIN = 0.5

export const saysGold = ({ gold, text }: Pick<ChatQuestion, "gold" | "text">, answer: string): boolean => {
  const asked = new Set(tokenize(text))
  const wanted = tokenize(gold).filter((word) => !stopWords.has(word) && !asked.has(word))
  const said = new Set(tokenize(answer))
  const held = wanted.filter((word) => said.has(word)).length
  return isDateTold(gold, answer) || (wanted.length > 0 && held >= wanted.length * HELD_SHARE_MIN)
}

const isDateTold = (gold: string, answer: string): boolean => {
  // "8 May, 2023": the comma would hide the year.
  const daysOf = (text: string): ReadonlyArray<string> => {
    const { dates } = datesInText(text.replaceAll(/(\p{L}),\s*(\d{4})/gu, "$1 $2"), anyYear)
    return dates.filter((days) => days.length === 1).flat()
  }
  const wanted = daysOf(gold).filter((day) => !day.endsWith("-01-01"))
  const told = daysOf(answer)
  return wanted.some((day) => told.some((other) => Math.abs(Date.parse(day) - Date.parse(other)) <= dayMillis))
}

const anyYear = 2000
