/**
 * What the map reads of a memory: whom it is about and the values of its data as short texts, without
 * their keys. Dates and numbers are shown in the one-line summary, but they name no topic. What nobody
 * sees of a text is left out: it would go on to language models as part of a topic.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import { visibleText } from "../prompts/VisibleText.ts"

export interface MemoryTexts {
  /** The top-level `subject`; empty without one. */
  readonly subject: string
  /** Everything else that is said, in the order of the data. */
  readonly parts: ReadonlyArray<string>
  /** Those of the parts that have words. */
  readonly wordParts: ReadonlyArray<string>
}

const partsMax = 64
const depthMax = 16
/** Values looked at: most of them may say nothing. */
const valuesMax = 2_000
/** As much as an embedding model reads of a memory. */
const charactersMax = 2_000

export const textsOf = (data: JsonObject): MemoryTexts => {
  const parts: Array<string> = []
  const wordParts: Array<string> = []
  let characters = 0
  let values = 0
  const visit = (value: unknown, key: string, depth: number): void => {
    if (characters >= charactersMax || parts.length >= partsMax || depth > depthMax || values++ >= valuesMax) return
    if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) visit(inner, Array.isArray(value) ? key : name, depth + 1)
      return
    }
    const whole = typeof value === "string" ? value : scalarText(value, key)
    const text = visibleText(whole.slice(0, charactersMax - characters))
    if (text.trim() === "") return
    characters += text.length
    parts.push(text)
    if (typeof value === "string" && !isoDate.test(value)) wordParts.push(text)
  }
  const { subject, ...rest } = data
  const isNamed = typeof subject === "string"
  visit(isNamed ? rest : data, "", 0)
  return { subject: isNamed ? visibleText(subject.slice(0, charactersMax)) : "", parts, wordParts }
}

const isoDate = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{5,15}(?:Z|[+-]\d{2}:?\d{2})?)?$/

const scalarText = (value: unknown, key: string): string => {
  if (typeof value === "number") return `${key} ${value}`
  return value === true ? key : ""
}
