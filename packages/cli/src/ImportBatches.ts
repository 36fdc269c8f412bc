/**
 * Sends the lines of an export to the service in batches that fit its limits. A batch that the
 * service refuses is halved until the lines at fault stand alone; these are reported with their
 * number and the rest is imported. Any other failure ends the import: repeating it is safe, because the
 * service skips ids that it has.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import type { Operator } from "./commands/operator.ts"
import { type ExportRecord, parseLine } from "./ExportFile.ts"

export interface ImportOutcome {
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

export type ImportBatches = Effect.Success<ReturnType<typeof makeImportBatches>>

export const makeImportBatches = (operator: Operator, account: string, onDuplicate: "return" | "store") =>
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
