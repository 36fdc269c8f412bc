/** One account: its quotas, purses and keys, and what an operator can do with them. */
import type { OperatorOperation } from "@muniment/domain/api/OperatorRoles"
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { type Answer, call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { type AccountEntry, quotaNames, quotaText, type ShownQuotas } from "../service/operator.ts"
import { linkTo } from "../service/route.ts"
import { may } from "../service/session.ts"
import { ago, moment } from "../service/text.ts"
import { count, countOfCredits, countOfMemories } from "../service/words.ts"
import { Show } from "../ui/Notice.tsx"
import { SidePanel } from "../ui/Dialog.tsx"
import { ChangePlan, EraseAccount, ResumeAccount, SetLimits, SuspendAccount } from "./AccountForms.tsx"
import { Keys } from "./Keys.tsx"
import { Webhooks } from "./Webhooks.tsx"
import { Fact } from "../ui/Table.tsx"

interface Question {
  readonly _tag: "Plan" | "Limits" | "Suspend" | "Resume" | "Erase"
}

export const AccountPanel = (given: {
  readonly account: AccountEntry
  readonly onClose: () => void
  readonly onChanged: () => void
}) => {
  const { account } = given
  const [question, ask] = useState<Question | undefined>(undefined)
  const quotas = useLoad(
    (signal) => call("GET", "/admin/quotas", { query: { account: account.name }, signal }),
    [account]
  )
  const credits = useLoad((signal) => call("GET", "/v1/credits", { account: account.name, signal }), [account])
  return (
    <SidePanel label="Account" title={account.name} onClose={given.onClose}>
      <div class="meta">
        <span class="badge accent">{account.plan}</span>
        {account.suspendedAt !== undefined && <span class="badge bad">suspended {ago(account.suspendedAt)}</span>}
        <span class="mono">{account.id}</span>
        <span>created {moment(account.createdAt).slice(0, 10)}</span>
      </div>
      <div class="actions">
        <a class="button" href={linkTo("memories", { in: account.name })}>
          Memories
        </a>
        <Ask tag="Plan" needs="money.setPlan" ask={ask}>
          Change plan …
        </Ask>
        <Ask tag="Limits" needs="accounts.setQuotas" ask={ask}>
          Limit …
        </Ask>
        {account.suspendedAt === undefined ? (
          <Ask tag="Suspend" needs="accounts.suspend" ask={ask}>
            Suspend …
          </Ask>
        ) : (
          <Ask tag="Resume" needs="accounts.resume" ask={ask}>
            Resume …
          </Ask>
        )}
      </div>
      <section class="stack tight" aria-label="Quotas">
        <h3>Used</h3>
        <Show of={quotas.loaded}>
          {(shown) =>
            shown.account?.quotas.map(({ limit, name, used }) => (
              <Meter key={name} name={quotaNames[name]} used={used} limit={limit} text={quotaText(name)} />
            ))
          }
        </Show>
      </section>
      <section class="stack tight" aria-label="Purses">
        <h3>Purses</h3>
        <Show of={credits.loaded}>{(value) => <Purses credits={value} account={account.name} />}</Show>
      </section>
      <Keys account={account.name} onChanged={given.onChanged} />
      <Webhooks account={account.name} />
      <div class="actions">
        <Ask tag="Erase" needs="accounts.erase" ask={ask} isDanger>
          Erase …
        </Ask>
      </div>
      {question !== undefined && (
        <Asked
          question={question}
          account={account}
          quotas={quotas.loaded.value}
          onClose={() => ask(undefined)}
          onDone={given.onChanged}
        />
      )}
    </SidePanel>
  )
}

/** Offered to operators who may do it. */
const Ask = (given: {
  readonly tag: Question["_tag"]
  readonly needs: OperatorOperation
  readonly ask: (question: Question) => void
  readonly isDanger?: boolean
  readonly children: ComponentChildren
}) =>
  may(given.needs) ? (
    <button
      type="button"
      class={given.isDanger === true ? "danger" : undefined}
      onClick={() => given.ask({ _tag: given.tag })}
    >
      {given.children}
    </button>
  ) : null

const Asked = (given: {
  readonly question: Question
  readonly account: AccountEntry
  readonly quotas: ShownQuotas | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const { question, quotas, ...rest } = given
  switch (question._tag) {
    case "Plan":
      return <ChangePlan {...rest} />
    case "Limits":
      return quotas === undefined ? null : <SetLimits {...rest} quotas={quotas} />
    case "Suspend":
      return <SuspendAccount {...rest} />
    case "Resume":
      return <ResumeAccount {...rest} />
    case "Erase":
      return <EraseAccount {...rest} />
  }
}

const Purses = ({ account, credits }: { readonly account: string; readonly credits: Answer<"GET /v1/credits"> }) => {
  const { allowance, balance, insuredUntil, purgeNotice } = credits
  return (
    <>
      <dl class="facts">
        <Fact name="Balance">
          {countOfCredits(balance.credits)} <span class="muted">({balance.usd.toFixed(2)} USD)</span>
        </Fact>
        <Fact name="Allowance">
          {allowance.credits === null
            ? "without bound: calls are recorded, and not charged"
            : `${count(allowance.credits)} of ${countOfCredits(allowance.monthly ?? 0)}`}{" "}
          {allowance.credits !== null && <span class="muted">until {moment(allowance.renewsAt).slice(0, 10)}</span>}
        </Fact>
        {insuredUntil !== undefined && <Fact name="Balance lasts">until {moment(insuredUntil).slice(0, 10)}</Fact>}
        {purgeNotice !== undefined && (
          <Fact name="To be removed">
            {countOfMemories(purgeNotice.memories)} from {moment(purgeNotice.from).slice(0, 10)}
          </Fact>
        )}
      </dl>
      <p class="small">
        <a href={linkTo("money", { account })}>Statement and corrections</a>
      </p>
    </>
  )
}

/** Used part of a limit, as a bar; without a limit as a number alone. */
export const Meter = (given: {
  readonly name: string
  readonly used: number
  readonly limit: number | null
  readonly text: (value: number) => string
}) => {
  const { limit, used } = given
  const share = limit === null ? 0 : limit === 0 ? 1 : Math.min(1, used / limit)
  return (
    <div class="meter">
      <span>{given.name}</span>
      <span class="number">
        {given.text(used)} {limit === null ? <span class="muted">no limit</span> : `of ${given.text(limit)}`}
      </span>
      {limit !== null && (
        <div class="bar" aria-hidden="true">
          <i class={share > 0.9 ? "tight" : ""} style={{ width: `${share * 100}%` }} />
        </div>
      )}
    </div>
  )
}
