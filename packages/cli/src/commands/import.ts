/**
 * `muniment import`: an export back into an account, ids and times kept, or with `--from` the export of another product.
 * It can be repeated after any interruption. Bad lines are reported with their numbers, and make the exit code 1.
 */
import { Clock, Console, Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { Limits } from "@muniment/domain/Limits"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { CommandFailed } from "../CommandFailed.ts"
import { type Columns, columnsOf } from "../importers/csvItems.ts"
import { foreignFormats, type ForeignFormat } from "../importers/foreignFormats.ts"
import type { ImportOwner } from "../importers/ForeignItems.ts"
import {
  type ForeignReading,
  type RecognisedFiles,
  readForeign,
  readingText,
  recogniseFormat
} from "../importers/readForeign.ts"
import { importFiles } from "../importers/foreignElements.ts"
import { pathFlag } from "../InputFile.ts"
import { makeProgress } from "../Terminal.ts"
import { flags, optionalText } from "./flags.ts"
import { type Operator, withOperator } from "./clients.ts"
import { type ExportRecord, parseLine } from "../ExportFile.ts"

type DuplicateRule = "return" | "store"

export const importMemories = Command.make(
  "import",
  {
    account: flags.account,
    input: pathFlag("in", "File, folder or zip to read; - is standard input").pipe(Flag.withAlias("i")),
    from: Flag.Literals("from", ["muniment", "auto", ...foreignFormats]).pipe(
      Flag.withDefault("muniment"),
      Flag.withDescription("What wrote it; auto looks for what it is, and says so")
    ),
    agent: optionalText(
      "agent",
      "With --from another product: whose memories they become; by default as the export says, else imported"
    ),
    subject: optionalText("subject", "With --from another product: whom they are about; by default as the export says"),
    columns: Flag.String("columns").pipe(
      Flag.withDefault(""),
      Flag.withDescription("With --from csv: what columns mean, such as text=body,role=author,time=written")
    ),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDefault(false),
      Flag.withDescription("With --from another product: count, show the first five, store nothing")
    ),
    onDuplicate: Flag.Literals("on-duplicate", ["return", "store"]).pipe(
      Flag.withDefault("store"),
      Flag.withDescription("What becomes of data that is stored under another id: return skips it, store keeps both")
    ),
    json: flags.json
  },
  Effect.fn("import")(function* ({ account, agent, columns, dryRun, from, input, json, onDuplicate, subject }) {
    if (from === "muniment" || (from === "auto" && (yield* isOwnExport(input)))) {
      if (dryRun) return yield* new CommandFailed({ reason: "--dry-run is for --from another product." })
      const outcome = yield* withOperator(({ admin }) => importAll(admin, account, input, onDuplicate), "withModel")
      return yield* finish(outcome, account, json)
    }
    const nowMillis = yield* Clock.currentTimeMillis
    const agentId = Option.getOrUndefined(agent)
    const owner = { account, agentId, subjectId: Option.getOrUndefined(subject), nowMillis }
    yield* importForeign({ columns: yield* columnsOf(columns), dryRun, from, input, json, onDuplicate, owner })
  })
).pipe(
  Command.withDescription("Read an export into an account; ids that are there are skipped"),
  Command.withExamples([
    { command: "muniment import --account alice --in alice.jsonl", description: "Restore a backup" },
    {
      command: "muniment import --account alice --from auto --in export.zip --dry-run",
      description: "What would become of the export of another product"
    }
  ])
)

interface ForeignImport {
  readonly from: ForeignFormat | "auto"
  readonly input: string
  readonly owner: ImportOwner
  readonly columns: Columns
  readonly dryRun: boolean
  readonly json: boolean
  readonly onDuplicate: DuplicateRule
}

const importForeign = Effect.fnUntraced(function* ({
  columns,
  dryRun,
  from,
  input,
  json,
  onDuplicate,
  owner
}: ForeignImport) {
  const { account } = owner
  const found = yield* recogniseFormat(from, yield* importFiles(input), columns, input)
  if (!json) yield* Console.error(recognisedText(found))
  if (dryRun) {
    const reading = yield* readForeign(found, owner, columns, () => Effect.void)
    if (json) return yield* Console.log(JSON.stringify({ account, dryRun, ...reportOf(found, reading) }))
    for (const record of reading.first) yield* Console.log(JSON.stringify(record, undefined, 2))
    yield* Console.error(readingText(reading))
    return yield* Console.error(`${reading.records} memories would be imported into ${account}.`)
  }
  const { outcome, reading } = yield* withOperator(
    Effect.fnUntraced(function* ({ admin }: Operator) {
      const batches = yield* makeImportBatches(admin, account, onDuplicate)
      const read = yield* readForeign(found, owner, columns, batches.add).pipe(
        Effect.tap(() => batches.flush),
        Effect.tapError(() => interrupted(batches.outcome, account))
      )
      return { outcome: batches.outcome, reading: read }
    }),
    "withModel"
  )
  yield* finish(outcome, account, json, { found, reading })
}, Effect.scoped)

interface ForeignReport {
  readonly found: RecognisedFiles
  readonly reading: ForeignReading
}

const recognisedText = ({ files, format, passedOver }: RecognisedFiles): string => {
  const paths = files.slice(0, pathsShownMax).map(({ path }) => path)
  const more = files.length > paths.length ? ` and ${files.length - paths.length} more` : ""
  const beside = passedOver === 0 ? "" : `; ${passedOver} files beside them are not read`
  return `Reading as ${format}: ${paths.join(", ")}${more}${beside}.`
}
const pathsShownMax = 5

const reportOf = ({ files, format }: RecognisedFiles, { first, kinds, records, skipped, unkept }: ForeignReading) => ({
  from: format,
  files: files.map(({ path }) => path),
  memories: records,
  kinds: Object.fromEntries(kinds),
  leftOut: Object.fromEntries(skipped),
  unkeptFields: Object.fromEntries(unkept),
  first
})

const finish = Effect.fnUntraced(function* (
  outcome: ImportOutcome,
  account: string,
  json: boolean,
  foreign?: ForeignReport
) {
  const { badRuns, imported, skipped } = outcome
  if (json) {
    const { first: _, ...report } = foreign === undefined ? { first: [] } : reportOf(foreign.found, foreign.reading)
    yield* Console.log(JSON.stringify({ account, imported, skipped, leftOut: {}, refused: badRuns, ...report }))
  } else {
    if (foreign !== undefined) yield* Console.error(readingText(foreign.reading))
    yield* Console.error(summaryOf(outcome, account))
  }
  if (outcome.badCount > 0) return yield* new CommandFailed({ reason: `${outcome.badCount} lines were not imported.` })
})

const importAll = Effect.fnUntraced(function* (
  operator: Operator["admin"],
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
  if (!(yield* files.exists(input))) return yield* new CommandFailed({ reason: `There is no file ${input}.` })
  const { size, type } = yield* files.stat(input)
  if (type === "Directory")
    return yield* new CommandFailed({ reason: `${input} is a folder: say with --from what wrote it, or --from auto.` })
  return { bytes: files.stream(input), totalBytes: Number(size) }
})

/** Its first line says so. */
const isOwnExport = Effect.fnUntraced(function* (input: string) {
  const files = yield* FileSystem.FileSystem
  if (input === "-" || !(yield* files.exists(input)) || (yield* files.stat(input)).type !== "File") return false
  const head = yield* Stream.runHead(Stream.decodeText(files.stream(input, { bytesToRead: 64 })))
  return head._tag === "Some" && /^\s*\{\s*"muniment"\s*:\s*"export"/.test(head.value)
})

const summaryOf = ({ imported, skipped, badRuns }: ImportOutcome, account: string): string =>
  [
    ...badRuns.map(({ first, last, reason }) => `line ${first === last ? first : `${first} to ${last}`}: ${reason}`),
    `${imported} memories imported into ${account}, ${skipped} were there already.`
  ].join("\n")

interface ImportOutcome {
  imported: number
  skipped: number
  badCount: number
  /** Runs of neighbouring lines with the same reason, the first `badRunsMax` of them. */
  readonly badRuns: Array<{ readonly first: number; last: number; readonly reason: string }>
}

interface Numbered<Item> {
  readonly lineNumber: number
  readonly item: Item
}

const badRunsMax = 1_000
/** Leaves room in the request for the account's name and the JSON around the records. */
const batchCharactersMax = Limits.requestBodyBytesMax / 4

/**
 * Sends the lines of an export to the service in batches that fit its limits. A batch that the
 * service refuses is halved until the lines at fault stand alone; these are reported with their
 * number and the rest is imported. Any other failure ends the import: repeating it is safe, because the
 * service skips ids that it has.
 */
const makeImportBatches = (operator: Operator["admin"], account: string, onDuplicate: "return" | "store") =>
  Effect.sync(() => {
    const outcome: ImportOutcome = { imported: 0, skipped: 0, badCount: 0, badRuns: [] }
    let batch: Array<Numbered<ExportRecord>> = []
    let batchCharacters = 0

    const reject = (lineNumber: number, reason: string): void => {
      outcome.badCount++
      const run = outcome.badRuns.at(-1)
      if (run?.reason === reason && run.last === lineNumber - 1) run.last = lineNumber
      else if (outcome.badRuns.length < badRunsMax)
        outcome.badRuns.push({ first: lineNumber, last: lineNumber, reason })
    }
    const sendRecords = (lines: ReadonlyArray<Numbered<ExportRecord>>) =>
      operator.importMemories({ payload: { account, onDuplicate, records: lines.map(({ item }) => item) } }).pipe(
        Effect.tap(({ imported, skipped }) =>
          Effect.sync(() => {
            outcome.imported += imported
            outcome.skipped += skipped
          })
        )
      )
    const sendSchema = ([line]: ReadonlyArray<Numbered<MemorySchema>>) =>
      operator.importMemories({ payload: { account, schemas: line === undefined ? [] : [line.item], records: [] } })

    const flush = Effect.suspend(() => {
      const lines = batch
      batch = []
      batchCharacters = 0
      return lines.length === 0 ? Effect.void : sendHalving(lines, sendRecords, reject)
    })

    const add = Effect.fnUntraced(function* (text: string, lineNumber: number) {
      if (text.trim() === "") return
      const line = parseLine(text, lineNumber)
      if (line._tag === "Bad") return reject(lineNumber, line.reason)
      if (line._tag === "Header") {
        const schemas = line.header.schemas.filter(({ builtin }) => builtin !== true)
        // One at a time: together they may be larger than a request.
        for (const item of schemas) {
          yield* sendHalving([{ lineNumber, item }], sendSchema, (_, reason) =>
            reject(lineNumber, `schema ${item.name}: ${reason}`)
          )
        }
        return
      }
      if (batch.length >= Limits.importBatchMax || batchCharacters + text.length > batchCharactersMax) yield* flush
      batch.push({ lineNumber, item: line.record })
      batchCharacters += text.length
    })

    return { add, flush, outcome }
  })

type Refusal = { readonly _tag: "InvalidRequest" | "Conflict" | "PayloadTooLarge"; readonly message: string }

const sendHalving = <Item, A, E>(
  lines: ReadonlyArray<Numbered<Item>>,
  send: (lines: ReadonlyArray<Numbered<Item>>) => Effect.Effect<A, E | Refusal>,
  reject: (lineNumber: number, reason: string) => void
): Effect.Effect<void, Exclude<E, Refusal>> =>
  send(lines).pipe(
    Effect.asVoid,
    Effect.catch((error) => {
      if (!isRefusal(error)) return Effect.fail(error as Exclude<E, Refusal>)
      if (lines.length === 1) return Effect.sync(() => reject(lines[0]!.lineNumber, error.message))
      const middle = lines.length >> 1
      return Effect.andThen(
        sendHalving(lines.slice(0, middle), send, reject),
        sendHalving(lines.slice(middle), send, reject)
      )
    })
  )

const refusals: ReadonlySet<unknown> = new Set(["InvalidRequest", "Conflict", "PayloadTooLarge"])
const isRefusal = (error: unknown): error is Refusal =>
  typeof error === "object" && error !== null && "_tag" in error && refusals.has(error._tag)
