/**
 * Limits of what accounts may hold (contract: Quotas): the defaults of their tier, what the operator set for the tier,
 * and what the operator set for the account, in this order. All of the operator's settings are in memory.
 *
 * Invariant: a limit counts from the commit on.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import { type QuotaLimits, type QuotaName, type QuotaTier, quotaDefaults } from "@muniment/domain/Plans"
import { parseWalletAddress } from "@muniment/trust/WalletAddress"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

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
