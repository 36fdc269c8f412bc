/**
 * A progress bar for what takes longer than a second. It is drawn on standard error, so that an
 * export to standard output stays clean, and only at a terminal.
 */
import cliProgress from "cli-progress"
import { Effect, type Scope } from "effect"

export interface Progress {
  readonly update: (done: number, total: number) => Effect.Effect<void>
}

/** The bar disappears with the scope, also when the command fails. */
export const makeProgress = (label: string): Effect.Effect<Progress, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const bar = new cliProgress.SingleBar({
        format: `${label} {bar} {percentage}% {value}/{total}`,
        stream: process.stderr,
        hideCursor: true,
        clearOnComplete: true
      })
      bar.start(0, 0)
      return bar
    }),
    (bar) => Effect.sync(() => bar.stop())
  ).pipe(
    Effect.map((bar) => ({
      update: (done: number, total: number) =>
        Effect.sync(() => {
          bar.setTotal(total)
          bar.update(Math.min(done, total))
        })
    }))
  )
