/** A memory as a prompt shows it: what it says, when that was said and by whom; and the moment of a question. */
import type { JsonObject } from "@muniment/domain/Memory"
import { clippedJson, clippedText } from "@muniment/language/text/VisibleText"
import { dayAndTime, dayOnly, spokenMoment } from "@muniment/language/calendar/CalendarWords"
import { readStatement } from "./MemoryStatement.ts"
import type { SaidAt } from "./Quote.ts"
import type { Evidence } from "./WrittenAnswer.ts"

export interface LineForm {
  /** The asker's, as IANA names it; default UTC. */
  readonly timeZone: string | undefined
  /** Characters of its text, or of each text of a record. */
  readonly lengthMax: number
}

/** All but its number. `saidMillis`: when it was said or stored. */
export const memoryLine = (
  memory: Evidence,
  saidMillis: number,
  { lengthMax, timeZone = "UTC" }: LineForm
): JsonObject => {
  const { data, kind, when } = memory
  const { isRecord, speaker, text } = readStatement(memory)
  if (speaker === undefined) {
    return {
      said: dayOnly(dayAndTime(saidMillis, timeZone)),
      ...(when !== undefined && { when }),
      ...(isRecord ? { kind, data: clippedJson(data, lengthMax) } : { text: clippedText(text, lengthMax) })
    }
  }
  const whole = typeof data["text"] === "string" && memory.passage === undefined ? data["text"] : text
  return {
    said: spokenMoment(speaker.saidOn) ?? "unknown",
    by: speaker.name ?? speaker.role,
    text: clippedText(whole, lengthMax)
  }
}

/** By what it says itself: of a message its own time, of all else when it counts as said. */
export const toldAt = ({ createdAt, data, turn }: Evidence): SaidAt => ({
  millis: Date.parse(typeof data["sentAt"] === "string" ? data["sentAt"] : "") || createdAt,
  position: turn?.position ?? 0
})

export const askedAt = ({
  nowMillis,
  timeZone
}: {
  readonly nowMillis?: number | undefined
  readonly timeZone?: string | undefined
}) =>
  nowMillis === undefined ? {} : { asked: dayAndTime(nowMillis, timeZone ?? "UTC"), ...(timeZone && { timeZone }) }
