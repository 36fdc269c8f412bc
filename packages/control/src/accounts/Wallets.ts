/**
 * Accounts of wallets (contract: Wallet signatures). A wallet gets an account whose id is its address, when sign-up lets
 * it; an operator can link an address to an account before.
 *
 * Invariants: an address belongs to one account for ever; concurrent first calls create one account. Callers pass
 * normalised addresses whose ownership is proven.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account, Plan } from "@muniment/domain/Account"
import { Conflict, type InsufficientStorage, type NotFound } from "@muniment/domain/Errors"
import type { WalletAddress } from "@muniment/trust/WalletAddress"
import { accountNotFound, accountOf, type AccountRow } from "./Accounts.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"

export class Wallets extends Context.Service<
  Wallets,
  {
    /** The account of a normalised address. */
    readonly accountOf: (address: string) => Effect.Effect<Account | undefined>
    /** Whether a payment of this address's own account was credited. */
    readonly hasPaid: (address: string) => Effect.Effect<boolean>
    /** As `accountOf`, created on `plan` (default `free`) if there is none; an existing one keeps its plan. */
    readonly ensureAccount: (wallet: WalletAddress, plan?: Plan) => Effect.Effect<Account, InsufficientStorage>
    /** By the operator. Linking again to the same account changes nothing; linking to another is a conflict. */
    readonly link: (
      wallet: WalletAddress,
      accountId: string
    ) => Effect.Effect<void, Conflict | NotFound | InsufficientStorage>
    /** Addresses of an account, oldest first. */
    readonly addressesOf: (accountId: string) => Effect.Effect<ReadonlyArray<string>>
  }
>()("muniment/control/Wallets") {
  static readonly layer = Layer.effect(
    Wallets,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase

      const find = (address: string) =>
        Effect.map(
          sql<AccountRow>`SELECT account.* FROM wallet JOIN account ON account.id = wallet.account
            WHERE wallet.address = ${address}`,
          ([row]) => (row === undefined ? undefined : accountOf(row))
        )
      const accountBy = (column: "id" | "name", value: string) =>
        Effect.map(sql<AccountRow>`SELECT * FROM account WHERE ${sql(column)} = ${value}`, ([row]) =>
          row === undefined ? undefined : accountOf(row)
        )
      const insertWallet = ({ address, family }: WalletAddress, account: string, now: number) =>
        sql`INSERT INTO wallet ${sql.insert({ address, family, account, linked_at: now })}`

      /** Inside a transaction. Only the wallet itself can get an account whose id is its address. */
      const create = Effect.fnUntraced(function* (wallet: WalletAddress, plan: Plan) {
        const id = wallet.address
        const now = yield* Clock.currentTimeMillis
        const own = yield* accountBy("id", id)
        if (own !== undefined) {
          yield* insertWallet(wallet, id, now)
          return own
        }
        const isNameTaken = (yield* accountBy("name", id)) !== undefined
        const account: Account = { id, name: isNameTaken ? `${walletNamePrefix}${id}` : id, plan, createdAt: now }
        yield* sql`INSERT INTO account (id, name, plan, created_at)
          VALUES (${account.id}, ${account.name}, ${account.plan}, ${account.createdAt})`
        yield* insertWallet(wallet, id, now)
        return account
      })

      return Wallets.of({
        accountOf: (address) => read(find(address)),
        hasPaid: (address) => read(hasCreditedPayment(sql, address)),
        ensureAccount: Effect.fn("Wallets.ensureAccount")(function* (wallet, plan = "free") {
          const existing = yield* read(find(wallet.address))
          if (existing !== undefined) return existing
          // Read again inside the transaction: another request of this wallet may have created it in the meantime.
          return yield* write(
            Effect.flatMap(find(wallet.address), (account) =>
              account === undefined ? create(wallet, plan) : Effect.succeed(account)
            )
          )
        }),
        link: Effect.fn("Wallets.link")(function* (wallet, accountId) {
          yield* write(
            Effect.gen(function* () {
              if ((yield* accountBy("id", accountId)) === undefined) return yield* accountNotFound()
              const linked = yield* find(wallet.address)
              if (linked?.id === accountId) return
              if (linked !== undefined) return yield* walletTaken()
              yield* insertWallet(wallet, accountId, yield* Clock.currentTimeMillis)
            })
          )
        }),
        addressesOf: (accountId) =>
          read(
            Effect.map(
              sql<{
                readonly address: string
              }>`SELECT address FROM wallet WHERE account = ${accountId} ORDER BY linked_at, rowid`,
              (rows) => rows.map(({ address }) => address)
            )
          )
      })
    })
  )
}

const hasCreditedPayment = (sql: SqlClient.SqlClient, account: string) =>
  Effect.map(
    sql`SELECT 1 FROM payment WHERE account = ${account} AND state IN ('settled', 'finalized') LIMIT 1`,
    (rows) => rows.length > 0
  )

/** Used if an operator has given another account the address as its name. */
const walletNamePrefix = "wallet:"

const walletTaken = () => new Conflict({ code: "id_conflict", error: "this wallet already belongs to another account" })
