/** Money of the service: the proof of the ledger and its balances; payments, movements, costs and revenue as tabs. */
import type { LedgerReport } from "@muniment/domain/Operations"
import type { AgentCost } from "@muniment/domain/Statement"
import { useState } from "preact/hooks"
import { useLoad } from "../service/load.ts"
import { type Account, accountsById, amount, checkLedger, purseName, dollars } from "../service/operator.ts"
import { linkTo, parameters, change } from "../service/route.ts"
import { session } from "../service/session.ts"
import { count } from "../service/words.ts"
import { GrowingTable, type Column, SaveCsv } from "../ui/Table.tsx"
import { Notice, Show, Refused } from "../ui/Notice.tsx"
import { Charts } from "./Charts.tsx"
import { Income, Movements, movementColumns } from "./Income.tsx"
import { Payments } from "./Payments.tsx"
import { call, type ApiError } from "../service/api.ts"
import { moment } from "../service/text.ts"
import { givenPeriod, Filters, PeriodFields, Field } from "../ui/Field.tsx"
import { UserText } from "../ui/UserText.tsx"

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
      const account = accounts.get(purseName.exec(name)?.[2] ?? "")?.name
      return account === undefined ? "" : <a href={linkTo("money", { show: "movements", account })}>{account}</a>
    }
  },
  { title: "Debits", isNumber: true, cell: ({ debits }) => amount(debits / 1_000_000) },
  { title: "Credits", isNumber: true, cell: ({ credits }) => amount(credits / 1_000_000) },
  { title: "Balance", isNumber: true, cell: ({ credits, debits }) => amount((credits - debits) / 1_000_000) }
]

type LedgerBalance = (typeof LedgerReport.Type)["balances"][number]

/** Money as an account sees it: what is in its purses, what each agent cost, what moved. */
const OwnMoney = () => (
  <>
    <div class="head">
      <h2>Money</h2>
      <p class="small">1,000 credits are one US dollar</p>
    </div>
    <Purses />
    <h3>What each agent cost</h3>
    <AgentCosts isOwn />
    <h3>Movements</h3>
    <OwnMovements />
  </>
)

export const Purses = () => {
  const { loaded } = useLoad((signal) => call("GET", "/v1/credits", { signal }), [])
  return (
    <Show of={loaded}>
      {({ allowance, balance, plan }) => (
        <dl class="tiles">
          <div class="tile">
            <dt>Balance</dt>
            <dd>
              {amount(balance.credits)}
              <div class="small">credits that were paid for</div>
            </dd>
          </div>
          <div class="tile">
            <dt>Allowance</dt>
            <dd>
              {allowance.credits === null ? "no limit" : amount(allowance.credits)}
              <div class="small">
                {allowance.monthly === null ? "" : `of ${amount(allowance.monthly)}; `}anew on{" "}
                {moment(allowance.renewsAt)}
              </div>
            </dd>
          </div>
          <div class="tile">
            <dt>Plan</dt>
            <dd>{plan}</dd>
          </div>
        </dl>
      )}
    </Show>
  )
}

const OwnMovements = () => {
  const query = givenPeriod()
  const { loaded } = useLoad((signal) => call("GET", "/v1/account/statement", { query, signal }), Object.values(query))
  return (
    <Show of={loaded}>
      {({ entries, nextCursor }) => (
        <>
          <GrowingTable
            label="Movements"
            columns={movementColumns}
            rows={entries.toReversed()}
            keyOf={({ id }) => String(id)}
            empty="Nothing moved in this period."
          />
          {nextCursor !== undefined && (
            <Notice>The period has more movements than one page: choose a shorter one.</Notice>
          )}
        </>
      )}
    </Show>
  )
}

const rowsMax = 1_000

/**
 * Costs by agent in a period, the dearest first, with what they were for: of one account, or of the whole service.
 *
 * `isOwn`: the caller's account; else of the service, or of the account that the address names.
 */
const AgentCosts = ({ isOwn }: { readonly isOwn: boolean }) => {
  const given = parameters.value
  const path = isOwn ? "/v1/account/costs" : "/admin/costs"
  const query = { ...givenPeriod(), limit: rowsMax, ...(!isOwn && { account: given.get("account") ?? undefined }) }
  const { loaded } = useLoad((signal) => call("GET", path, { query, signal }), Object.values(query))
  const [error, showError] = useState<ApiError | undefined>(undefined)
  return (
    <section class="stack">
      <Filters
        names={["account", "from", "to"]}
        actions={<SaveCsv path={path} query={query} fileName="costs-by-agent.csv" onError={showError} />}
      >
        {!isOwn && (
          <Field
            label="Account"
            value={given.get("account") ?? ""}
            onValue={(account) => change({ account, show: "agents" })}
          />
        )}
        <PeriodFields />
      </Filters>
      {error !== undefined && <Refused error={error} />}
      <Show of={loaded}>
        {({ agents, from, to, total }) => (
          <>
            <p class="small muted">
              {from} to {to}, the most expensive first, then calls over several agents. On the owner's plan: what calls
              would have cost. What operators do here costs an account nothing.
            </p>
            <GrowingTable
              label="Costs by agent"
              columns={columnsFor(agents, isOwn)}
              rows={agents.toSorted((one, other) => Number(one.agentId === null) - Number(other.agentId === null))}
              keyOf={({ account, agentId }) => JSON.stringify([account, agentId])}
              empty="No call was charged in this period."
            />
            {total > agents.length && (
              <Notice>
                {count(total)} agents have costs; the {count(agents.length)} most expensive are shown.
              </Notice>
            )}
          </>
        )}
      </Show>
    </section>
  )
}

const columnsFor = (agents: ReadonlyArray<AgentCost>, isOwn: boolean): ReadonlyArray<Column<AgentCost>> => {
  const all = agents.reduce((sum, { credits }) => sum + credits, 0)
  return [
    {
      title: "Agent",
      by: ({ agentId }) => agentId,
      cell: ({ agentId }) => (agentId !== null ? <UserText of={agentId} /> : <span class="muted">no single agent</span>)
    },
    ...(isOwn
      ? []
      : [
          {
            title: "Account",
            cell: ({ account }: AgentCost) => <a href={linkTo("money", { show: "agents", account })}>{account}</a>
          }
        ]),
    { title: "Credits", by: ({ credits }) => credits, isNumber: true, cell: ({ credits }) => amount(credits) },
    {
      title: "Share",
      by: ({ credits }) => credits,
      cell: ({ credits }) => {
        const percent = all === 0 ? 0 : (100 * credits) / all
        return (
          <span class="share">
            <span class="bar" aria-hidden="true">
              <i style={{ width: `${percent}%` }} />
            </span>
            <span class="number">{percent > 0 && percent < 1 ? "< 1" : Math.round(percent)} %</span>
          </span>
        )
      }
    },
    { title: "USD", isNumber: true, cell: ({ usd }) => dollars(usd) },
    { title: "Calls", by: ({ calls }) => calls, isNumber: true, cell: ({ calls }) => count(calls) },
    {
      title: "For",
      cell: ({ operations }) => (
        <div>
          {operations.map(({ calls, credits, operation }) => (
            <div key={operation} class="small nowrap">
              {operation}: {amount(credits)}{" "}
              <span class="muted">
                in {count(calls)} {calls === 1 ? "call" : "calls"}
              </span>
            </div>
          ))}
        </div>
      )
    }
  ]
}
