/**
 * Secrets of a start whose output is no terminal: what is printed there stays in journals and in logs of containers. The
 * first key goes to a file that only its owner can read; a link to the console is made when it is asked for.
 */
import { join } from "node:path"
import { Effect } from "effect"
import type { BootReport } from "@muniment/server/App"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"

export interface ShownStart extends BootReport {
  /** Holds the first key, where that is not shown. */
  readonly operatorKeyFile?: string | undefined
  /** The console takes sign-ins, and no link is shown. */
  readonly isLinkAsked?: boolean
}

/** In the data directory. */
export const firstKeyName = "first-key"

export const withoutSecrets = (report: BootReport): Effect.Effect<ShownStart> => {
  const { consoleUrl, dataDirectory, operatorKey, warnings } = report
  const shown = { ...report, operatorKey: undefined, consoleUrl: undefined, isLinkAsked: consoleUrl !== undefined }
  if (operatorKey === undefined) return Effect.succeed(shown)
  const path = join(dataDirectory, firstKeyName)
  return Effect.try(() => replacePrivateFile(path, `${operatorKey}\n`)).pipe(
    Effect.as({ ...shown, operatorKeyFile: path }),
    Effect.catch(({ cause }) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return Effect.succeed({ ...shown, warnings: [...warnings, `the first key could not be kept: ${reason}`] })
    })
  )
}
