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
import { count, countOf } from "../service/words.ts"
import { Filters, Choice, Field } from "../ui/Field.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { isStuck, isWaiting, longWaitMillis, PaymentPanel, tones, waitsFor } from "./PaymentPanel.tsx"

const refreshMillis = 10_000

interface Asked {
  readonly looked: number
  /** Networks of which no node answers. */
  readonly silent: ReadonlyArray<string>
}

const askChains = async (): Promise<Asked> => {
  const { looked } = await call("POST", "/admin/payments/reconcile")
  const { payments } = await call("GET", "/admin/status")
  return { looked, silent: payments.networks.filter(({ isReachable }) => !isReachable).map(({ network }) => network) }
}

export const Payments = () => {
  const given = parameters.value
  const filters = { state: given.get("state") ?? "", account: given.get("of") ?? "" }
  const chosen = given.get("payment") ?? ""
  const { loaded, reload } = useLoad(
    async (signal) =>
      filters.state === stuck
        ? (await listPayments({ ...filters, state: "" }, signal)).filter(isStuck)
        : listPayments(filters, signal),
    [filters.state, filters.account],
    refreshMillis
  )
  const [asked, showAsked] = useState<Asked | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const reconcile = (): void => {
    askChains().then(
      (answer) => {
        showError(undefined)
        showAsked(answer)
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
            [stuck, "stuck"],
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
      {asked !== undefined && (
        <Notice tone={asked.silent.length === 0 ? "good" : "bad"}>
          {countOf(asked.looked, "payment")} without an end {asked.looked === 1 ? "was" : "were"} looked up
          {asked.silent.length === 0
            ? "; what the chains said is below."
            : `, but no node of ${asked.silent.join(" and ")} answered.`}
        </Notice>
      )}
      {error !== undefined && <Refused error={error} />}
      <Show of={loaded}>
        {(payments) => {
          const payment = payments.find(({ id }) => id === chosen)
          return (
            <>
              {filters.state !== stuck && <StuckOnes payments={payments} />}
              <div class={`split ${payment === undefined ? "" : "open"}`}>
                <div class="stack">
                  <GrowingTable
                    label="Payments"
                    columns={paymentColumns}
                    rows={payments}
                    keyOf={({ id }) => id}
                    empty={
                      filters.state === stuck
                        ? `No payment has waited for ${duration(longWaitMillis / 1_000)} without an outcome.`
                        : "No payment: deposits by USDC show up here."
                    }
                  />
                </div>
                {payment !== undefined && (
                  <PaymentPanel key={payment.id} payment={payment} onClose={() => change({ payment: "" })} />
                )}
              </div>
            </>
          )
        }}
      </Show>
    </section>
  )
}

/** Of the filter by state. */
const stuck = "stuck"

const StuckOnes = ({ payments }: { readonly payments: ReadonlyArray<PaymentRecord> }) => {
  const found = payments.filter(isStuck)
  const [oldest] = found
  return oldest === undefined ? null : (
    <Notice tone="bad">
      {count(found.length)} {found.length === 1 ? "payment is" : "payments are"} stuck, the oldest since{" "}
      {moment(oldest.createdAt)}: <a href={linkTo("money", { state: stuck, payment: oldest.id })}>what it waits for</a>
    </Notice>
  )
}

const paymentColumns: ReadonlyArray<Column<PaymentRecord>> = [
  {
    title: "State",
    by: ({ state }) => state,
    cell: ({ state }) => <span class={`badge ${tones[state]}`}>{state}</span>
  },
  {
    title: "Transaction",
    cell: ({ id, transaction }) => (
      <button
        type="button"
        class="row-button link mono"
        title={transaction ?? id}
        aria-current={parameters.value.get("payment") === id}
        onClick={() => change({ payment: id })}
      >
        <span class="hidden">All of this payment: </span>
        {transaction === null ? "none yet" : `${transaction.slice(0, 8)}…${transaction.slice(-6)}`}
      </button>
    )
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
    cell: (payment) => (
      <span class="why">
        {isStuck(payment) && <span class="badge bad">stuck</span>}{" "}
        {payment.reason ?? <span class="muted">{waitsFor[payment.state] ?? ""}</span>}
      </span>
    )
  }
]
