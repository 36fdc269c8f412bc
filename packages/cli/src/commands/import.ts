/**
 * `muniment import`: an export back into an account, ids and times kept. It can be repeated after
 * any interruption. Bad lines are reported with their numbers, and make the exit code 1.
 */
import { Console, Effect, FileSystem, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "../CommandFailed.ts"
import { type ImportOutcome, makeImportBatches } from "../ImportBatches.ts"
import { makeProgress } from "../Progress.ts"
import { flags } from "./flags.ts"
import { type Operator, withOperator } from "./operator.ts"

export const importMemories = Command.make(
  "import",
  {
    account: flags.account,
    input: Flag.String("in").pipe(Flag.withAlias("i"), Flag.withDescription("File to read; - is standard input")),
    onDuplicate: Flag.Literals("on-duplicate", ["return", "store"]).pipe(
      Flag.withDefault("store"),
      Flag.withDescription("What becomes of data that is stored under another id: return skips it, store keeps both")
    )
  },
  Effect.fn("import")(function* ({ account, input, onDuplicate }) {
    const outcome = yield* withOperator((operator) => importAll(operator, account, input, onDuplicate), "withModel")
    yield* Console.error(summaryOf(outcome, account))
    if (outcome.badCount > 0)
      return yield* new CommandFailed({ reason: `${outcome.badCount} lines were not imported.` })
  })
).pipe(
  Command.withDescription("Read an export into an account; ids that are there are skipped"),
  Command.withExamples([
    { command: "muniment import --account alice --in alice.jsonl", description: "Restore a backup" }
  ])
)

const importAll = Effect.fnUntraced(function* (
  operator: Operator,
  account: string,
  input: string,
  onDuplicate: "return" | "store"
) {
  const batches = yield* makeImportBatches(operator, account, onDuplicate)
  const progress = yield* makeProgress("Importing")
  const { bytes, totalBytes } = yield* source(input)
  let readBytes = 0
  let lineNumber = 0
  yield* bytes.pipe(
    Stream.tap((chunk) => progress.update((readBytes += chunk.byteLength), Math.max(totalBytes, readBytes))),
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((text) => batches.add(text, ++lineNumber)),
    Effect.andThen(batches.flush),
    Effect.tapError(() =>
      batches.outcome.imported === 0
        ? Effect.void
        : Console.error(`Interrupted. ${summaryOf(batches.outcome, account)} Repeat the command to go on.`)
    )
  )
  return batches.outcome
}, Effect.scoped)

const source = Effect.fnUntraced(function* (input: string) {
  if (input === "-") return { bytes: (yield* Stdio.Stdio).stdin, totalBytes: 0 }
  const files = yield* FileSystem.FileSystem
  const { size } = yield* files.stat(input)
  return { bytes: files.stream(input), totalBytes: Number(size) }
})

const summaryOf = ({ imported, skipped, badRuns }: ImportOutcome, account: string): string =>
  [
    ...badRuns.map(({ first, last, reason }) => `line ${first === last ? first : `${first} to ${last}`}: ${reason}`),
    `${imported} memories imported into ${account}, ${skipped} were there already.`
  ].join("\n")
