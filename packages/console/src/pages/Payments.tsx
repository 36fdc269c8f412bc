/** Payments of all accounts, those that wait first: state, transaction, and what happens next. */
import type { PaymentRecord } from "@muniment/domain/Operations"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { dollars, listPayments } from "../service/operator.ts"
import { change, linkTo, parameters } from "../service/route.ts"
import { may } from "../service/session.ts"
import { ago, duration, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Filters, Choice, Field } from "../ui/Field.tsx"
import { GrowingTable, type Column, Fact } from "../ui/Table.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"

export const Payments = () => {
  const given = parameters.value
  const filters = { state: given.get("state") ?? "", account: given.get("of") ?? "" }
  const { loaded, reload } = useLoad((signal) => listPayments(filters, signal), [filters.state, filters.account])
  const [looked, showLooked] = useState<number | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const reconcile = (): void => {
    call("POST", "/admin/payments/reconcile").then(
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
          may("money.reconcile") && (
            <button type="button" onClick={reconcile}>
              Ask the chains now
            </button>
          )
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

/** Next step, where no reason is given. */
const waitsFor: Partial<Readonly<Record<PaymentRecord["state"], string>>> = {
  verified: "signed, not sent yet: it is tried again within a minute",
  broadcasting: "sent; the chain has not confirmed it yet, and is asked every 15 seconds",
  settled: "credited; the chain may still take it back"
}

const isWaiting = (state: PaymentRecord["state"]): boolean => state === "verified" || state === "broadcasting"

const paymentColumns: ReadonlyArray<Column<PaymentRecord>> = [
  {
    title: "State",
    by: ({ state }) => state,
    cell: ({ state }) => <span class={`badge ${tones[state]}`}>{state}</span>
  },
  {
    title: "When",
    by: ({ updatedAt }) => updatedAt,
    cell: ({ createdAt, updatedAt, state }) => (
      <span class="nowrap" title={moment(updatedAt)}>
        {isWaiting(state) ? `waits ${duration((now() - createdAt) / 1_000)}` : ago(updatedAt)}
      </span>
    )
  },
  {
    title: "Account",
    by: ({ account }) => account,
    cell: ({ account }) => (
      <a class="nowrap" href={linkTo("money", { show: "movements", account })}>
        {account}
      </a>
    )
  },
  { title: "USD", by: ({ amountUsd }) => amountUsd, isNumber: true, cell: ({ amountUsd }) => dollars(amountUsd) },
  { title: "Network", by: ({ network }) => network, cell: ({ network }) => <span class="nowrap">{network}</span> },
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
          <Fact name="Transaction" class="mono">
            {transaction ?? "none yet"}
          </Fact>
          <Fact name="Paid by" class="mono">
            {payer}
          </Fact>
          <Fact name="Payment" class="mono">
            {id}
          </Fact>
        </dl>
      </details>
    )
  }
]
