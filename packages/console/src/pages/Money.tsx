/** Money: the proof of the ledger, payments with those that wait first, revenue, and one account's movements. */
import type { LedgerReport, ModelUsageDay, PaymentRecord } from "@muniment/domain/Operations"
import type { Revenue, RevenuePeriod } from "@muniment/domain/Statement"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { type Account, accountsById, amount, dollars, listPayments } from "../service/operator.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { session } from "../service/session.ts"
import { ago, duration, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Filters } from "../ui/Filters.tsx"
import { Choice, Field } from "../ui/Field.tsx"
import { GrowingTable } from "../ui/GrowingTable.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { givenPeriod, PeriodFields } from "../ui/PeriodFields.tsx"
import { SaveCsv } from "../ui/SaveCsv.tsx"
import type { Column } from "../ui/Table.tsx"
import { AgentCosts } from "./AgentCosts.tsx"
import { Charts } from "./Charts.tsx"
import { Movements } from "./Movements.tsx"
import { OwnMoney } from "./OwnMoney.tsx"

type Tab = "payments" | "movements" | "agents" | "revenue" | "ledger"

const tabs: ReadonlyArray<readonly [Tab, string]> = [
  ["payments", "Payments"],
  ["movements", "Movements"],
  ["agents", "Agents"],
  ["revenue", "Revenue"],
  ["ledger", "Ledger"]
]

export const Money = () => (session.value?.role === "operator" ? <OperatorMoney /> : <OwnMoney />)

const OperatorMoney = () => {
  const given = parameters.value
  const shown = tabs.find(([name]) => name === given.get("show"))?.[0]
  const tab: Tab = shown ?? (given.get("account") === null ? "payments" : "movements")
  return (
    <>
      <div class="head">
        <h2>Money</h2>
        <p class="small">1,000 credits are one US dollar</p>
      </div>
      <Proof />
      <nav class="tabs" aria-label="Parts of this page">
        {tabs.map(([name, title]) => (
          <a key={name} href={linkTo("money", { show: name })} aria-current={name === tab ? "true" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {tab === "payments" ? (
        <Payments />
      ) : tab === "movements" ? (
        <Movements />
      ) : tab === "agents" ? (
        <AgentCosts isOwn={false} />
      ) : tab === "revenue" ? (
        <Income />
      ) : (
        <Balances />
      )}
      {(tab === "payments" || tab === "revenue") && <Charts of="money" first="month" />}
    </>
  )
}

const checkLedger = (signal: AbortSignal) => call<typeof LedgerReport.Type>("GET", "/admin/ledger/check", { signal })

const Proof = () => {
  const { loaded, reload } = useLoad(checkLedger, [])
  return (
    <Show of={loaded}>
      {(report) => (
        <Notice tone={report.ok ? "good" : "bad"}>
          <div class="head">
            <span>
              <strong>{report.ok ? "The ledger adds up." : "The ledger does not add up."}</strong>{" "}
              {count(report.transfers)} transfers of {count(report.accounts)} ledger accounts were summed anew.
            </span>
            <button type="button" class="plain" onClick={reload}>
              Check again
            </button>
          </div>
          {report.problems.length > 0 && (
            <ul>
              {report.problems.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          )}
        </Notice>
      )}
    </Show>
  )
}

const Payments = () => {
  const given = parameters.value
  const filters = { state: given.get("state") ?? "", account: given.get("of") ?? "" }
  const { loaded, reload } = useLoad((signal) => listPayments(filters, signal), [filters.state, filters.account])
  const [looked, showLooked] = useState<number | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const reconcile = (): void => {
    call<{ readonly looked: number }>("POST", "/admin/payments/reconcile").then(
      (answer) => {
        showError(undefined)
        showLooked(answer.looked)
        reload()
      },
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <section class="stack">
      <Filters
        names={["state", "of"]}
        actions={
          <button type="button" onClick={reconcile}>
            Ask the chains now
          </button>
        }
      >
        <Choice
          label="State"
          value={filters.state}
          options={[
            ["", "all"],
            ["verified", "verified"],
            ["broadcasting", "broadcasting"],
            ["settled", "settled"],
            ["finalized", "finalized"],
            ["failed", "failed"],
            ["reversed", "reversed"]
          ]}
          onValue={(state) => change({ state })}
        />
        <Field label="Account" value={filters.account} onValue={(of) => change({ of })} />
      </Filters>
      {looked !== undefined && (
        <Notice tone="good">
          {count(looked)} payments without an end were looked up; what the chains said is below.
        </Notice>
      )}
      {error !== undefined && <Refused error={error} />}
      <Show of={loaded}>
        {(payments) => (
          <GrowingTable
            label="Payments"
            columns={paymentColumns}
            rows={payments}
            keyOf={({ id }) => id}
            empty="No payment: deposits by USDC show up here."
          />
        )}
      </Show>
    </section>
  )
}

const tones: Readonly<Record<PaymentRecord["state"], string>> = {
  verified: "warn",
  broadcasting: "warn",
  settled: "accent",
  finalized: "good",
  failed: "bad",
  reversed: "bad"
}

/** Longer than a chain that answers takes. */
const longWaitMillis = 600_000

/** What happens next, where no reason is given. */
const waitsFor: Partial<Readonly<Record<PaymentRecord["state"], string>>> = {
  verified: "signed, not sent yet: it is tried again within a minute",
  broadcasting: "sent; the chain has not confirmed it yet, and is asked every 15 seconds",
  settled: "credited; the chain may still take it back"
}

const isWaiting = (state: PaymentRecord["state"]): boolean => state === "verified" || state === "broadcasting"

const paymentColumns: ReadonlyArray<Column<PaymentRecord>> = [
  { title: "State", cell: ({ state }) => <span class={`badge ${tones[state]}`}>{state}</span> },
  {
    title: "When",
    cell: ({ createdAt, updatedAt, state }) => (
      <span class="nowrap" title={moment(updatedAt)}>
        {isWaiting(state) ? `waits ${duration((now() - createdAt) / 1_000)}` : ago(updatedAt)}
      </span>
    )
  },
  {
    title: "Account",
    cell: ({ account }) => (
      <a class="nowrap" href={linkTo("money", { show: "movements", account })}>
        {account}
      </a>
    )
  },
  { title: "USD", isNumber: true, cell: ({ amountUsd }) => dollars(amountUsd) },
  { title: "Network", cell: ({ network }) => <span class="nowrap">{network}</span> },
  {
    title: "Why",
    cell: ({ createdAt, reason, state }) =>
      reason ?? (
        <span class="muted">
          {waitsFor[state] ?? ""}
          {isWaiting(state) &&
            now() - createdAt > longWaitMillis &&
            ". Longer than usual: look for the transaction in the network's explorer, and see that its RPC address answers"}
        </span>
      )
  },
  {
    title: "Transaction",
    cell: ({ id, payer, transaction }) => (
      <details>
        <summary class="mono">{transaction === null ? "none yet" : `${transaction.slice(0, 8)}…`}</summary>
        <dl class="facts small">
          <dt>Transaction</dt>
          <dd class="mono">{transaction ?? "none yet"}</dd>
          <dt>Paid by</dt>
          <dd class="mono">{payer}</dd>
          <dt>Payment</dt>
          <dd class="mono">{id}</dd>
        </dl>
      </details>
    )
  }
]

const Income = () => {
  const given = parameters.value
  const by = (given.get("by") ?? "month") as RevenuePeriod
  const query = { by, ...givenPeriod() }
  const inputs = Object.values(query)
  const { loaded } = useLoad((signal) => call<typeof Revenue.Type>("GET", "/admin/revenue", { query, signal }), inputs)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  return (
    <section class="stack">
      <Filters
        names={["by", "from", "to"]}
        actions={<SaveCsv path="/admin/revenue" query={query} fileName={`revenue-by-${by}.csv`} onError={showError} />}
      >
        <Choice
          label="By"
          value={by}
          options={[
            ["day", "day"],
            ["week", "week"],
            ["month", "month"]
          ]}
          onValue={(value) => change({ by: value })}
        />
        <PeriodFields />
      </Filters>
      {error !== undefined && <Refused error={error} />}
      <p class="small muted">
        Not charged: calls on the owner's plan, and what operators looked at in place of an account, at their price.
      </p>
      <Show of={loaded}>
        {({ rows }) => (
          <GrowingTable
            label="Revenue"
            columns={revenueColumns}
            rows={rows}
            keyOf={({ kind, network, operation, period, purse }) => [period, kind, network, operation, purse].join(" ")}
            empty="Nothing was received or charged in this period."
          />
        )}
      </Show>
      <h3>Used by account, since its start</h3>
      <Uses />
      <h3>Cost of the language model, 30 days</h3>
      <ModelCosts />
    </section>
  )
}

type RevenueRow = (typeof Revenue.Type)["rows"][number]

const revenueColumns: ReadonlyArray<Column<RevenueRow>> = [
  { title: "Period", cell: ({ period }) => <span class="nowrap">{period}</span> },
  {
    title: "What",
    cell: ({ kind, purse: from }) => (from === "own-use" ? <span class="muted">not charged</span> : kind)
  },
  { title: "Of", cell: ({ network, operation }) => network ?? operation ?? "" },
  { title: "Purse", cell: ({ purse: from }) => (from === null || from === "own-use" ? "" : from) },
  { title: "Count", isNumber: true, cell: (row) => count(row.count) },
  { title: "Credits", isNumber: true, cell: ({ credits }) => amount(credits) },
  { title: "USD", isNumber: true, cell: ({ usd }) => dollars(usd) }
]

interface AccountUse {
  readonly account: string
  readonly credits: number
}

/** A purse and the id of its account. */
const purse = /^(liability:credits|liability:allowance|expense:own-use|asset:receivable):(.+)$/

/**
 * What left the purses of each account, the dearest first: calls, storage, corrections, allowances that expired. Calls that
 * nobody pays for count where the plan is the owner's; else an operator made them.
 */
const Uses = () => {
  const { loaded } = useLoad(async (signal) => {
    const [accounts, { balances }] = await Promise.all([accountsById(signal), checkLedger(signal)])
    const owned = balances.flatMap(({ debits, name }) => {
      const [, kind, id] = purse.exec(name) ?? []
      if (id === undefined) return []
      const account = accounts.get(id)
      const isLook = kind === "expense:own-use" && account?.plan !== "owner"
      return isLook ? [] : [{ account: account?.name ?? id, credits: debits / 1_000_000 }]
    })
    return [...Map.groupBy(owned, ({ account }) => account)]
      .map(([account, parts]): AccountUse => ({ account, credits: parts.reduce((sum, part) => sum + part.credits, 0) }))
      .sort((one, other) => other.credits - one.credits)
  }, [])
  return (
    <Show of={loaded}>
      {(uses) => (
        <GrowingTable
          label="Used by account"
          columns={useColumns}
          rows={uses}
          keyOf={({ account }) => account}
          empty="No account has used anything."
        />
      )}
    </Show>
  )
}

const useColumns: ReadonlyArray<Column<AccountUse>> = [
  {
    title: "Account",
    cell: ({ account }) => <a href={linkTo("money", { show: "movements", account })}>{account}</a>
  },
  { title: "Credits", isNumber: true, cell: ({ credits }) => amount(credits) },
  { title: "USD", isNumber: true, cell: ({ credits }) => dollars(credits / 1_000) },
  {
    title: "Its agents",
    cell: ({ account }) => (
      <>
        <a href={linkTo("money", { show: "agents", account })}>by cost</a>{" "}
        <a href={linkTo("system", { show: "indexes", of: account })}>by size</a>
      </>
    )
  }
]

interface ModelCost {
  readonly account: string
  readonly tokens: number
  readonly costMicroUsd: number
}

const ModelCosts = () => {
  const { loaded } = useLoad(async (signal) => {
    const [accounts, { usage }] = await Promise.all([
      accountsById(signal),
      call<{ readonly usage: ReadonlyArray<ModelUsageDay> }>("GET", "/admin/models/usage", { signal })
    ])
    return costsOf(usage.map((day) => ({ ...day, account: accounts.get(day.account)?.name ?? day.account })))
  }, [])
  return (
    <Show of={loaded}>
      {(costs) => (
        <GrowingTable
          label="Cost of the language model"
          columns={costColumns}
          rows={costs}
          keyOf={({ account }) => account}
          empty="No language model was used."
        />
      )}
    </Show>
  )
}

/** The dearest account first. */
const costsOf = (usage: ReadonlyArray<ModelUsageDay>): ReadonlyArray<ModelCost> =>
  [...Map.groupBy(usage, ({ account }) => account)]
    .map(([account, days]) => ({
      account,
      tokens: days.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0),
      costMicroUsd: days.reduce((sum, day) => sum + day.costMicroUsd, 0)
    }))
    .sort((one, other) => other.costMicroUsd - one.costMicroUsd)

const costColumns: ReadonlyArray<Column<ModelCost>> = [
  { title: "Account", cell: ({ account }) => account },
  { title: "Tokens", isNumber: true, cell: ({ tokens }) => count(tokens) },
  { title: "USD", isNumber: true, cell: ({ costMicroUsd }) => dollars(costMicroUsd / 1_000_000) }
]

const Balances = () => {
  const { loaded } = useLoad(
    async (signal) => ({ ...(await checkLedger(signal)), accounts: await accountsById(signal) }),
    []
  )
  return (
    <section class="stack">
      <Show of={loaded}>
        {({ accounts, balances, payments }) => (
          <>
            <p class="small muted">
              Payments by state:{" "}
              {Object.entries(payments)
                .flatMap(([state, number]) => (number === 0 ? [] : [`${count(number)} ${state}`]))
                .join(", ") || "none"}
              . A balance is credits less debits: that of what the service holds and spends is below zero.
            </p>
            <GrowingTable
              label="Balances of the ledger's accounts"
              columns={balanceColumns(accounts)}
              rows={balances}
              keyOf={({ name }) => name}
              empty="The ledger has no account yet."
            />
          </>
        )}
      </Show>
    </section>
  )
}

const balanceColumns = (accounts: ReadonlyMap<string, Account>): ReadonlyArray<Column<LedgerBalance>> => [
  { title: "Ledger account", cell: ({ name }) => <span class="mono">{name}</span> },
  {
    title: "Account",
    cell: ({ name }) => {
      const account = accounts.get(purse.exec(name)?.[2] ?? "")?.name
      return account === undefined ? "" : <a href={linkTo("money", { show: "movements", account })}>{account}</a>
    }
  },
  { title: "Debits", isNumber: true, cell: ({ debits }) => amount(debits / 1_000_000) },
  { title: "Credits", isNumber: true, cell: ({ credits }) => amount(credits / 1_000_000) },
  { title: "Balance", isNumber: true, cell: ({ credits, debits }) => amount((credits - debits) / 1_000_000) }
]

type LedgerBalance = (typeof LedgerReport.Type)["balances"][number]
