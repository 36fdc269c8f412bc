/**
 * Records an operator's change in the audit log, once it has succeeded: the name of the operation and those fields of
 * the request that say what was changed, of a deletion whom it concerned and how many memories. A dry run changes
 * nothing. Never records, memories, schemas or secrets.
 *
 * Invariant: a change runs to its end and is recorded, also when its client leaves; what may be cut is recorded too.
 */
import { Effect, Exit } from "effect"
import { HttpMethod, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { AuditLog } from "@muniment/control/audit/AuditLog"
import type { Identity } from "@muniment/domain/Identity"
import type { AuditDetail } from "@muniment/domain/Operations"
import { pathOf } from "../paths.ts"

/** Fields of bodies that are kept; a request names its subject by the first of them. */
const subjectFields = ["account", "name", "address", "tier", "publicKey"] as const
const detailFields = [
  ...subjectFields,
  "plan",
  "label",
  "readOnly",
  "agents",
  "subjects",
  "expiresIn",
  "remember",
  "credits",
  "reason",
  "key",
  "dryRun",
  "acceptClock",
  "payment",
  "webhook",
  "role"
] as const

/** Filters of a deletion that say whom it concerned. */
const filterFields = ["agentId", "subjectId", "threadId", "kind"] as const

type Fields = Readonly<Record<string, unknown>>

interface Audited {
  readonly log: AuditLog["Service"]
  readonly action: string
  /** Whether the operation knows `dryRun`; elsewhere the name is ignored and hides nothing. */
  readonly hasDryRun: boolean
  /** Name of who acts. */
  readonly operator: string
  /** Name of the account that they act for. */
  readonly account?: string
}

/** `handler`, and after it the event. A failure of the log is reported and fails nothing: the change is made. */
export const auditedAction = <E, R>(
  audited: Audited,
  request: HttpServerRequest.HttpServerRequest,
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
  request.method === "GET" || request.method === "HEAD"
    ? handler
    : Effect.uninterruptible(
        Effect.onExit(handler, (exit) => {
          // Only a part that allows it is cut, and it may have changed something by then.
          const isChange = Exit.isSuccess(exit) ? exit.value.status < 300 : Exit.hasInterrupts(exit)
          return isChange ? recorded(audited, request, Exit.isSuccess(exit) ? answerOf(exit.value) : {}) : Effect.void
        })
      )

const recorded = (
  { account, action, hasDryRun, log, operator }: Audited,
  request: HttpServerRequest.HttpServerRequest,
  answer: Fields
): Effect.Effect<void> =>
  Effect.flatMap(bodyOf(request), (body: Fields) => {
    if (hasDryRun && body["dryRun"] === true) return Effect.void
    const detail: AuditDetail = {
      ...detailOf(body, detailFields),
      ...deletion(body, answer),
      ...madeKey(answer),
      ...changedOperator(answer),
      path: pathOf(request.url)
    }
    const subject = account ?? subjectFields.map((field) => detail[field]).find((value) => typeof value === "string")
    return log.record({ action, operator, subject: typeof subject === "string" ? subject : undefined, detail })
  }).pipe(
    Effect.catchCause((cause) => Effect.logError("an operator's action is not in the audit log", { action, cause }))
  )

/**
 * Records what an account changed itself; what an operator changed in its place is recorded as theirs already. A failure
 * of the log fails nothing.
 */
export const recordOwnChange = (
  log: AuditLog["Service"],
  action: string,
  { account, isOperator, keyId, walletAddress }: Identity,
  detail: AuditDetail
): Effect.Effect<void> =>
  isOperator === true
    ? Effect.void
    : log
        .record({ action, subject: account.name, detail: { ...detail, by: keyId ?? walletAddress ?? "" } })
        .pipe(Effect.catch(() => Effect.logError("an account's change is not in the audit log", { action, ...detail })))

const bodyOf = (request: HttpServerRequest.HttpServerRequest) =>
  HttpMethod.hasBody(request.method)
    ? Effect.map(request.arrayBuffer, (bytes) => objectIn(new TextDecoder().decode(bytes)))
    : Effect.succeed({})

/** Entry of a deletion of memories: whom it concerned, and how many memories it met. */
const deletion = ({ filters }: Fields, { deleted }: Fields): AuditDetail => ({
  ...(typeof filters === "object" && filters !== null && detailOf({ ...filters }, filterFields)),
  ...(typeof deleted === "number" && { memories: deleted })
})

/** A key is known by its id, which only the answer has. */
const madeKey = ({ key }: Fields): AuditDetail =>
  typeof key === "object" && key !== null && "id" in key && typeof key.id === "string" ? { keyId: key.id } : {}

/** Name and role of an operator who was added or revoked: a request to revoke has the name in its path alone. */
const changedOperator = ({ operator }: Fields): AuditDetail =>
  typeof operator === "object" && operator !== null ? detailOf({ ...operator }, ["name", "role"]) : {}

const answerOf = ({ body }: HttpServerResponse.HttpServerResponse): Fields =>
  body._tag === "Uint8Array" ? objectIn(new TextDecoder().decode(body.body)) : {}

const objectIn = (text: string): Fields => {
  const json: unknown = text === "" ? {} : JSON.parse(text)
  return typeof json === "object" && json !== null ? { ...json } : {}
}

const detailOf = (body: Fields, fields: ReadonlyArray<string>): AuditDetail =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = body[field]
      return isDetail(value) ? [[field, value]] : []
    })
  )

const isDetail = (value: unknown): value is AuditDetail[string] =>
  typeof value === "string" ||
  typeof value === "number" ||
  typeof value === "boolean" ||
  (Array.isArray(value) && value.every((item) => typeof item === "string"))
