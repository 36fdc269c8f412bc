/** All accounts: plan, keys, last use; one of them at the side with its quotas, purses and keys. */
import { useState } from "preact/hooks"
import { type AccountEntry, listAccounts } from "../service/operator.ts"
import { useLoad } from "../service/load.ts"
import { change, parameters } from "../service/route.ts"
import { may } from "../service/session.ts"
import { ago, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Filters, Choice, Field } from "../ui/Field.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Show } from "../ui/Notice.tsx"
import { CreateAccount } from "./AccountForms.tsx"
import { AccountPanel } from "./AccountPanel.tsx"

export const Accounts = () => {
  const { loaded, reload } = useLoad(listAccounts, [])
  const [isCreating, setCreating] = useState(false)
  const given = parameters.value
  const chosen = given.get("account") ?? undefined
  const state = given.get("state") ?? "all"
  const part = (given.get("name") ?? "").toLowerCase()
  return (
    <>
      <div class="head">
        <h2>Accounts and keys</h2>
        {may("admin.createAccount") && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            New account …
          </button>
        )}
      </div>
      <Filters names={["name", "state"]}>
        <Field label="Name or plan" value={given.get("name") ?? ""} onValue={(name) => change({ name })} />
        <Choice
          label="State"
          value={state}
          options={[
            ["all", "all"],
            ["working", "working"],
            ["suspended", "suspended"]
          ]}
          onValue={(value) => change({ state: value === "all" ? "" : value })}
        />
      </Filters>
      <Show of={loaded}>
        {(accounts) => {
          const account = accounts.find(({ name }) => name === chosen)
          const rows = accounts.filter(
            ({ name, plan, suspendedAt }) =>
              (part === "" || name.toLowerCase().includes(part) || plan.includes(part)) &&
              (state === "all" || (suspendedAt !== undefined) === (state === "suspended"))
          )
          return (
            <div class={`split ${account === undefined ? "" : "open"}`}>
              <div class="stack">
                <GrowingTable
                  label="Accounts"
                  columns={columns}
                  rows={rows}
                  keyOf={({ id }) => id}
                  empty={accounts.length === 0 ? "There is no account yet." : "No account matches these filters."}
                />
              </div>
              {account !== undefined && (
                <AccountPanel
                  key={account.id}
                  account={account}
                  onClose={() => change({ account: "" })}
                  onChanged={reload}
                />
              )}
            </div>
          )
        }}
      </Show>
      {isCreating && (
        <CreateAccount
          onClose={() => setCreating(false)}
          onDone={(account) => {
            change({ account })
            reload()
          }}
        />
      )}
    </>
  )
}

const columns: ReadonlyArray<Column<AccountEntry>> = [
  {
    title: "Account",
    by: ({ name }) => name,
    cell: ({ name }) => (
      <button
        type="button"
        class="row-button link"
        aria-current={parameters.value.get("account") === name}
        onClick={() => change({ account: name })}
      >
        {name}
      </button>
    )
  },
  {
    title: "State",
    by: ({ suspendedAt }) => (suspendedAt === undefined ? "working" : "suspended"),
    cell: ({ suspendedAt }) =>
      suspendedAt === undefined ? (
        <span class="badge good">working</span>
      ) : (
        <span class="badge bad" title={moment(suspendedAt)}>
          suspended
        </span>
      )
  },
  { title: "Plan", by: ({ plan }) => plan, cell: ({ plan }) => plan },
  { title: "Keys", by: ({ keys }) => keys, isNumber: true, cell: ({ keys }) => count(keys) },
  {
    title: "Last use of a key",
    by: ({ lastUsedAt }) => lastUsedAt,
    cell: ({ lastUsedAt }) =>
      lastUsedAt === undefined ? (
        <span class="muted">never</span>
      ) : (
        <span title={moment(lastUsedAt)}>{ago(lastUsedAt)}</span>
      )
  }
]
