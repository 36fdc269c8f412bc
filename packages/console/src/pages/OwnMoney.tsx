/** Money as an account sees it: what is in its purses, what each agent cost, what moved. */
import type { CreditAccount } from "@muniment/domain/Credits"
import type { Statement } from "@muniment/domain/Statement"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { amount } from "../service/operator.ts"
import { moment } from "../service/text.ts"
import { GrowingTable } from "../ui/GrowingTable.tsx"
import { Notice, Show } from "../ui/Notice.tsx"
import { givenPeriod } from "../ui/PeriodFields.tsx"
import { AgentCosts } from "./AgentCosts.tsx"
import { movementColumns } from "./Movements.tsx"

export const OwnMoney = () => (
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

const Purses = () => {
  const { loaded } = useLoad((signal) => call<typeof CreditAccount.Type>("GET", "/v1/credits", { signal }), [])
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
  const { loaded } = useLoad(
    (signal) => call<typeof Statement.Type>("GET", "/v1/account/statement", { query, signal }),
    Object.values(query)
  )
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
