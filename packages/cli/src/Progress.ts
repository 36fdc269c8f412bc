/**
 * A progress bar for what takes longer than a second. It is drawn on standard error, so that an
 * export to standard output stays clean, and only at a terminal.
 */
import cliProgress from "cli-progress"
import { Effect, type Scope } from "effect"

export interface Progress {
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
