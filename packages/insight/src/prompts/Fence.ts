/**
 * The fence around data in a prompt. Data is JSON, one value a line, between `BEGIN <section> <code>`
 * and `END <section> <code>`; the code has 60 random bits and is drawn for each request.
 *
 * Invariants: a user's text cannot start a line (JSON escapes line feeds), cannot contain the code (a guess is escaped),
 * and cannot contain control tokens of chat templates, which some local servers obey anywhere in a prompt. All of it is
 * JSON escaping, so nothing is lost.
 */
import { Effect, type Schema } from "effect"
import { WebCrypto } from "effect/crypto"
import { isJsonArray, visibleText } from "@muniment/language/text/VisibleText"

/** Explains to a model how to read the blocks. Part of the fixed instructions: increase the versions of both with a change. */
export const fenceExplained =
  "A block begins with a line BEGIN and ends with a line END that carry the code named in its first line. Each line between them is one JSON value."

export interface Fence {
  /** First line of a prompt: names the code. */
  readonly opening: string
  /** Lines of one section, fenced. `values` may hold any text. */
  readonly section: (name: string, values: ReadonlyArray<Schema.Json>) => string
}

/** Hexadecimal; more would cost tokens at each block. */
const codeDigits = 16

export const drawFence: Effect.Effect<Fence> = Effect.map(WebCrypto.WebCrypto, (webCrypto) =>
  makeFence(`f${webCrypto.randomUUID().replaceAll("-", "").slice(0, codeDigits)}`)
)

/** `code` starts with a letter and contains no character that is special in JSON or in a pattern. */
export const makeFence = (code: string): Fence => {
  const guess = new RegExp(code, "gi")
  const escaped = (text: string) => text.replaceAll(guess, (found) => `${unicodeEscape(found)}${found.slice(1)}`)
  return {
    opening: `The code of this request is ${code}.`,
    section: (name, values) =>
      [`BEGIN ${name} ${code}`, ...values.map((value) => escaped(dataLine(value))), `END ${name} ${code}`].join("\n")
  }
}

/** `<|im_start|>`, `<s>`, `<<SYS>>`, `<start_of_turn>` and their kin begin with `<`; `[INST]`, `[/INST]` do not. */
const controlToken = /[<＜]|\[(?=\/?[A-Za-z_]+\])/g
const stringLiteral = /"(?:[^"\\]|\\.)*"/g

/** One line of JSON, safe anywhere in a prompt. */
const dataLine = (value: Schema.Json): string =>
  JSON.stringify(visibleValue(value)).replaceAll(stringLiteral, (literal) =>
    literal.replaceAll(controlToken, unicodeEscape)
  )

/** Property names are users' text as well. */
const visibleValue = (value: Schema.Json): Schema.Json => {
  if (typeof value === "string") return visibleText(value)
  if (value === null || typeof value !== "object") return value
  if (isJsonArray(value)) return value.map(visibleValue)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [visibleText(name), visibleValue(inner)]))
}

const unicodeEscape = (text: string): string => `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`
