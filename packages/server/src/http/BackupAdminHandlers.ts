/** Operator routes of backups (contract: Operator routes). */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { controlFile } from "@muniment/backup/BackupFormat"
import { type CopyFailed, FileCopies } from "@muniment/backup/copies/FileCopies"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { Conflict, InsufficientStorage, InvalidRequest, Unavailable } from "@muniment/domain/Errors"
import { Ledger } from "@muniment/control/credits/Ledger"
import { LastBackup } from "../operator/LastBackup.ts"
import { serviceVersion } from "../version.ts"

export const backupAdminHandlers = HttpApiBuilder.group(
  MunimentApi,
  "backups",
  Effect.fnUntraced(function* (handlers) {
    const copies = yield* FileCopies
    const ledger = yield* Ledger
    const last = yield* LastBackup
    const success = true as const
    const demandHere = Effect.mapError(copies.demandHere, madeElsewhere)

    return handlers.handleAll({
      listFiles: () =>
        copies.marks.pipe(
          Effect.map(({ files, ordinal = null }) => ({ success, release: serviceVersion, ordinal, files })),
          Effect.mapError(failureOf)
        ),
      copyFile: Effect.fnUntraced(function* ({ query: { file, id } }) {
        yield* demandHere
        if (!copies.isKnown(file)) {
          return yield* new InvalidRequest({
            code: "invalid_request",
            error: "file: a backup holds no such file; GET /admin/backups/files lists them"
          })
        }
        // Charges are written behind: those of calls answered before belong into the copy.
        if (file === controlFile) yield* ledger.flush
        return yield* copies.copy(id, file).pipe(
          Effect.map((state) => {
            if (state._tag === "Copying") return { success, state: "copying" as const }
            if (state._tag === "Absent") return { success, state: "absent" as const }
            return { success, state: "ready" as const, path: state.path, copied: state.copied }
          }),
          Effect.catch((failure) =>
            failure.reason === "corrupt"
              ? Effect.succeed({ success, state: "damaged" as const, reason: failure.message })
              : Effect.fail(failureOf(failure))
          )
        )
      }),
      noteBackup: ({ payload }) => Effect.as(Effect.andThen(demandHere, last.note(payload.id)), { success })
    })
  })
)

const failureOf = ({ message, reason }: CopyFailed): Conflict | InsufficientStorage | Unavailable => {
  if (reason === "elsewhere") return madeElsewhere({ message })
  return reason === "full"
    ? new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full; a copy needs room beside it" })
    : new Unavailable({ code: "overloaded", error: `the file cannot be copied now: ${message}` })
}

const madeElsewhere = ({ message }: Pick<CopyFailed, "message">) =>
  new Conflict({ code: "cluster_backup", error: message })
