/**
 * Accounts of wallets (contract: Wallet signatures). A wallet gets an account whose id is its address, when sign-up lets
 * it; an operator can link an address to an account before.
 *
 * Invariants: an address belongs to one account until the operator unlinks it; concurrent first calls create one
 * account. Callers pass normalised addresses whose ownership is proven.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account, Plan } from "@muniment/domain/Account"
import { Conflict, NotFound } from "@muniment/domain/Errors"
import { traced } from "@muniment/domain/traced"
import type { WalletAddress } from "@muniment/trust/WalletAddress"
import { accountNotFound, accountOf, type AccountRow } from "./Accounts.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { removeHooks } from "../webhooks/HookRows.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export class Wallets extends Context.Service<
  Wallets,
  {
    /** The account of a normalised address. */
    readonly accountOf: (address: string) => Effect.Effect<Account | undefined>
    /** Whether a payment of this address's own account was credited. */
    readonly hasPaid: (address: string) => Effect.Effect<boolean>
    /** As `accountOf`, created on `plan` (default `free`) if there is none; an existing one keeps its plan. */
    readonly ensureAccount: (wallet: WalletAddress, plan?: Plan) => Effect.Effect<Account, ControlFailure>
    /** Links a wallet for the operator. The same account again changes nothing; another one is a conflict. */
    readonly link: (
      wallet: WalletAddress,
      accountId: string
    ) => Effect.Effect<void, Conflict | NotFound | ControlFailure>
    /**
     * Unlinks for the operator: the wallet opens nothing until it is linked again, and the webhooks that it made go;
     * keys that it made stay. The account that it opened.
     */
    readonly unlink: (address: string) => Effect.Effect<Account, NotFound | ControlFailure>
    /** Whether the operator unlinked it. */
    readonly isUnlinked: (address: string) => Effect.Effect<boolean>
    /** Addresses that open an account, oldest first. */
    readonly addressesOf: (accountId: string) => Effect.Effect<ReadonlyArray<string>>
  }
>()("muniment/control/Wallets") {
  static readonly layer = Layer.effect(
    Wallets,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const rows = new WalletRows(sql)
      return Wallets.of({
        accountOf: (address) => read(rows.find(address)),
        hasPaid: (address) => read(rows.hasCreditedPayment(address)),
        ensureAccount: traced("Wallets.ensureAccount")(function* (wallet, plan = "free") {
          const existing = yield* read(rows.find(wallet.address))
          if (existing !== undefined) return existing
          // Read again inside the transaction: another request of this wallet may have created it in the meantime.
          return yield* write(
            Effect.flatMap(rows.find(wallet.address), (account) =>
              account === undefined ? rows.create(wallet, plan) : Effect.succeed(account)
            )
          )
        }),
        link: traced("Wallets.link")(function* (wallet, accountId) {
          yield* write(
            Effect.gen(function* () {
              if ((yield* rows.accountBy("id", accountId)) === undefined) return yield* accountNotFound()
              const linked = yield* rows.find(wallet.address)
              if (linked?.id === accountId) return
              if (linked !== undefined) return yield* walletTaken()
              yield* rows.insert(wallet, accountId, yield* Clock.currentTimeMillis)
            })
          )
        }),
        unlink: traced("Wallets.unlink")(function* (address) {
          const now = yield* Clock.currentTimeMillis
          return yield* write(
            Effect.gen(function* () {
              const account = yield* rows.find(address)
              if (account === undefined) return yield* walletNotFound()
              yield* sql`UPDATE wallet SET unlinked_at = ${now} WHERE address = ${address}`
              yield* removeHooks(sql, sql`made_by = ${address}`)
              return account
            })
          )
        }),
        isUnlinked: (address) => read(rows.isUnlinked(address)),
        addressesOf: (accountId) => read(rows.addressesOf(accountId))
      })
    })
  )
}

/** Statements on table `wallet`; those that write run inside the caller's transaction. */
class WalletRows {
  readonly #sql: SqlClient.SqlClient

  constructor(sql: SqlClient.SqlClient) {
    this.#sql = sql
  }

  find(address: string) {
    return Effect.map(
      this.#sql<AccountRow>`SELECT account.* FROM wallet JOIN account ON account.id = wallet.account
        WHERE wallet.address = ${address} AND wallet.unlinked_at IS NULL`,
      ([row]) => (row === undefined ? undefined : accountOf(row))
    )
  }

  accountBy(column: "id" | "name", value: string) {
    return Effect.map(this.#sql<AccountRow>`SELECT * FROM account WHERE ${this.#sql(column)} = ${value}`, ([row]) =>
      row === undefined ? undefined : accountOf(row)
    )
  }

  insert({ address, family }: WalletAddress, account: string, now: number) {
    return this.#sql`INSERT INTO wallet ${this.#sql.insert({ address, family, account, linked_at: now })}
      ON CONFLICT (address) DO UPDATE SET account = excluded.account, linked_at = excluded.linked_at,
        unlinked_at = NULL`
  }

  /** Only the wallet itself can get an account whose id is its address. */
  create(wallet: WalletAddress, plan: Plan) {
    return Effect.gen({ self: this }, function* () {
      const id = wallet.address
      const now = yield* Clock.currentTimeMillis
      const own = yield* this.accountBy("id", id)
      if (own !== undefined) {
        yield* this.insert(wallet, id, now)
        return own
      }
      const isNameTaken = (yield* this.accountBy("name", id)) !== undefined
      const account: Account = { id, name: isNameTaken ? `${walletNamePrefix}${id}` : id, plan, createdAt: now }
      yield* this.#sql`INSERT INTO account (id, name, plan, created_at)
        VALUES (${account.id}, ${account.name}, ${account.plan}, ${account.createdAt})`
      yield* this.insert(wallet, id, now)
      return account
    })
  }

  hasCreditedPayment(account: string) {
    return Effect.map(
      this.#sql`SELECT 1 FROM payment WHERE account = ${account} AND state IN ('settled', 'finalized') LIMIT 1`,
      (rows) => rows.length > 0
    )
  }

  isUnlinked(address: string) {
    return Effect.map(
      this.#sql`SELECT 1 FROM wallet WHERE address = ${address} AND unlinked_at IS NOT NULL`,
      (rows) => rows.length > 0
    )
  }

  addressesOf(accountId: string) {
    return Effect.map(
      this.#sql<{ readonly address: string }>`SELECT address FROM wallet
        WHERE account = ${accountId} AND unlinked_at IS NULL ORDER BY linked_at, rowid`,
      (rows) => rows.map(({ address }) => address)
    )
  }
}

/** Used if an operator has given another account the address as its name. */
const walletNamePrefix = "wallet:"

const walletNotFound = () => new NotFound({ code: "wallet_not_found", error: "this wallet opens no account" })

const walletTaken = () => new Conflict({ code: "id_conflict", error: "this wallet already belongs to another account" })
