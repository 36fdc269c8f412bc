/**
 * Why the service could not start, in words an operator can act on. Only failures with a known cause
 * become a text; anything else is a defect, and keeps its stack trace.
 */
import { CommandFailed } from "./CommandFailed.ts"

/** Causes of causes that are looked at. */
const chainMax = 8

export const startFailure = (error: unknown): CommandFailed | undefined => {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < chainMax; depth++) {
    const text = textOf(at)
    if (text !== undefined) return new CommandFailed({ reason: text })
    at = "reason" in at && at.reason instanceof Error ? at.reason : at.cause
  }
  return undefined
}

const textOf = (error: Error): string | undefined => {
  switch ("_tag" in error ? error._tag : undefined) {
    case "DirectoryInUse":
    case "NewerDatabase":
      return error.message
    case "ConfigError":
      return `The configuration is wrong: ${error.message}`
    case "ServeError":
      return `The address cannot be listened on: ${error.cause instanceof Error ? error.cause.message : String(error.cause)}`
    case "SqliteError":
      return `A file of the data directory cannot be used: ${error.message}.${remedy("reason" in error ? error.reason : undefined)}`
    default:
      return undefined
  }
}

const remedy = (reason: unknown): string => {
  if (reason === "corrupt") return " It is damaged: restore it from a backup, then start again."
  if (reason === "full") return " The disk is full: make room, then start again."
  return ""
}
