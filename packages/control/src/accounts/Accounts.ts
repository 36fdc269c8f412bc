/**
 * Accounts (contract: Identity, Plans and the daily job): owners of memories, schemas and keys. The operator refers to an
 * account by its unique name, everything else by its id.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient, SqlError } from "effect/sql"
import type { Account, Plan } from "@muniment/domain/Account"
import { Conflict, NotFound } from "@muniment/domain/Errors"
import type { Remember } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import { quotaDefaults, type QuotaLimits, type QuotaName, type QuotaTier } from "@muniment/domain/Plans"
import { parseWalletAddress } from "@muniment/trust/WalletAddress"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { makeKnownRows } from "../database/KnownRows.ts"
import { requireNoErasure } from "./AccountErasures.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

interface AccountOptions {
  /** Default: `free`. */
  readonly plan?: Plan | undefined
  /** Default: `acc_` and a ULID. */
  readonly id?: string | undefined
}

export class Accounts extends Context.Service<
  Accounts,
  {
    /** Fails if the name or the id is taken. */
    readonly create: (name: string, options?: AccountOptions) => Effect.Effect<Account, Conflict | ControlFailure>
    /** The account of that name, created on `plan` if there is none; an existing one keeps its plan. */
    readonly ensure: (name: string, plan: Plan) => Effect.Effect<Account, ControlFailure>
    /** Takes effect on the next request; fails if there is no such account. */
    readonly setPlan: (id: string, plan: Plan) => Effect.Effect<Account, NotFound | ControlFailure>
    /** Whether the account's conversations leave messages behind; undefined: as the installation says. */
    readonly setRemember: (
      id: string,
      remember: Remember | undefined
    ) => Effect.Effect<Account, NotFound | ControlFailure>
    /** Instructions for a model that reads the account's conversations; undefined: those of the installation alone. */
    readonly setInstructions: (
      id: string,
      instructions: string | undefined
    ) => Effect.Effect<Account, NotFound | ControlFailure>
    /** Its keys and wallets are refused from the next request on; suspending twice keeps the first time. */
    readonly suspend: (id: string) => Effect.Effect<Account, NotFound | ControlFailure>
    /** Fails once its erasure has begun, which the next start would finish. */
    readonly resume: (id: string) => Effect.Effect<Account, NotFound | Conflict | ControlFailure>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
    readonly byId: (id: string) => Effect.Effect<Account | undefined>
    readonly byName: (name: string) => Effect.Effect<Account | undefined>
    /** Reads one row, however many accounts there are: a defect if `control.db` does not answer. */
    readonly probe: Effect.Effect<void>
  }
>()("muniment/control/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const random = yield* SecureRandom.SecureRandom
      const known = yield* makeKnownRows<Account>([{ table: "account" }], Limits.accountsKnownMax)

      const insert = Effect.fnUntraced(function* (name: string, { id, plan = "free" }: AccountOptions) {
        const account: Account = {
          id: id ?? `acc_${yield* random.ulid}`,
          name,
          plan,
          createdAt: yield* Clock.currentTimeMillis
        }
        yield* sql`INSERT INTO account ${sql.insert(rowOf(account))}`
        return account
      })
      const where = (column: "id" | "name", value: string) =>
        Effect.map(sql<AccountRow>`SELECT * FROM account WHERE ${sql(column)} = ${value}`, ([row]) =>
          row === undefined ? undefined : accountOf(row)
        )

      const updated = Effect.fnUntraced(function* (id: string, fields: Partial<AccountRow>) {
        yield* sql`UPDATE account SET ${sql.update(fields)} WHERE id = ${id}`
        return (yield* where("id", id)) ?? (yield* accountNotFound())
      })
      const change = (id: string, fields: Partial<AccountRow>) => write(updated(id, fields))

      return Accounts.of({
        create: Effect.fn("Accounts.create")(function* (name, options = {}) {
          return yield* write(
            Effect.gen(function* () {
              const taken =
                (yield* where("name", name)) ?? (options.id === undefined ? undefined : yield* where("id", options.id))
              if (taken !== undefined) return yield* accountExists()
              return yield* insert(name, options)
            })
          )
        }),
        ensure: Effect.fn("Accounts.ensure")(function* (name, plan) {
          const existing = yield* read(where("name", name))
          if (existing !== undefined) return existing
          // Read again inside the transaction: another fiber may have created it in the meantime.
          return yield* write(
            Effect.flatMap(where("name", name), (account) =>
              account === undefined ? insert(name, { plan }) : Effect.succeed(account)
            )
          )
        }),
        setPlan: (id, plan) => change(id, { plan }),
        setRemember: (id, remember) => change(id, { remember: remember ?? null }),
        setInstructions: (id, instructions) => change(id, { instructions: instructions ?? null }),
        suspend: Effect.fn("Accounts.suspend")(function* (id) {
          const now = yield* Clock.currentTimeMillis
          const known = yield* read(where("id", id))
          return yield* change(id, { suspended_at: known?.suspendedAt ?? now })
        }),
        resume: (id) => write(Effect.andThen(requireNoErasure(sql, id), updated(id, { suspended_at: null }))),
        list: read(
          Effect.map(sql<AccountRow>`SELECT * FROM account ORDER BY created_at, rowid`, (rows) => rows.map(accountOf))
        ),
        byId: (id) => known.get(id, where("id", id)),
        byName: (name) => read(where("name", name)),
        probe: Effect.asVoid(read(sql`SELECT id FROM account LIMIT 1`))
      })
    })
  )
}

export const accountNotFound = () => new NotFound({ code: "account_not_found", error: "no such account" })

const accountExists = () =>
  new Conflict({ code: "account_exists", error: "an account of that name or id exists already" })

/** A row of `account`, also as selected by joins. */
export interface AccountRow {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly created_at: number
  readonly remember: Remember | null
  readonly instructions: string | null
  readonly suspended_at: number | null
}

export const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  createdAt: row.created_at,
  ...(row.remember !== null && { remember: row.remember }),
  ...(row.instructions !== null && { instructions: row.instructions }),
  ...(row.suspended_at !== null && { suspendedAt: row.suspended_at })
})

const rowOf = (account: Account) => ({
  id: account.id,
  name: account.name,
  plan: account.plan,
  created_at: account.createdAt
})

/**
 * Limits of what accounts may hold (contract: Quotas): the defaults of their tier, what the operator set for the tier,
 * and what the operator set for the account, in this order. All of the operator's settings are in memory.
 *
 * Invariant: a limit counts from the commit on.
 */

/** `null`: no limit; `"default"`: as if nothing were set here. */
type QuotaChanges = Readonly<Partial<Record<QuotaName, number | null | "default">>>

type QuotaSubject = { readonly tier: QuotaTier } | { readonly account: string }

export class Quotas extends Context.Service<
  Quotas,
  {
    readonly of: (account: Pick<Account, "id" | "plan">) => QuotaLimits
    readonly ofTier: (tier: QuotaTier) => QuotaLimits
    readonly change: (subject: QuotaSubject, changes: QuotaChanges) => Effect.Effect<void, ControlFailure>
    /** Forgets an account that is erased. */
    readonly forget: (accountId: string) => void
  }
>()("muniment/control/Quotas") {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const ofTiers = new Settings(yield* read(sql<Row>`SELECT tier AS subject, name, value FROM tier_quota`))
      const ofAccounts = new Settings(yield* read(sql<Row>`SELECT account AS subject, name, value FROM account_quota`))
      const ofTier = (tier: QuotaTier) => ofTiers.over(tier, quotaDefaults[tier])

      return Quotas.of({
        of: (account) => ofAccounts.over(account.id, ofTier(quotaTierOf(account))),
        ofTier,
        change: Effect.fn("Quotas.change")(function* (subject, changes) {
          const [table, column, name, settings] =
            "tier" in subject
              ? (["tier_quota", "tier", subject.tier, ofTiers] as const)
              : (["account_quota", "account", subject.account, ofAccounts] as const)
          const rows = Object.entries(changes) as ReadonlyArray<[QuotaName, number | null | "default"]>
          const stored = Effect.forEach(
            rows,
            ([quota, value]) =>
              value === "default"
                ? sql`DELETE FROM ${sql(table)} WHERE ${sql(column)} = ${name} AND name = ${quota}`
                : sql`INSERT INTO ${sql(table)} ${sql.insert({ [column]: name, name: quota, value })}
                    ON CONFLICT DO UPDATE SET value = excluded.value`,
            { discard: true }
          )
          yield* Effect.uninterruptible(
            Effect.map(write(stored), () => {
              for (const [quota, value] of rows) settings.set(name, quota, value)
            })
          )
        }),
        forget: (accountId) => ofAccounts.forget(accountId)
      })
    })
  )
}

/** Accounts that wallets opened have the wallet's address as id. */
export const quotaTierOf = ({ id, plan }: Pick<Account, "id" | "plan">): QuotaTier =>
  plan === "free" && parseWalletAddress(id) !== undefined ? "wallet" : plan

/** Inside a transaction. An account that is not there has no limits: what refers to it is refused anyway. */
export const limitsOf = (
  sql: SqlClient.SqlClient,
  quotas: Quotas["Service"],
  accountId: string
): Effect.Effect<QuotaLimits, SqlError.SqlError> =>
  Effect.map(sql<Pick<Account, "id" | "plan">>`SELECT id, plan FROM account WHERE id = ${accountId}`, ([account]) =>
    account === undefined ? {} : quotas.of(account)
  )

interface Row {
  readonly subject: string
  readonly name: QuotaName
  readonly value: number | null
}

/** Limits that the operator set, by tier or by account. */
class Settings {
  readonly #bySubject = new Map<string, Map<QuotaName, number | null>>()

  constructor(rows: ReadonlyArray<Row>) {
    for (const { name, subject, value } of rows) this.set(subject, name, value)
  }

  set(subject: string, name: QuotaName, value: number | null | "default"): void {
    const known = this.#bySubject.get(subject) ?? new Map<QuotaName, number | null>()
    if (value === "default") known.delete(name)
    else known.set(name, value)
    if (known.size === 0) this.#bySubject.delete(subject)
    else this.#bySubject.set(subject, known)
  }

  /** The limits with what is set for the subject. */
  over(subject: string, limits: QuotaLimits): QuotaLimits {
    const known = this.#bySubject.get(subject)
    if (known === undefined) return limits
    const all = { ...limits, ...Object.fromEntries(known) }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
  }

  forget(subject: string): void {
    this.#bySubject.delete(subject)
  }
}
