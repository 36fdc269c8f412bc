/** Failure of a command: one text for the terminal, exit code 1. */
import { CliError } from "effect/cli"
import { PlatformError, Schema } from "effect"

export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
  /** Read by effect/cli, which prints it instead of a stack trace. */
  override readonly [CliError.userMessage] = this.reason
}

/** Any failure of the service or of the connection to it, as its text. */
export const commandFailed = (cause: unknown): CommandFailed =>
  cause instanceof CommandFailed ? cause : new CommandFailed({ reason: reasonOf(cause) })

const reasonOf = (cause: unknown): string => {
  if (cause instanceof PlatformError.PlatformError) return fileReason(cause)
  return cause instanceof Error && cause.message !== "" ? cause.message : String(cause)
}

/** The system's complaint about a file, as a sentence. */
const fileReason = ({ message, reason }: PlatformError.PlatformError): string => {
  const path = reason._tag === "BadArgument" ? undefined : reason.pathOrDescriptor
  switch (path === undefined ? undefined : reason._tag) {
    case "NotFound":
      return `There is no file or folder ${path}.`
    case "PermissionDenied":
      return `This user may not open ${path}.`
    case "AlreadyExists":
      return `${path} is there already.`
    default:
      return message
  }
}
