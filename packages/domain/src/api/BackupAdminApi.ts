/**
 * Operator routes of backups: `muniment backup` reads copies of the data directory that the service makes, because the
 * service alone may open its files. Same credentials as the other operator routes.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, InsufficientStorage, InvalidRequest, Unavailable } from "../Errors.ts"
import { BodyLimit, OperatorAuthorization, Validation, WellFormedRequest } from "./Middleware.ts"
import { operation } from "./Operation.ts"

const success = Schema.Literal(true)

/** A time that there is, but for days that a month does not have, which count as the first ones of the next. */
const backupId = /^\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])[0-5]\d[0-5]\d\d{3}Z-[0-9a-f]{4}$/u
const BackupId = Schema.String.check(Schema.isPattern(backupId, { expected: "the id of a backup" })).annotate({
  description: "Time of its start and four random digits.",
  examples: ["20261122T220000123Z-5f3a"]
})

const filePath = /^(control\.db|attestation-keys\.json|operator-token|namespaces\/[0-9a-f]{12}\.db|log\/\d{1,15})$/u
const FilePath = Schema.String.check(
  Schema.isPattern(filePath, {
    expected: "a file that GET /admin/backups/files lists, or log/N: the records of the commit log behind ordinal N"
  })
).annotate({ examples: ["control.db"] })

export const BackupCopy = Schema.Struct({
  state: Schema.Literals(["copying", "ready", "absent", "damaged"]).annotate({
    description: "`copying`: ask again. `absent`: there is no such file (any more)."
  }),
  path: Schema.optionalKey(Schema.String.annotate({ description: "Where the copy lies, for a minute." })),
  copied: Schema.optionalKey(
    Schema.Struct({
      bytes: Schema.Int,
      mark: Schema.NullOr(Schema.String),
      epoch: Schema.optionalKey(Schema.Int),
      seq: Schema.optionalKey(Schema.Int),
      ordinal: Schema.optionalKey(Schema.Int),
      version: Schema.optionalKey(Schema.Int),
      tags: Schema.optionalKey(Schema.Array(Schema.String)),
      records: Schema.optionalKey(
        Schema.Struct({
          first: Schema.Int,
          last: Schema.Int,
          isCut: Schema.Boolean,
          erases: Schema.optionalKey(Schema.Boolean)
        }).annotate({
          description:
            "Ordinals of `log/N`, both inclusive; `isCut`: it ends before a record that was erased; `erases`: one of its records erases what earlier backups may have."
        })
      )
    })
  ),
  reason: Schema.optionalKey(Schema.String.annotate({ description: "Why the file is damaged." }))
})

export class BackupAdminApi extends HttpApiGroup.make("backups")
  .add(
    HttpApiEndpoint.get("listFiles", "/backups/files", {
      success: Schema.Struct({
        success,
        release: Schema.String,
        ordinal: Schema.NullOr(Schema.Int).annotate({
          description: "The files have everything of the commit log up to it; null: there is no log."
        }),
        files: Schema.Array(
          Schema.Struct({
            file: Schema.String,
            mark: Schema.NullOr(Schema.String).annotate({
              description: "Equal marks mean equal content; null: the file changed a moment ago."
            })
          })
        )
      }),
      error: [Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(operation("Files of the data directory that a backup holds", {})),
    HttpApiEndpoint.get("copyFile", "/backups/copies", {
      query: { id: BackupId, file: FilePath },
      success: Schema.Struct({ success, ...BackupCopy.fields }),
      error: [InvalidRequest, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Copy a file for a backup", {
        description:
          "Has everything that was acknowledged before. Answers within 20 s; the same request again goes on waiting. The copy is removed after a minute."
      })
    ),
    HttpApiEndpoint.post("noteBackup", "/backups", {
      payload: Schema.Struct({ id: BackupId }).annotate({ examples: [{ id: "20261122T220000123Z-5f3a" }] }),
      success: Schema.Struct({ success }),
      error: [Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Note that a backup is complete", { description: "`doctor` and the metrics tell its age." })
    )
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}
