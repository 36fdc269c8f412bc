/**
 * Operator routes for work on all data: backups and the consolidation of memories. `muniment backup` reads copies of the
 * data directory that the service makes, because the service alone may open its files.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, InsufficientStorage, InvalidRequest, NotFound, PayloadTooLarge, Unavailable } from "../Errors.ts"
import { AccountName } from "./AdminApi.ts"
import { BodyLimit, operation, operatorGroup } from "./Middleware.ts"

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

const BackupCopy = Schema.Struct({
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

/** A complete backup in the place that the service has for them. Times in milliseconds. */
export const BackupListed = Schema.Struct({
  id: Schema.String,
  startedAt: Schema.Int,
  finishedAt: Schema.Int,
  release: Schema.String,
  files: Schema.Int,
  bytes: Schema.Int,
  stale: Schema.Array(Schema.String).annotate({ description: "Damaged files, of which it has an older copy." })
})

/** Backups that the service makes by itself. Times in milliseconds. */
export const BackupState = Schema.Struct({
  to: Schema.NullOr(Schema.String).annotate({ description: "`MUNIMENT_BACKUP_TO`; null: it makes none by itself." }),
  isSealed: Schema.Boolean,
  everyHours: Schema.NullOr(Schema.Int).annotate({ description: "Null: only when asked." }),
  keep: Schema.Int,
  lastAt: Schema.NullOr(Schema.Int).annotate({
    description: "Start of the last complete backup, whoever made it; null: none is known."
  }),
  nextAt: Schema.NullOr(Schema.Int),
  running: Schema.NullOr(Schema.Struct({ step: Schema.Literals(["backup", "verify"]), startedAt: Schema.Int })),
  lastRun: Schema.NullOr(
    Schema.Struct({
      startedAt: Schema.Int,
      finishedAt: Schema.Int,
      id: Schema.NullOr(Schema.String).annotate({ description: "Null: none was made." }),
      copiedFiles: Schema.Int,
      copiedBytes: Schema.Int,
      problem: Schema.NullOr(Schema.String)
    })
  ).annotate({ description: "Since the start of the service." }),
  lastVerify: Schema.NullOr(
    Schema.Struct({
      at: Schema.Int,
      id: Schema.NullOr(Schema.String),
      files: Schema.Int,
      faults: Schema.Array(Schema.Struct({ file: Schema.String, reason: Schema.String })),
      problem: Schema.NullOr(Schema.String)
    })
  ).annotate({ description: "Since the start of the service." }),
  backups: Schema.Array(BackupListed).annotate({ description: "Newest first; empty until they were looked for." })
})
export type BackupState = typeof BackupState.Type

const OwnState = Schema.Struct({ success, ...BackupState.fields })

export class BackupAdminApi extends operatorGroup(
  HttpApiGroup.make("backups").add(
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
    ),
    HttpApiEndpoint.get("state", "/backups", { success: OwnState }).annotateMerge(
      operation("Backups that the service makes by itself", {
        description: "The last and the next one, what runs, and what lies where they go."
      })
    ),
    HttpApiEndpoint.post("run", "/backups/runs", { success: OwnState, error: Conflict }).annotateMerge(
      operation("Make a backup now", {
        description:
          "Answers once it has begun, or something runs already. 409 `backup_not_configured` without a place."
      })
    ),
    HttpApiEndpoint.post("verify", "/backups/verifications", { success: OwnState, error: Conflict }).annotateMerge(
      operation("Prove that the newest backup can be restored", {
        description: "Restores it beside the service, proves memories and ledger, and removes it. As `runs` besides."
      })
    )
  )
).middleware(BodyLimit) {}

const changeFields = {
  account: Schema.String,
  agentId: Schema.String,
  action: Schema.Literals(["merge", "replace", "end"]).annotate({
    description:
      "`merge`: memories that say the same got one text; `replace`: the last one is put in the place of older ones that hold no longer; `end`: a plan or event whose day is over is said in the past tense."
  }),
  memories: Schema.Array(Schema.String).annotate({ description: "Ids of what was superseded, oldest first." })
}

/** Changes that were made, by ids; `at` in milliseconds. */
export const Consolidation = Schema.Struct({
  id: Schema.String.annotate({ examples: ["con_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }),
  at: Schema.Int,
  ...changeFields,
  into: Schema.String.annotate({ description: "Id of the memory that supersedes them." }),
  undoneAt: Schema.NullOr(Schema.Int)
})
export type Consolidation = typeof Consolidation.Type

/** Changes that would be made; with the text, which is stored nowhere. */
export const ProposedConsolidation = Schema.Struct({ ...changeFields, text: Schema.String })
export type ProposedConsolidation = typeof ProposedConsolidation.Type

/** How far a run came. */
export const ConsolidationRun = Schema.Struct({
  agents: Schema.Int.annotate({ description: "Agents with new memories that lie beside others." }),
  left: Schema.Int.annotate({
    description: "Agents that this run had no time for; the service or another run goes on."
  }),
  done: Schema.Array(Consolidation),
  proposed: Schema.Array(ProposedConsolidation).annotate({ description: "Of a dry run." }),
  problems: Schema.Array(
    Schema.Struct({ account: Schema.String, agentId: Schema.String, reason: Schema.String })
  ).annotate({ description: "Agents that will be looked at again, and why." })
})
export type ConsolidationRun = typeof ConsolidationRun.Type

/**
 * Operator routes of the consolidation of memories (contract: Consolidation): what it did, doing it now, undoing it. Same
 * credentials as the other operator routes.
 */
export class ConsolidationAdminApi extends operatorGroup(
  HttpApiGroup.make("consolidations").add(
    HttpApiEndpoint.get("list", "/consolidations", {
      query: {
        account: Schema.optionalKey(AccountName),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
      },
      success: Schema.Struct({ success, consolidations: Schema.Array(Consolidation) }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("What consolidation did", {
        description: "Newest first: which memories became which; never what they say. Kept for 90 days."
      })
    ),
    HttpApiEndpoint.post("run", "/consolidations", {
      payload: Schema.Struct({
        account: Schema.optionalKey(AccountName),
        dryRun: Schema.optionalKey(Schema.Boolean)
      }).annotate({ examples: [{ account: "research", dryRun: true }] }),
      success: Schema.Struct({ success, ...ConsolidationRun.fields }),
      error: [NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Consolidate now", {
        description:
          "Agents with memories that were extracted since their last consolidation, within the budget of the day. A dry run asks the language model too, shows what it would change, and changes nothing. 409 `consolidation_off` unless the service is configured for it."
      })
    ),
    HttpApiEndpoint.post("undo", "/consolidations/:id/undo", {
      params: { id: Schema.String.annotate({ examples: ["con_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }) },
      success: Schema.Struct({ success, consolidation: Consolidation }),
      error: [NotFound, Conflict, PayloadTooLarge, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Undo a consolidation", {
        description:
          "The superseded memories stand as before, and the one that superseded them is removed. Repeating changes nothing. 409 `consolidation_superseded` where a later memory has taken its place."
      })
    )
  )
).middleware(BodyLimit) {}
