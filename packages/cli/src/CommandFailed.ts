/** Failure of a command: one text for the terminal, exit code 1. */
import { CliError } from "effect/cli"
import { Schema } from "effect"

export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
  /** Read by effect/cli, which prints it instead of a stack trace. */
  override readonly [CliError.userMessage] = this.reason
}

/** Any failure of the service or of the connection to it, as its text. */
export const commandFailed = (cause: unknown): CommandFailed =>
  cause instanceof CommandFailed
    ? cause
    : new CommandFailed({ reason: cause instanceof Error && cause.message !== "" ? cause.message : String(cause) })
