/** Costs by agent in a period, the dearest first, with what they were for: of one account, or of the whole service. */
import type { AgentCost, AgentCosts as Costs } from "@muniment/domain/Statement"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { amount, dollars } from "../service/operator.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { count } from "../service/words.ts"
import { Filters, givenPeriod, PeriodFields } from "../ui/Filters.tsx"
import { Field } from "../ui/Field.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { SaveCsv } from "../ui/SaveCsv.tsx"

const rowsMax = 1_000

/** `isOwn`: the caller's account; else of the service, or of the account that the address names. */
export const AgentCosts = ({ isOwn }: { readonly isOwn: boolean }) => {
  const given = parameters.value
  const path = isOwn ? "/v1/account/costs" : "/admin/costs"
  const query = { ...givenPeriod(), limit: rowsMax, ...(!isOwn && { account: given.get("account") ?? undefined }) }
  const { loaded } = useLoad((signal) => call<typeof Costs.Type>("GET", path, { query, signal }), Object.values(query))
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
              would have cost. What operators look at here costs an account nothing.
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
  const most = Math.max(0, ...agents.map(({ credits }) => credits))
  return [
    {
      title: "Agent",
      cell: ({ agentId }) => agentId ?? <span class="muted">no single agent</span>
    },
    ...(isOwn
      ? []
      : [
          {
            title: "Account",
            cell: ({ account }: AgentCost) => <a href={linkTo("money", { show: "agents", account })}>{account}</a>
          }
        ]),
    { title: "Credits", isNumber: true, cell: ({ credits }) => amount(credits) },
    {
      title: "Share",
      cell: ({ credits }) => (
        <div class="bar share" aria-hidden="true">
          <i style={{ width: `${most === 0 ? 0 : (100 * credits) / most}%` }} />
        </div>
      )
    },
    { title: "USD", isNumber: true, cell: ({ usd }) => dollars(usd) },
    { title: "Calls", isNumber: true, cell: ({ calls }) => count(calls) },
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
