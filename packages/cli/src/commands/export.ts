/**
 * `muniment export`: all memories of an account, every version, as JSONL. A file appears under its
 * name only when it is complete, readable by its owner alone.
 */
import { Console, Effect, FileSystem, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import type { PlatformError } from "effect/PlatformError"
import { formatVersion, lineOf } from "../ExportFile.ts"
import { pathFlag } from "../InputFile.ts"
import { makeProgress } from "../Terminal.ts"
import { flags } from "./flags.ts"
import { type Operator, withOperator } from "./clients.ts"

const ownerOnly = 0o600

export const exportMemories = Command.make(
  "export",
  {
    account: flags.account,
    out: pathFlag("out", "File to write; - is standard output").pipe(Flag.withAlias("o")),
    json: flags.json
  },
  Effect.fn("export")(function* ({ account, json, out }) {
    const count = yield* withOperator(({ admin }) =>
      Effect.gen(function* () {
        return out === "-" ? yield* toStandardOutput(admin, account) : yield* toFile(admin, account, out)
      })
    )
    if (json) {
      const report = JSON.stringify({ account, memories: count, file: out })
      // On standard output are the memories themselves, a JSON object each line.
      return yield* out === "-" ? Console.error(report) : Console.log(report)
    }
    yield* Console.error(`${count} memories of ${account} exported${out === "-" ? "" : ` to ${out}`}.`)
  })
).pipe(
  Command.withDescription("Write an account's memories as JSONL, ids and times kept"),
  Command.withExamples([
    { command: "muniment export --account alice --out alice.jsonl", description: "Back an account up" }
  ])
)

type Write = (text: string) => Effect.Effect<void, PlatformError>

const toFile = Effect.fnUntraced(function* (operator: Operator["admin"], account: string, out: string) {
  const files = yield* FileSystem.FileSystem
  const partial = `${out}.partial`
  const count = yield* Effect.scoped(
    Effect.gen(function* () {
      const file = yield* files.open(partial, { flag: "w", mode: ownerOnly })
      const encoder = new TextEncoder()
      const written = yield* writePages(operator, account, (text) => file.writeAll(encoder.encode(text)))
      yield* file.sync
      return written
    })
  ).pipe(Effect.tapError(() => Effect.ignore(files.remove(partial))))
  yield* files.rename(partial, out)
  return count
})

const toStandardOutput = Effect.fnUntraced(function* (operator: Operator["admin"], account: string) {
  const stdio = yield* Stdio.Stdio
  return yield* writePages(operator, account, (text) =>
    Stream.run(Stream.make(text), stdio.stdout({ endOnDone: false }))
  )
})

/** The pages one after the other, the header before the first; -> memories written. */
const writePages = Effect.fnUntraced(function* (operator: Operator["admin"], account: string, write: Write) {
  const progress = yield* makeProgress("Exporting")
  let count = 0
  let cursor: string | undefined
  do {
    const query = cursor === undefined ? { account } : { account, cursor }
    const page = yield* operator.exportMemories({ query })
    if (cursor === undefined) {
      yield* write(lineOf({ muniment: "export", version: formatVersion, account: page.account, schemas: page.schemas }))
    }
    if (page.records.length > 0) yield* write(page.records.map(lineOf).join(""))
    count += page.records.length
    cursor = page.nextCursor
    yield* progress.update(count, page.total)
  } while (cursor !== undefined)
  return count
}, Effect.scoped)
