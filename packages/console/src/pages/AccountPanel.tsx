/** One account: its quotas, purses and keys, and what an operator can do with them. */
import type { OperatorOperation } from "@muniment/domain/api/OperatorRoles"
import type { HookRecord } from "@muniment/domain/Events"
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { type Answer, call, type ApiError } from "../service/api.ts"
import { useLoad, asApiError } from "../service/load.ts"
import {
  type AccountEntry,
  type Key,
  listKeys,
  quotaNames,
  quotaText,
  type ShownQuotas,
  works
} from "../service/operator.ts"
import { linkTo } from "../service/route.ts"
import { may, mayChange } from "../service/session.ts"
import { ago, moment, type Outcome, trialOutcome } from "../service/text.ts"
import { count, countOfCredits, countOfMemories } from "../service/words.ts"
import { Show, Notice, Refused } from "../ui/Notice.tsx"
import { SidePanel } from "../ui/Dialog.tsx"
import {
  ChangePlan,
  CreateKey,
  EraseAccount,
  ResumeAccount,
  RevokeKey,
  SetLimits,
  SuspendAccount
} from "./AccountForms.tsx"
import { Fact } from "../ui/Table.tsx"

type Question =
  | { readonly _tag: "Plan" | "Limits" | "Key" | "Suspend" | "Resume" | "Erase" }
  | { readonly _tag: "Revoke"; readonly key: Key }

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
  const keys = useLoad((signal) => listKeys(account.name, signal), [account])
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
      <section class="stack tight" aria-label="Keys">
        <div class="head">
          <h3>Keys</h3>
          <Ask tag="Key" needs="admin.createKey" ask={ask}>
            New key …
          </Ask>
        </div>
        <Show of={keys.loaded}>
          {(found) => <KeyList keys={found} onRevoke={(key) => ask({ _tag: "Revoke", key })} />}
        </Show>
      </section>
      <AccountHooks account={account.name} />
      <div class="actions">
        <Ask tag="Erase" needs="accounts.erase" ask={ask} isDanger>
          Erase …
        </Ask>
      </div>
      {question !== undefined && (
        <Asked
          question={question}
          account={account}
          keys={keys.loaded.value ?? []}
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
  readonly tag: Exclude<Question["_tag"], "Revoke">
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
  readonly keys: ReadonlyArray<Key>
  readonly quotas: ShownQuotas | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const { question, keys, quotas, ...rest } = given
  switch (question._tag) {
    case "Plan":
      return <ChangePlan {...rest} />
    case "Limits":
      return quotas === undefined ? null : <SetLimits {...rest} quotas={quotas} />
    case "Key":
      return <CreateKey {...rest} />
    case "Suspend":
      return <SuspendAccount {...rest} />
    case "Resume":
      return <ResumeAccount {...rest} />
    case "Erase":
      return <EraseAccount {...rest} />
    case "Revoke":
      return <RevokeKey {...rest} chosen={question.key} keys={keys} />
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

const KeyList = (given: { readonly keys: ReadonlyArray<Key>; readonly onRevoke: (key: Key) => void }) => {
  const sorted = given.keys.toSorted(
    (one, other) => Number(works(other)) - Number(works(one)) || other.createdAt - one.createdAt
  )
  if (sorted.length === 0) return <p class="muted">No key. Wallets that are linked still open the account.</p>
  return (
    <ul class="keys">
      {sorted.map((key) => (
        <li key={key.id} class={works(key) ? "" : "ended"}>
          <div>
            <strong>{key.label === "" ? "no label" : key.label}</strong> <span class="mono muted">{key.prefix}…</span>
            <div class="small muted">{aboutKey(key)}</div>
          </div>
          {works(key) ? (
            may("admin.revokeKey") && (
              <button
                type="button"
                class="plain"
                aria-label={`Revoke ${key.label === "" ? key.prefix : key.label} …`}
                onClick={() => given.onRevoke(key)}
              >
                Revoke …
              </button>
            )
          ) : (
            <span class="badge">{key.revokedAt === undefined ? "expired" : "revoked"}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

const aboutKey = (key: Key): string =>
  [
    key.lastUsedAt === undefined ? "never used" : `used ${ago(key.lastUsedAt)}`,
    ...(key.readOnly === true ? ["reads only"] : []),
    ...(key.agents === undefined ? [] : [`agents ${key.agents.join(", ")}`]),
    ...(key.subjects === undefined ? [] : [`subjects ${key.subjects.join(", ")}`]),
    ...(key.madeBy === undefined ? [] : [`made by ${key.madeBy}`]),
    ...(key.expiresAt === undefined ? [] : [`ends ${moment(key.expiresAt)}`])
  ].join(" · ")

/** Used part of a limit, as a bar; without a limit as a number alone. */
const Meter = (given: {
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

/** Webhooks of one account: where its events go, what waits and why; tested, paused, resumed, given up ones repeated. */
const AccountHooks = ({ account }: { readonly account: string }) => {
  const { loaded, reload } = useLoad((signal) => call("GET", "/v1/webhooks", { account, signal }), [account])
  const [told, tell] = useState<Outcome | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const run = <A,>(answered: Promise<A>, say: (answer: A) => Outcome): void => {
    answered.then(
      (answer) => {
        showError(undefined)
        tell(say(answer))
        reload()
      },
      (cause: unknown) => {
        tell(undefined)
        showError(asApiError(cause))
      }
    )
  }
  return (
    <section class="stack tight" aria-label="Webhooks">
      <h3>Webhooks</h3>
      {told !== undefined && <Notice tone={told.tone}>{told.text}</Notice>}
      {error !== undefined && <Refused error={error} />}
      <Show of={loaded}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <p class="muted">None: POST /v1/webhooks makes one.</p>
          ) : (
            <ul class="keys">
              {webhooks.map((hook) => (
                <Hook
                  key={hook.id}
                  hook={hook}
                  account={account}
                  onState={(state) =>
                    run(call("PATCH", `/v1/webhooks/${hook.id}`, { account, body: { state } }), () =>
                      done(`The webhook is ${state}.`)
                    )
                  }
                  onTest={() => run(call("POST", `/v1/webhooks/${hook.id}/test`, { account, body: {} }), trialOutcome)}
                  onRepeat={() =>
                    run(
                      call("POST", `/v1/webhooks/${hook.id}/deliveries/repeat`, { account, body: {} }),
                      ({ repeated }) => done(`${count(repeated)} messages are due again.`)
                    )
                  }
                />
              ))}
            </ul>
          )
        }
      </Show>
    </section>
  )
}

const done = (text: string): Outcome => ({ tone: "good", text })

const Hook = (given: {
  readonly hook: HookRecord
  readonly account: string
  readonly onState: (state: HookRecord["state"]) => void
  readonly onTest: () => void
  readonly onRepeat: () => void
}) => {
  const { hook } = given
  const isActive = hook.state === "active"
  return (
    <li>
      <div>
        <span class={`badge ${hook.reason === null ? (isActive ? "good" : "") : "warn"}`}>{hook.state}</span>{" "}
        <span class="mono">{hook.url}</span>
        <div class="small muted">{aboutHook(hook)}</div>
        {hook.failed > 0 && <GivenUp hook={hook} account={given.account} />}
      </div>
      {mayChange() && (
        <div class="actions">
          <button
            type="button"
            class="plain"
            aria-label={`${isActive ? "Pause" : "Resume"} ${hook.url}`}
            onClick={() => given.onState(isActive ? "paused" : "active")}
          >
            {isActive ? "Pause" : "Resume"}
          </button>
          <button type="button" class="plain" aria-label={`Test ${hook.url}`} onClick={given.onTest}>
            Test
          </button>
          <button type="button" class="plain" aria-label={`Repeat for ${hook.url}`} onClick={given.onRepeat}>
            Repeat
          </button>
        </div>
      )}
    </li>
  )
}

const aboutHook = (hook: HookRecord): string =>
  [
    hook.deliveredAt === null ? "nothing delivered yet" : `delivered ${ago(hook.deliveredAt)}`,
    ...(hook.pending > 0 ? [`${count(hook.pending)} wait`] : []),
    ...(hook.failed > 0 ? [`${count(hook.failed)} given up`] : []),
    ...(hook.reason === null ? [] : [hook.reason]),
    ...(hook.agents === null ? [] : [`agents ${hook.agents.join(", ")}`])
  ].join(" · ")

const shownMax = 20

const GivenUp = ({ account, hook }: { readonly account: string; readonly hook: HookRecord }) => {
  const { loaded } = useLoad(
    (signal) =>
      call("GET", `/v1/webhooks/${hook.id}/deliveries`, {
        account,
        query: { state: "failed", limit: shownMax },
        signal
      }),
    [hook]
  )
  return (
    <details>
      <summary class="small">What was given up</summary>
      <Show of={loaded}>
        {({ deliveries }) => (
          <ul class="small">
            {deliveries.map(({ agentId, attempts, createdAt, id, reason, type }) => (
              <li key={id}>
                {type} {agentId} · made {ago(createdAt)} · {count(attempts)} attempts · {reason}
              </li>
            ))}
          </ul>
        )}
      </Show>
    </details>
  )
}
