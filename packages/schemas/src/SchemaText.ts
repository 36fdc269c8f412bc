/**
 * Parses a schema text as JSON, and refuses what `JSON.parse` accepts or changes silently: duplicate names (the last one
 * wins), `__proto__`, lone surrogates, unbounded depth and size. One linear pass; knows nothing of JSON Schema.
 */
import { Result } from "effect"
import { isJsonObject } from "@muniment/domain/Json"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"

/** Bounds of the text as JSON. A node is one object or array; scalars are bounded by the bytes. */
const schemaTextLimits = {
  nodesMax: 500,
  jsonDepthMax: Limits.jsonDepthMax,
  nameLengthMax: 512,
  arrayEntriesMax: 1_000
} as const

/** Appends one reference token to a JSON pointer (RFC 6901). */
export const pointerTo = (pointer: string, token: string | number): string =>
  `${pointer}/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`

/** Parses the text into an object within `schemaTextLimits`. */
export const parseSchemaText = (text: string): Result.Result<JsonObject, SchemaFault> => {
  // The length first: a UTF-16 unit is at least one byte, and the length is known.
  if (text.length > Limits.schemaTextBytesMax || Buffer.byteLength(text) > Limits.schemaTextBytesMax) {
    return Result.fail(faultAt("", `longer than ${Limits.schemaTextBytesMax} bytes`))
  }
  const value = Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (cause) => faultAt("", `not JSON (${shortened(String(cause), 120)})`)
  })
  if (Result.isFailure(value)) return Result.fail(value.failure)
  const fault = scanTokens(text)
  if (fault !== undefined) return Result.fail(fault)
  return isJsonObject(value.success)
    ? Result.succeed(value.success)
    : Result.fail(faultAt("", "must be a JSON object, not an array or a scalar"))
}

interface Frame {
  /** Names seen so far; undefined in an array. */
  readonly names: Set<string> | undefined
  at: string | number
  expectsName: boolean
}

const tokenPattern = /"(?:[^"\\]+|\\.)*"|[{}[\],]/g

/** Walks the tokens of valid JSON text; returns the first violated bound. */
const scanTokens = (text: string): SchemaFault | undefined => {
  const frames: Array<Frame> = []
  let nodes = 0
  const pathHere = () => frames.reduce((pointer, frame) => pointerTo(pointer, frame.at), "")
  for (const [token] of text.matchAll(tokenPattern)) {
    const frame = frames.at(-1)
    if (token === "{" || token === "[") {
      if (frames.length >= schemaTextLimits.jsonDepthMax) {
        return faultAt(pathHere(), `nested deeper than ${schemaTextLimits.jsonDepthMax} levels`)
      }
      if (++nodes > schemaTextLimits.nodesMax) {
        return faultAt(pathHere(), `more than ${schemaTextLimits.nodesMax} objects and arrays in all`)
      }
      frames.push({ names: token === "{" ? new Set() : undefined, at: 0, expectsName: token === "{" })
    } else if (token === "}" || token === "]") {
      frames.pop()
    } else if (token === ",") {
      const broken = frame === undefined ? undefined : nextEntry(frame, pathHere)
      if (broken !== undefined) return broken
    } else {
      const broken = checkString(token, frame, pathHere)
      if (broken !== undefined) return broken
    }
  }
  return undefined
}

const nextEntry = (frame: Frame, pathHere: () => string): SchemaFault | undefined => {
  if (frame.names !== undefined) {
    frame.expectsName = true
    return undefined
  }
  frame.at = Number(frame.at) + 1
  return frame.at < schemaTextLimits.arrayEntriesMax
    ? undefined
    : faultAt(pathHere(), `more than ${schemaTextLimits.arrayEntriesMax} entries in one array`)
}

const checkString = (token: string, frame: Frame | undefined, pathHere: () => string): SchemaFault | undefined => {
  const value: string = JSON.parse(token)
  if (!value.isWellFormed()) return faultAt(pathHere(), "a string holds half of a surrogate pair")
  if (frame?.names === undefined || !frame.expectsName) return undefined
  frame.expectsName = false
  frame.at = value
  if (value.length > schemaTextLimits.nameLengthMax) {
    return faultAt(pathHere(), `a name is longer than ${schemaTextLimits.nameLengthMax} characters`)
  }
  if (value === "__proto__") return faultAt(pathHere(), "the name __proto__ is not allowed")
  if (frame.names.has(value)) return faultAt(pathHere(), "this name occurs twice in one object")
  frame.names.add(value)
  return undefined
}

/**
 * Why a schema text is refused; `path` is a JSON pointer into it, `reason` a sentence for its author, path included. Plain
 * data: the validation thread runs the same gate as the server, and starts twice as fast without modules of error classes.
 */
export interface SchemaFault {
  readonly path: string
  readonly reason: string
}

const pathLengthMax = 256

/** Refuses the place `path`; the pointer is cut, because its author chooses the length. */
export const faultAt = (path: string, why: string): SchemaFault => {
  const shown = shortened(path, pathLengthMax)
  return { path: shown, reason: shown === "" ? `schema: ${why}` : `schema at ${shown}: ${why}` }
}

/** Cuts user-chosen text to `lengthMax` UTF-16 units before it enters a message. */
export const shortened = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
