/**
 * The texts of a memory that a map reads: its subject, and the values of its data without their keys. Dates and numbers
 * appear in the one-line summary but name no topic. Invisible characters are removed, because topics go to language
 * models.
 */
import type { JsonObject } from "@muniment/domain/Memory"
import { visibleText } from "../text/VisibleText.ts"

export interface MemoryTexts {
  /** The top-level `subject`; empty without one. */
  readonly subject: string
  /** All other values, in the order of the data. */
  readonly parts: ReadonlyArray<string>
  /** The parts that consist of words. */
  readonly wordParts: ReadonlyArray<string>
}

const partsMax = 64
const depthMax = 16
/** Values visited, empty ones included. */
const valuesMax = 2_000
/** About as much as an embedding model reads. */
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
