/** The question before something is done that cannot be undone, or costs money; `--yes` answers it. */
import { Console, Effect, Stdio, Terminal } from "effect"
import { CommandFailed } from "./CommandFailed.ts"

/** Fails, saying that nothing was done, unless the person at the terminal agrees. */
export const agreement = Effect.fn("agreement")(function* (question: string, nothingDone: string) {
  const { stdinIsTerminal } = yield* Stdio.Stdio
  if (!(yield* stdinIsTerminal)) {
    return yield* new CommandFailed({ reason: `${nothingDone}: there is no terminal to ask at. Agree with --yes.` })
  }
  const terminal = yield* Terminal.Terminal
  yield* Console.error(`${question} [y/N]`)
  const answer = yield* Effect.catch(terminal.readLine, () => Effect.succeed(""))
  if (!/^y(es)?$/i.test(answer.trim())) return yield* new CommandFailed({ reason: `${nothingDone}.` })
})
