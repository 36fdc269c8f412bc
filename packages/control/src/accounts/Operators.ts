/**
 * Operators beside the first, who holds the data directory's token (contract: Operator routes). Only the SHA-256 of a
 * secret is stored, and it is shown once.
 *
 * Invariants: what is known of an operator is what `control.db` has, so a revocation takes effect on the next call; a
 * name means one operator for good, because the audit log knows them by it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import { Conflict, Forbidden, InvalidRequest, NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { isAdded, type Operator, type OperatorRecord, type OperatorRole } from "@muniment/domain/Operator"
import { apiKeyBytes, displayPrefix, hashApiKey, makeApiKey } from "@muniment/trust/ApiKeys"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import { makeKnownRows } from "../database/KnownRows.ts"
import { makeLastUses } from "./LastUses.ts"

/** Has no meaning; tells an operator's secret from an API key. */
const secretPrefix = "munop_"

export class Operators extends Context.Service<
  Operators,
  {
    /** A new one, by an operator who works. The secret is not stored: it can be shown only now. */
    readonly add: (
      added: Operator,
      madeBy: string
    ) => Effect.Effect<
      { readonly record: OperatorRecord; readonly secret: string },
      InvalidRequest | Forbidden | Conflict | ControlFailure
    >
    /** Holder of the secret; undefined if it is unknown or revoked. */
    readonly authenticate: (secret: string) => Effect.Effect<Operator | undefined>
    /** Undefined: there is none, or they were revoked. */
    readonly working: (name: string) => Effect.Effect<Operator | undefined>
    /** Oldest first, revoked ones included. */
    readonly list: Effect.Effect<ReadonlyArray<OperatorRecord>>
    /** Gives one who works another role. */
    readonly change: (
      operator: Operator,
      by: string
    ) => Effect.Effect<OperatorRecord, Forbidden | NotFound | ControlFailure>
    /** Revoking twice keeps the first time. */
    readonly revoke: (name: string, by: string) => Effect.Effect<OperatorRecord, Forbidden | NotFound | ControlFailure>
  }
>()("muniment/control/Operators") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const { read, sql, write } = yield* ControlDatabase
  const random = yield* SecureRandom.SecureRandom
  const lastUses = yield* makeLastUses({ table: "operator", column: "name" })
  const known = yield* makeKnownRows<Operator>(
    [{ table: "operator", columns: ["name", "role", "hash", "revoked_at"] }],
    2 * Limits.operatorsMax
  )

  const used = (column: "hash" | "name", value: string) =>
    Effect.gen(function* () {
      const look = Effect.map(
        sql<Operator>`SELECT name, role FROM operator WHERE ${sql(column)} = ${value} AND revoked_at IS NULL`,
        ([row]) => row
      )
      const found = yield* known.get(`${column} ${value}`, look)
      if (found !== undefined) yield* lastUses.note(found.name, yield* Clock.currentTimeMillis)
      return found
    })
  const recordOf = (row: OperatorRow): OperatorRecord => {
    const lastUsedAt = lastUses.of(row.name) ?? row.last_used_at
    return {
      name: row.name,
      role: row.role,
      prefix: row.prefix,
      createdAt: row.created_at,
      madeBy: row.made_by,
      ...(lastUsedAt !== null && { lastUsedAt }),
      ...(row.revoked_at !== null && { revokedAt: row.revoked_at })
    }
  }

  return Operators.of({
    add: Effect.fn("Operators.add")(function* ({ name, role }, madeBy) {
      const secret = makeApiKey(secretPrefix, yield* random.randomBytes(apiKeyBytes))
      const created_at = yield* Clock.currentTimeMillis
      const prefix = displayPrefix(secret, secretPrefix)
      const row = { name, role, prefix, hash: hashApiKey(secret), made_by: madeBy, created_at }
      const allowed = Effect.andThen(requireAdmin(sql, madeBy), requireRoom(sql, name))
      yield* write(Effect.andThen(allowed, sql`INSERT INTO operator ${sql.insert(row)}`))
      return { record: recordOf({ ...row, last_used_at: null, revoked_at: null }), secret }
    }),
    authenticate: (secret) => used("hash", hashApiKey(secret)),
    working: (name) => used("name", name),
    list: read(
      Effect.map(sql<OperatorRow>`SELECT * FROM operator ORDER BY created_at, rowid`, (rows) => rows.map(recordOf))
    ),
    change: Effect.fn("Operators.change")(function* ({ name, role }, by) {
      const [row] = yield* write(
        Effect.andThen(
          requireAdmin(sql, by),
          sql<OperatorRow>`UPDATE operator SET role = ${role} WHERE name = ${name} AND revoked_at IS NULL RETURNING *`
        )
      )
      return row === undefined ? yield* operatorNotFound(name) : recordOf(row)
    }),
    revoke: Effect.fn("Operators.revoke")(function* (name, by) {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* write(
        Effect.andThen(
          requireAdmin(sql, by),
          sql<OperatorRow>`UPDATE operator SET revoked_at = coalesce(revoked_at, ${now}) WHERE name = ${name} RETURNING *`
        )
      )
      return row === undefined ? yield* operatorNotFound(name) : recordOf(row)
    })
  })
})

interface OperatorRow {
  readonly name: string
  readonly role: OperatorRole
  readonly prefix: string
  readonly hash: string
  readonly made_by: string
  readonly created_at: number
  readonly last_used_at: number | null
  readonly revoked_at: number | null
}

/** Inside the transaction that changes operators: who asks was let in before it began. */
const requireAdmin = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, by: string) {
  if (!isAdded(by)) return
  const admins = yield* sql`SELECT 1 FROM operator WHERE name = ${by} AND role = 'admin' AND revoked_at IS NULL`
  if (admins.length > 0) return
  return yield* new Forbidden({ code: "operator_only", error: "the operator who asks is no admin any more" })
})

/** Inside the transaction that adds one. */
const requireRoom = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, name: string) {
  const rows = yield* sql<Pick<OperatorRow, "name" | "revoked_at">>`SELECT name, revoked_at FROM operator`
  const working = rows.filter(({ revoked_at }) => revoked_at === null)
  if (!isAdded(name) || rows.some((row) => row.name === name)) {
    return yield* new Conflict({
      code: "operator_exists",
      error: `there is or was an operator "${name}"; a name is used once: choose another`
    })
  }
  if (working.length >= Limits.operatorsMax) {
    return yield* new InvalidRequest({
      code: "limit_exceeded",
      error: `there can be at most ${Limits.operatorsMax} operators; revoke one first`
    })
  }
})

const operatorNotFound = (name: string) =>
  new NotFound({ code: "operator_not_found", error: `there is no operator "${name}"` })
