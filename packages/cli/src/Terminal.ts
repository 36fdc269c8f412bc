/**
 * What commands have in common at a terminal: safe text, tables, progress, and the question before what cannot be undone.
 */
import { Console, Effect, type Scope, Stdio, Terminal } from "effect"
import cliProgress from "cli-progress"
import type { Answer } from "@muniment/client/Contract"
import { CommandFailed } from "./CommandFailed.ts"

// Controls, and the invisible and bidirectional marks of Unicode.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

export const shownText = (text: string): string =>
  text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** Rows of text as aligned columns for a terminal; the last column is not padded. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length)
  }
  return rows
    .map((row) =>
      row.map((text, column) => (column === row.length - 1 ? text : text.padEnd(widths[column]!))).join("  ")
    )
    .join("\n")
}

/** Milliseconds since the epoch -> `2026-11-21 09:14` in UTC; undefined -> a dash. */
export const timeText = (millis: number | undefined): string =>
  millis === undefined ? "-" : new Date(millis).toISOString().slice(0, 16).replace("T", " ")

const charactersMax = 300

/** A memory as one line for a terminal: its kind, the fields of its data, its id. */
export const memoryLine = ({ data, id, kind }: Pick<Answer<"get">["memory"], "data" | "id" | "kind">): string => {
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
  const cut = text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text
  return `${shownText(kind)}  ${shownText(cut)}  (${id})`
}

/**
 * The question before something is done that cannot be undone, or costs money; `--yes` answers it.
 *
 * Fails, saying that nothing was done, unless the person at the terminal agrees.
 */
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

/**
 * A progress bar for what takes longer than a second. It is drawn on standard error, so that an
 * export to standard output stays clean, and only at a terminal.
 */
interface Progress {
  /** `step`: what is done now, where that changes. */
  readonly update: (done: number, total: number, step?: string) => Effect.Effect<void>
}

/** The same in bytes, which are shown in MiB. */
export const updateBytes =
  ({ update }: Progress) =>
  (done: number, total: number): Effect.Effect<void> =>
    update(Math.ceil(done / mebibyte), Math.ceil(total / mebibyte))

const mebibyte = 1_048_576

/** The bar disappears with the scope, also when the command fails. */
export const makeProgress = (label: string): Effect.Effect<Progress, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const bar = new cliProgress.SingleBar({
        format: `{step} {bar} {percentage}% {value}/{total}`,
        stream: process.stderr,
        hideCursor: true,
        clearOnComplete: true
      })
      bar.start(0, 0, { step: label })
      return bar
    }),
    (bar) => Effect.sync(() => bar.stop())
  ).pipe(
    Effect.map((bar) => ({
      update: (done: number, total: number, step = label) =>
        Effect.sync(() => {
          bar.setTotal(total)
          bar.update(Math.min(done, total), { step })
        })
    }))
  )
