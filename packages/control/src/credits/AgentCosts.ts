/**
 * Costs of calls in a period, by account and agent (contract: Credits): the sums of the ledger's charges. What is for
 * no single agent (a search of all, a batch over several, storage) is a line of its own. Calls of an operator who acts
 * for an account cost it nothing and are not among them; those of an account on plan `owner` are, as if it paid.
 */
import { Context, Effect, Layer } from "effect"
import { type MicroCredits, toCredits, toUsd } from "@muniment/domain/Money"
import type { AgentCost } from "@muniment/domain/Statement"
import { Books } from "./Books.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { type Ledger, makeTransferPages, type TransferPage } from "./Ledger.ts"
import { accountName } from "./Transfers.ts"
import type { Period } from "./Statements.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export class AgentCosts extends Context.Service<
  AgentCosts,
  {
    /** The dearest first; of one account, or of all. */
    readonly rows: (
      period: Period,
      accountId: string | undefined
    ) => Effect.Effect<ReadonlyArray<AgentCost>, ControlFailure>
  }
>()("muniment/control/AgentCosts") {
  static readonly layer: Layer.Layer<AgentCosts, never, Books | ControlDatabase | Ledger> = Layer.effect(
    AgentCosts,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const { sql } = yield* ControlDatabase
  // On other plans what is recorded and not taken are the operator's own calls, unless nothing is taken of anybody.
  const countsOwnUse = (yield* Books).isUnlimited({ id: "", plan: "free" })
  const eachTransfer = yield* makeTransferPages

  const sumsOf = ({ from, until }: Period, accountId: string | undefined, { after, last }: TransferPage) =>
    sql<ChargeRow>`SELECT coalesce(account.name, transfer.account) AS account, named.agent_id AS agentId, operation, transfer.kind,
        sum(calls) AS calls, sum(amount) AS amount
      FROM transfer LEFT JOIN account ON account.id = transfer.account
        LEFT JOIN ledger_account AS purse ON purse.id = transfer.debit
        LEFT JOIN namespace AS named ON named.tag = transfer.namespace AND named.account = transfer.account
      WHERE transfer.id > ${after} AND transfer.id <= ${last}
        AND transfer.kind IN ('charge', 'storage', 'storage_metered')
        AND (${countsOwnUse ? sql`TRUE` : sql`account.plan = 'owner'`} OR purse.name NOT LIKE ${accountName("own-use", "%")})
        AND transfer.at >= ${from} AND transfer.at < ${until}
        AND ${accountId === undefined ? sql`TRUE` : sql`transfer.account = ${accountId}`}
      GROUP BY transfer.account, named.agent_id, operation, transfer.kind`

  return AgentCosts.of({
    rows: Effect.fn("AgentCosts.rows")(function* (period, accountId) {
      const sums = new Map<string, Sums>()
      yield* eachTransfer(
        (page) => sumsOf(period, accountId, page),
        (row) => add(sums, row)
      )
      return [...sums.values()].map(costOf).toSorted((one, other) => other.credits - one.credits)
    })
  })
})

interface ChargeRow {
  readonly account: string
  readonly agentId: string | null
  readonly operation: string | null
  readonly kind: string
  readonly calls: number
  readonly amount: MicroCredits
}

interface Sum {
  calls: number
  amount: MicroCredits
}

interface Sums {
  readonly account: string
  readonly agentId: string | null
  readonly operations: Map<string, Sum>
}

const add = (sums: Map<string, Sums>, { account, agentId, amount, calls, kind, operation }: ChargeRow): void => {
  const key = JSON.stringify([account, agentId])
  const agent = sums.get(key) ?? { account, agentId, operations: new Map<string, Sum>() }
  sums.set(key, agent)
  const name = kind === "charge" ? operationOf(operation) : "storage"
  const sum = agent.operations.get(name) ?? { calls: 0, amount: 0 }
  agent.operations.set(name, { calls: sum.calls + calls, amount: sum.amount + amount })
}

/** Tokens are charged under a text that has their number. */
const operationOf = (operation: string | null): string =>
  operation?.startsWith("model:") === true ? "model" : (operation ?? "")

const costOf = ({ account, agentId, operations }: Sums): AgentCost => {
  const parts = [...operations].toSorted(([, one], [, other]) => other.amount - one.amount)
  const amount = parts.reduce((sum, [, part]) => sum + part.amount, 0)
  return {
    account,
    agentId,
    calls: parts.reduce((sum, [, part]) => sum + part.calls, 0),
    credits: toCredits(amount),
    usd: toUsd(amount),
    operations: parts.map(([operation, part]) => ({
      operation,
      calls: part.calls,
      credits: toCredits(part.amount)
    }))
  }
}
