/** How a command ends badly: one text for the person at the terminal, exit code 1. */
import * as CliError from "effect/cli/CliError"
import * as Schema from "effect/Schema"

export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
  /** Read by effect/cli, which prints it instead of a stack trace. */
  override readonly [CliError.userMessage] = this.reason
}

/** Any failure of the service or of the way to it, as its text. */
export const commandFailed = (cause: unknown): CommandFailed =>
  cause instanceof CommandFailed
    ? cause
    : new CommandFailed({ reason: cause instanceof Error && cause.message !== "" ? cause.message : String(cause) })
