/**
 * Registered schemas of accounts (contract: Schemas). The caller has checked that the text is a valid JSON Schema and that
 * the name is not built in.
 *
 * Invariants: a name is unique within an account; `uniqueOn` is absent or not empty; an account never holds more than its
 * quotas, however many requests come at once.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Conflict, InvalidRequest, type NotFound, type PayloadTooLarge, schemaNotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MemorySchema, PatchSchema, RegisterSchema } from "@muniment/domain/MemorySchema"
import { requireQuota } from "@muniment/domain/Plans"
import { traced } from "@muniment/domain/traced"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { makeKnownRows } from "../database/KnownRows.ts"
import { limitsOf, Quotas } from "./Accounts.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

interface SchemaTotals {
  readonly schemas: number
  /** UTF-8 bytes of names, descriptions and texts. */
  readonly bytes: number
}

export class SchemaRegistry extends Context.Service<
  SchemaRegistry,
  {
    /** Fails if the name is taken (409) or the account has `Limits.schemasPerAccountMax` already (400). */
    readonly register: (
      accountId: string,
      schema: RegisterSchema
    ) => Effect.Effect<MemorySchema, Conflict | InvalidRequest | PayloadTooLarge | ControlFailure>
    /** Schemas by name, in the order of code units. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<MemorySchema>>
    readonly find: (accountId: string, name: string) => Effect.Effect<MemorySchema | undefined>
    /** As `find`, but 404 if missing. */
    readonly get: (accountId: string, name: string) => Effect.Effect<MemorySchema, NotFound>
    /** Undefined fields stay; `uniqueOn` null or `[]` clears it. */
    readonly update: (
      accountId: string,
      name: string,
      patch: PatchSchema
    ) => Effect.Effect<MemorySchema, NotFound | PayloadTooLarge | ControlFailure>
    readonly remove: (accountId: string, name: string) => Effect.Effect<void, NotFound | ControlFailure>
    /**
     * Schemas of an account that has changed none of them since `sinceMillis`, and used no key; 0 of every other. With
     * `isRemoval` they are removed.
     */
    readonly idle: (accountId: string, sinceMillis: number, isRemoval: boolean) => Effect.Effect<number, ControlFailure>
    readonly totals: (accountId: string) => Effect.Effect<SchemaTotals>
  }
>()("muniment/control/SchemaRegistry") {
  static readonly layer = Layer.effect(
    SchemaRegistry,
    Effect.gen(function* () {
      const control = yield* ControlDatabase
      const known = yield* makeKnownRows<SchemaTotals>(
        [{ table: "memory_schema", countsRows: true }],
        Limits.accountsKnownMax
      )
      const { noteErasure, read, sql, write } = control
      const quotas = yield* Quotas
      const totalsOf = (accountId: string) => schemaTotals(sql, accountId)
      const find = (accountId: string, name: string) =>
        Effect.map(
          sql<SchemaRow>`SELECT * FROM memory_schema WHERE account = ${accountId} AND name = ${name}`,
          ([row]) => (row === undefined ? undefined : schemaOf(row))
        )
      const demand = (accountId: string, name: string) =>
        Effect.flatMap(find(accountId, name), (schema) =>
          schema === undefined ? Effect.fail(schemaNotFound(name)) : Effect.succeed(schema)
        )

      const insert = Effect.fnUntraced(
        function* (accountId: string, wanted: RegisterSchema) {
          if ((yield* find(accountId, wanted.name)) !== undefined) return yield* schemaExists(wanted.name)
          const { bytes, schemas } = yield* totalsOf(accountId)
          if (schemas >= Limits.schemasPerAccountMax) return yield* tooManySchemas()
          const limits = yield* limitsOf(sql, quotas, accountId)
          yield* requireQuota("schemas", limits, schemas, 1)
          yield* requireQuota("schemaBytes", limits, bytes, bytesOf(wanted))
          const now = yield* Clock.currentTimeMillis
          const { description, name, schema } = wanted
          yield* sql`INSERT INTO memory_schema (account, name, description, unique_on, schema, created_at, updated_at)
          VALUES (${accountId}, ${name}, ${description}, ${uniqueOnText(wanted.uniqueOn)}, ${schema}, ${now}, ${now})`
          return yield* demand(accountId, name)
        },
        Effect.catchTag("NotFound", Effect.die)
      )

      const change = Effect.fnUntraced(function* (accountId: string, name: string, patch: PatchSchema) {
        const old = yield* demand(accountId, name)
        const uniqueOn = patch.uniqueOn === undefined ? old.uniqueOn : patch.uniqueOn
        const next = { name, description: patch.description ?? old.description, schema: patch.schema ?? old.schema }
        const { bytes } = yield* totalsOf(accountId)
        yield* requireQuota("schemaBytes", yield* limitsOf(sql, quotas, accountId), bytes, bytesOf(next) - bytesOf(old))
        yield* sql`UPDATE memory_schema SET description = ${next.description}, schema = ${next.schema}, unique_on = ${uniqueOnText(uniqueOn)},
          updated_at = ${yield* Clock.currentTimeMillis} WHERE account = ${accountId} AND name = ${name}`
        return yield* demand(accountId, name)
      })

      return SchemaRegistry.of({
        register: (accountId, schema) => write(insert(accountId, schema)),
        list: (accountId) =>
          read(
            Effect.map(sql<SchemaRow>`SELECT * FROM memory_schema WHERE account = ${accountId} ORDER BY name`, (rows) =>
              rows.map(schemaOf)
            )
          ),
        find: (accountId, name) => read(find(accountId, name)),
        get: (accountId, name) => read(demand(accountId, name)),
        update: (accountId, name, patch) => write(Effect.tap(change(accountId, name, patch), noteErasure)),
        remove: (accountId, name) =>
          write(
            Effect.andThen(
              demand(accountId, name),
              sql`DELETE FROM memory_schema WHERE account = ${accountId} AND name = ${name}`
            ).pipe(Effect.andThen(noteErasure))
          ),
        idle: (accountId, sinceMillis, isRemoval) => write(idleSchemas(control, accountId, sinceMillis, isRemoval)),
        totals: (accountId) => Effect.map(known.get(accountId, totalsOf(accountId)), (totals) => totals!)
      })
    })
  )
}

const schemaTotals = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(
    sql<SchemaTotals>`SELECT count(*) AS schemas, coalesce(sum(octet_length(name) + octet_length(description)
      + octet_length(schema)), 0) AS bytes FROM memory_schema WHERE account = ${accountId}`,
    ([totals]) => totals!
  )

/** Whether the account has changed a schema, or used a key, since then. */
const isActive = (sql: SqlClient.SqlClient, accountId: string, sinceMillis: number) =>
  Effect.map(
    sql`SELECT 1 WHERE
      EXISTS (SELECT 1 FROM memory_schema WHERE account = ${accountId} AND updated_at >= ${sinceMillis}) OR
      EXISTS (SELECT 1 FROM api_key WHERE account = ${accountId} AND last_used_at >= ${sinceMillis})`,
    (rows) => rows.length > 0
  )

const idleSchemas = traced("SchemaRegistry.idle")(function* (
  { noteErasure, sql }: ControlDatabase["Service"],
  accountId: string,
  sinceMillis: number,
  isRemoval: boolean
) {
  if (yield* isActive(sql, accountId, sinceMillis)) return 0
  const { schemas } = yield* schemaTotals(sql, accountId)
  if (isRemoval && schemas > 0)
    yield* Effect.andThen(sql`DELETE FROM memory_schema WHERE account = ${accountId}`, noteErasure)
  return schemas
})

const bytesOf = ({ description, name, schema }: Pick<MemorySchema, "description" | "name" | "schema">): number =>
  Buffer.byteLength(name) + Buffer.byteLength(description) + Buffer.byteLength(schema)

const schemaExists = (name: string) =>
  new Conflict({ code: "schema_exists", error: `a schema named "${name}" is already registered` })

const tooManySchemas = () =>
  new InvalidRequest({
    code: "limit_exceeded",
    error: `an account can have at most ${Limits.schemasPerAccountMax} schemas; delete one first`
  })

interface SchemaRow {
  readonly name: string
  readonly description: string
  readonly unique_on: string | null
  readonly schema: string
  readonly created_at: number
  readonly updated_at: number
}

const schemaOf = (row: SchemaRow): MemorySchema => ({
  name: row.name,
  description: row.description,
  ...(row.unique_on === null ? {} : { uniqueOn: JSON.parse(row.unique_on) as ReadonlyArray<string> }),
  schema: row.schema,
  createdAt: row.created_at,
  updatedAt: row.updated_at
})

const uniqueOnText = (fields: ReadonlyArray<string> | null | undefined): string | null =>
  fields === undefined || fields === null || fields.length === 0 ? null : JSON.stringify(fields)
