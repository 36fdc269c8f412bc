/** Statement of one account's purses: by period, as CSV, with corrections that have a reason. */
import type { Statement } from "@muniment/domain/Statement"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { newKey } from "../service/browser.ts"
import { useLoad } from "../service/load.ts"
import { amount } from "../service/operator.ts"
import { account as chosenAccount, change, parameters } from "../service/route.ts"
import { moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Filters, givenPeriod, PeriodFields, Field } from "../ui/Field.tsx"
import { FormDialog, Input } from "../ui/Dialog.tsx"
import { GrowingTable, type Column, SaveCsv } from "../ui/Table.tsx"
import { Empty, Notice, Refused, Show } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"

type Entries = typeof Statement.Type

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
            <button type="button" disabled={account === ""} onClick={() => setAdjusting(true)}>
              Adjust …
            </button>
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
