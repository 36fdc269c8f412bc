/**
 * Why the service could not start, in words an operator can act on. Only failures with a known cause
 * become a text; anything else is a defect, and keeps its stack trace.
 */
import { CommandFailed } from "./CommandFailed.ts"

/** Causes of causes that are looked at. */
const chainMax = 8

/** What failures have in common; not all of them are an `Error`. */
interface Failure {
  readonly _tag?: unknown
  readonly message?: unknown
  readonly reason?: unknown
  readonly cause?: unknown
}

export const startFailure = (error: unknown): CommandFailed | undefined => {
  for (let at: unknown = error, depth = 0; isFailure(at) && depth < chainMax; depth++) {
    const text = textOf(at)
    if (text !== undefined) return new CommandFailed({ reason: text })
    at = isFailure(at.reason) ? at.reason : at.cause
  }
  return undefined
}

const textOf = ({ _tag, message, reason, cause }: Failure): string | undefined => {
  switch (_tag) {
    case "DirectoryInUse":
    case "NewerDatabase":
    case "KeyFileFault":
      return String(message)
    case "ConfigError":
      return `The configuration is wrong: ${messageOf(cause)}`
    case "ServeError":
      return `The address cannot be listened on: ${messageOf(cause)}`
    case "SqliteError":
      return `A file of the data directory cannot be used: ${String(message)}.${remedy(reason)}`
    default:
      return undefined
  }
}

const isFailure = (value: unknown): value is Failure => typeof value === "object" && value !== null

const messageOf = (value: unknown): string => (isFailure(value) ? String(value.message) : String(value))

const remedy = (reason: unknown): string => {
  if (reason === "corrupt") return " It is damaged: restore it from a backup, then start again."
  if (reason === "full") return " The disk is full: make room, then start again."
  return ""
}
