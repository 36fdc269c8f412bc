/**
 * `muniment import`: an export back into an account, ids and times kept, or with `--from` the export of another product.
 * It can be repeated after any interruption. Bad lines are reported with their numbers, and make the exit code 1.
 */
import { Clock, Console, Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "../CommandFailed.ts"
import { type ImportOutcome, makeImportBatches } from "../ImportBatches.ts"
import { type Columns, columnsOf } from "../importers/csvItems.ts"
import { foreignFormats, type ForeignFormat } from "../importers/foreignFormats.ts"
import type { ImportOwner } from "../importers/ForeignItems.ts"
import { noteLines } from "../importers/markdownNotes.ts"
import { readForeign, skippedText } from "../importers/readForeign.ts"
import { pathFlag } from "../PathFlag.ts"
import { makeProgress } from "../Progress.ts"
import { flags } from "./flags.ts"
import { type Operator, withOperator } from "./operator.ts"

type DuplicateRule = "return" | "store"

interface ForeignInput {
  readonly from: ForeignFormat
  readonly owner: ImportOwner
  readonly input: string
  readonly columns: Columns
}

export const importMemories = Command.make(
  "import",
  {
    account: flags.account,
    input: pathFlag("in", "File to read, of markdown a folder; - is standard input").pipe(Flag.withAlias("i")),
    from: Flag.Literals("from", ["muniment", ...foreignFormats]).pipe(
      Flag.withDefault("muniment"),
      Flag.withDescription(
        "What wrote the file: muniment; messages (JSONL of chat messages); chatgpt or claude (conversations.json); mem0; zep; markdown (a folder of notes, as of Obsidian); csv"
      )
    ),
    agent: Flag.String("agent").pipe(
      Flag.withDefault("imported"),
      Flag.withDescription("With --from another product: whose memories they become")
    ),
    subject: Flag.String("subject").pipe(
      Flag.withDescription("With --from another product: whom they are about"),
      Flag.optional
    ),
    columns: Flag.String("columns").pipe(
      Flag.withDefault(""),
      Flag.withDescription("With --from csv: what columns mean, such as text=body,role=author,time=written")
    ),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDefault(false),
      Flag.withDescription("With --from another product: read and count, store nothing")
    ),
    onDuplicate: Flag.Literals("on-duplicate", ["return", "store"]).pipe(
      Flag.withDefault("store"),
      Flag.withDescription("What becomes of data that is stored under another id: return skips it, store keeps both")
    ),
    json: flags.json
  },
  Effect.fn("import")(function* ({ account, agent, columns, dryRun, from, input, json, onDuplicate, subject }) {
    if (from === "muniment") {
      if (dryRun) return yield* new CommandFailed({ reason: "--dry-run is for --from another product." })
      const outcome = yield* withOperator((operator) => importAll(operator, account, input, onDuplicate), "withModel")
      return yield* finish({ outcome, leftOut: new Map() }, account, json)
    }
    const nowMillis = yield* Clock.currentTimeMillis
    const owner = { account, agentId: agent, subjectId: Option.getOrUndefined(subject), nowMillis }
    const meanings = yield* columnsOf(columns)
    const foreign = { from, owner, input, columns: meanings }
    if (dryRun) {
      const text = from === "markdown" ? yield* noteLines(input) : Stream.decodeText((yield* source(input)).bytes)
      const reading = yield* readForeign(from, owner, meanings, text, () => Effect.void)
      if (json) {
        const report = { account, dryRun, memories: reading.records, leftOut: Object.fromEntries(reading.skipped) }
        return yield* Console.log(JSON.stringify(report))
      }
      yield* Console.error(skippedText(reading.skipped))
      return yield* Console.error(`${reading.records} memories would be imported into ${account}.`)
    }
    const imported = yield* withOperator((operator) => importForeign(operator, foreign, onDuplicate), "withModel")
    yield* finish(imported, account, json)
  })
).pipe(
  Command.withDescription("Read an export into an account; ids that are there are skipped"),
  Command.withExamples([
    { command: "muniment import --account alice --in alice.jsonl", description: "Restore a backup" },
    {
      command: "muniment import --account alice --from chatgpt --in conversations.json --dry-run",
      description: "What would become of the export of another product"
    }
  ])
)

interface Imported {
  readonly outcome: ImportOutcome
  /** Elements of another product's export that no memory was made of, by reason. */
  readonly leftOut: ReadonlyMap<string, number>
}

const finish = Effect.fnUntraced(function* ({ leftOut, outcome }: Imported, account: string, json: boolean) {
  const { badRuns, imported, skipped } = outcome
  if (json) {
    const report = { account, imported, skipped, leftOut: Object.fromEntries(leftOut), refused: badRuns }
    yield* Console.log(JSON.stringify(report))
  } else {
    if (leftOut.size > 0) yield* Console.error(skippedText(leftOut))
    yield* Console.error(summaryOf(outcome, account))
  }
  if (outcome.badCount > 0) return yield* new CommandFailed({ reason: `${outcome.badCount} lines were not imported.` })
})

const importAll = Effect.fnUntraced(function* (
  operator: Operator,
  account: string,
  input: string,
  onDuplicate: DuplicateRule
) {
  const batches = yield* makeImportBatches(operator, account, onDuplicate)
  let lineNumber = 0
  yield* (yield* textOf(input)).pipe(
    Stream.splitLines,
    Stream.runForEach((text) => batches.add(text, ++lineNumber)),
    Effect.andThen(batches.flush),
    Effect.tapError(() => interrupted(batches.outcome, account))
  )
  return batches.outcome
}, Effect.scoped)

const importForeign = Effect.fnUntraced(function* (
  operator: Operator,
  { columns, from, input, owner }: ForeignInput,
  onDuplicate: DuplicateRule
) {
  const batches = yield* makeImportBatches(operator, owner.account, onDuplicate)
  const text = from === "markdown" ? yield* noteLines(input) : yield* textOf(input)
  const { skipped } = yield* readForeign(from, owner, columns, text, batches.add).pipe(
    Effect.tap(() => batches.flush),
    Effect.tapError(() => interrupted(batches.outcome, owner.account))
  )
  return { outcome: batches.outcome, leftOut: skipped }
}, Effect.scoped)

/** The text of the input, with a bar for how much is read. */
const textOf = Effect.fnUntraced(function* (input: string) {
  const progress = yield* makeProgress("Importing")
  const { bytes, totalBytes } = yield* source(input)
  let readBytes = 0
  return bytes.pipe(
    Stream.tap((chunk) => progress.update((readBytes += chunk.byteLength), Math.max(totalBytes, readBytes))),
    Stream.decodeText()
  )
})

const interrupted = (outcome: ImportOutcome, account: string) =>
  outcome.imported === 0
    ? Effect.void
    : Console.error(`Interrupted. ${summaryOf(outcome, account)} Repeat the command to go on.`)
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
