/**
 * Log of operators' changes (contract: Operator routes): one event for each change that succeeded, with the fields that
 * say what was changed. Append-only: the table refuses changes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { AuditDetail, AuditEvent } from "@muniment/domain/Operations"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

interface AuditFilter {
  /** Only events with a smaller id. */
  readonly before?: number | undefined
  /** An action, or the group before its dot. */
  readonly action?: string | undefined
  /** What the action was about, or a text of its details or a part of a path there, as the id of a memory. */
  readonly subject?: string | undefined
  /** Name of who did it. */
  readonly operator?: string | undefined
  /** Milliseconds, `until` excluded. */
  readonly from?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
}

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** `subject`: the account, key, wallet or operator that the action was about; `operator`: who did it, if one did. */
    readonly record: (event: {
      readonly action: string
      readonly operator?: string | undefined
      readonly subject: string | undefined
      readonly detail: AuditDetail
    }) => Effect.Effect<void, ControlFailure>
    /** Newest first. */
    readonly list: (page: AuditFilter) => Effect.Effect<ReadonlyArray<AuditEvent>>
  }
>()("muniment/control/AuditLog") {
  static readonly layer = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const isNamed = (name: string) =>
        sql`EXISTS (SELECT 1 FROM json_tree(detail) WHERE type = 'text' AND instr('/' || atom || '/', ${`/${name}/`}) > 0)`
      return AuditLog.of({
        record: Effect.fn("AuditLog.record")(function* ({ action, detail, operator = null, subject = null }) {
          const at = yield* Clock.currentTimeMillis
          yield* write(
            sql`INSERT INTO audit_event ${sql.insert({ at, action, operator, subject, detail: JSON.stringify(detail) })}`
          )
        }),
        list: ({ action, before, from, limit, operator, subject, until }) =>
          read(
            Effect.map(
              sql<EventRow>`SELECT id, at, action, operator, subject, detail FROM audit_event
                WHERE id < ${before ?? Number.MAX_SAFE_INTEGER}
                AND ${action === undefined ? sql`TRUE` : sql`(action = ${action} OR substr(action, 1, length(${action}) + 1) = ${`${action}.`})`}
                AND ${subject === undefined ? sql`TRUE` : sql`(subject = ${subject} OR ${isNamed(subject)})`}
                AND ${operator === undefined ? sql`TRUE` : sql`operator = ${operator}`}
                AND ${from === undefined ? sql`TRUE` : sql`at >= ${from}`}
                AND ${until === undefined ? sql`TRUE` : sql`at < ${until}`}
                ORDER BY id DESC LIMIT ${limit}`,
              (rows) => rows.map(({ detail, ...row }) => ({ ...row, detail: JSON.parse(detail) as AuditDetail }))
            )
          )
      })
    })
  )
}

interface EventRow extends Omit<AuditEvent, "detail"> {
  readonly detail: string
}
