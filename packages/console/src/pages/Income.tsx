/** Revenue of a period, what each account used, and what the language model cost. */
import type { ModelUsageDay } from "@muniment/domain/Operations"
import type { Revenue, RevenuePeriod, Statement } from "@muniment/domain/Statement"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { newKey } from "../service/browser.ts"
import { useLoad } from "../service/load.ts"
import { accountsById, amount, checkLedger, dollars, purseName } from "../service/operator.ts"
import { account as chosenAccount, change, linkTo, parameters } from "../service/route.ts"
import { may } from "../service/session.ts"
import { moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice, Field, Filters, PeriodFields, givenPeriod } from "../ui/Field.tsx"
import { type Column, GrowingTable, SaveCsv } from "../ui/Table.tsx"
import { Empty, Notice, Refused, Show } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"

export const Income = () => {
  const given = parameters.value
  const by = (given.get("by") ?? "month") as RevenuePeriod
  const query = { by, ...givenPeriod() }
  const inputs = Object.values(query)
  const { loaded } = useLoad((signal) => call("GET", "/admin/revenue", { query, signal }), inputs)
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
        Not charged: calls on the owner's plan, and what operators changed in place of an account, at their price.
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

/**
 * What left the purses of each account, the dearest first: calls, storage, corrections, allowances that expired. Calls that
 * nobody pays for count where the plan is the owner's; else an operator made them.
 */
const Uses = () => {
  const { loaded } = useLoad(async (signal) => {
    const [accounts, { balances }] = await Promise.all([accountsById(signal), checkLedger(signal)])
    const owned = balances.flatMap(({ debits, name }) => {
      const [, kind, id] = purseName.exec(name) ?? []
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
      call("GET", "/admin/models/usage", { signal })
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

type Entries = typeof Statement.Type

/** Statement of one account's purses: by period, as CSV, with corrections that have a reason. */
export const Movements = () => {
  const given = parameters.value
  const account = given.get("account") ?? chosenAccount.value
  const query = { account, ...givenPeriod() }
  const { loaded, reload } = useLoad<Entries | undefined>(
    (signal) => (account === "" ? Promise.resolve(undefined) : statementOf(query, signal)),
    Object.values(query)
  )
  const [isAdjusting, setAdjusting] = useState(false)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  return (
    <section class="stack">
      <Filters
        names={["account", "from", "to"]}
        actions={
          <>
            {may("money.adjust") && (
              <button type="button" disabled={account === ""} onClick={() => setAdjusting(true)}>
                Adjust …
              </button>
            )}
            <SaveCsv
              path="/admin/statement"
              query={query}
              fileName={`statement-${account}.csv`}
              disabled={account === ""}
              onError={showError}
            />
          </>
        }
      >
        <Field label="Account" value={account} onValue={(name) => change({ account: name, show: "movements" })} />
        <PeriodFields />
      </Filters>
      {error !== undefined && <Refused error={error} />}
      {account === "" ? (
        <Empty title="Choose an account" />
      ) : (
        <Show of={loaded}>
          {(statement) =>
            statement === undefined ? null : (
              <>
                <Totals statement={statement} />
                <GrowingTable
                  label="Movements"
                  columns={movementColumns}
                  rows={statement.entries.toReversed()}
                  keyOf={({ id }) => String(id)}
                  empty="Nothing moved in this period."
                />
                {statement.nextCursor !== undefined && (
                  <Notice>The period has more movements than one page; the CSV has all of them.</Notice>
                )}
              </>
            )
          }
        </Show>
      )}
      {isAdjusting && <Adjust account={account} onClose={() => setAdjusting(false)} onDone={reload} />}
    </section>
  )
}

const statementOf = (query: Readonly<Record<string, string | undefined>>, signal: AbortSignal): Promise<Entries> =>
  call("GET", "/admin/statement", { query, signal })

const Totals = ({ statement }: { readonly statement: Entries }) => (
  <dl class="tiles">
    {(["balance", "allowance", "receivable"] as const).map((purse) => (
      <div class="tile" key={purse}>
        <dt>{purse === "receivable" ? "Owed for storage" : purse === "balance" ? "Balance" : "Allowance"}</dt>
        <dd>
          {amount(statement.closing[purse])}
          <div class="small">
            credits on {statement.to}; {amount(statement.opening[purse])} before {statement.from}
          </div>
        </dd>
      </div>
    ))}
  </dl>
)

export const movementColumns: ReadonlyArray<Column<Entries["entries"][number]>> = [
  { title: "When", by: ({ at }) => at, cell: ({ at }) => <span class="nowrap">{moment(at)}</span> },
  {
    title: "What",
    by: ({ kind, operation }) => `${kind} ${operation ?? ""}`,
    cell: ({ kind, operation }) => `${kind.replaceAll("_", " ")}${operation === undefined ? "" : `: ${operation}`}`
  },
  {
    title: "Agent",
    by: ({ agentId }) => agentId,
    cell: ({ agentId }) =>
      agentId === undefined || agentId === null ? <span class="muted">–</span> : <UserText of={agentId} />
  },
  {
    title: "Purse",
    cell: ({ purse }) => (purse === "own-use" ? <span class="muted">not charged</span> : purse)
  },
  { title: "Calls", by: ({ calls }) => calls, isNumber: true, cell: ({ calls }) => count(calls) },
  {
    title: "Credits",
    by: ({ credits }) => credits,
    isNumber: true,
    cell: ({ credits }) => (
      <span class={credits > 0 ? "good-ink" : ""}>
        {credits > 0 ? "+" : ""}
        {amount(credits)}
      </span>
    )
  }
]

const Adjust = (given: { readonly account: string; readonly onClose: () => void; readonly onDone: () => void }) => {
  const { account, onClose, onDone } = given
  const [text, setText] = useState("")
  const [reason, setReason] = useState("")
  // One name for all tries of this form: it is carried out once.
  const [key] = useState(newKey)
  const credits = text.trim() === "" ? Number.NaN : Number(text)
  return (
    <FormDialog
      title={`Adjust the balance of ${account}`}
      action={credits < 0 ? "Take" : "Give"}
      isDanger={credits < 0}
      isReady={Number.isFinite(credits) && credits !== 0 && reason.trim() !== ""}
      send={async () => {
        await call("POST", "/admin/ledger/adjustments", { body: { account, credits, reason, key } })
        onDone()
      }}
      onClose={onClose}
    >
      <Input label="Credits; negative takes" value={text} hint="500" onValue={setText} required />
      <Input label="Reason, for the ledger and the audit log" value={reason} onValue={setReason} required />
      <p class="small muted">
        {Number.isFinite(credits) && credits !== 0
          ? `${credits > 0 ? "Gives" : "Takes"} ${amount(Math.abs(credits))} ${Math.abs(credits) === 1 ? "credit" : "credits"} (${(Math.abs(credits) / 1_000).toFixed(2)} USD). `
          : ""}
        A balance never goes below zero; an adjustment is undone by its opposite.
      </p>
    </FormDialog>
  )
}
