/** Browsers that are signed in, which the operator may end, and what the webhook was told. */
import type { SessionRecord } from "@muniment/domain/Console"
import type { WebhookRecord } from "@muniment/domain/Events"
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { browserName, count, countOf } from "../service/words.ts"
import { may, session } from "../service/session.ts"
import { ago, moment, type Outcome, trialOutcome } from "../service/text.ts"
import { FormDialog } from "../ui/Dialog.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"

export const Sessions = () => {
  const { loaded, reload } = useLoad((signal) => call("GET", "/admin/sessions", { signal }), [])
  const [ending, end] = useState<SessionRecord | undefined>(undefined)
  return (
    <section class="stack">
      <h3>Signed in</h3>
      <Show of={loaded}>
        {({ sessions }) => (
          <GrowingTable
            label="Sessions"
            columns={sessionColumns(end).filter(({ title }) => title !== "Action" || may("sessions.endSession"))}
            rows={sessions}
            keyOf={({ id }) => id}
            empty="Nobody is signed in."
          />
        )}
      </Show>
      <Webhooks />
      {ending !== undefined && (
        <FormDialog
          title="End this session"
          action="End it"
          isDanger
          send={async () => {
            await call("DELETE", `/admin/sessions/${encodeURIComponent(ending.id)}`)
            reload()
          }}
          onClose={() => end(undefined)}
        >
          <p>
            {whoseOf(ending)} at {ending.address} has to sign in again.
            {ending.id === session.value?.id && " This is the session that you use now: so do you."}
          </p>
        </FormDialog>
      )}
    </section>
  )
}

/** As the log names them. */
const whoseOf = ({ account, operator }: SessionRecord): string =>
  operator === null ? (account ?? "") : `The operator ${operator.name}`

const sessionColumns = (end: (ended: SessionRecord) => void): ReadonlyArray<Column<SessionRecord>> => [
  {
    title: "Who",
    cell: ({ account, id, operator }) => (
      <span class="meta">
        {operator?.name ?? account}
        {operator !== null && <span class="badge accent">{operator.role}</span>}
        {id === session.value?.id && <span class="badge good">this session</span>}
      </span>
    )
  },
  { title: "From", cell: ({ address }) => <span class="mono">{address}</span> },
  { title: "Browser", cell: ({ browser }) => <span title={browser}>{browserName(browser)}</span> },
  { title: "Last used", cell: ({ lastUsedAt }) => <span class="nowrap">{ago(lastUsedAt)}</span> },
  { title: "Ends", cell: ({ expiresAt }) => <span class="nowrap">{moment(expiresAt)}</span> },
  {
    title: "Action",
    cell: (ended) => (
      <button
        type="button"
        class="plain"
        aria-label={`End the session of ${ended.operator?.name ?? ended.account}, begun ${moment(ended.createdAt)} …`}
        onClick={() => end(ended)}
      >
        End …
      </button>
    )
  }
]

const Webhooks = () => {
  const { loaded, reload } = useLoad((signal) => call("GET", "/admin/webhooks", { signal }), [])
  const status = useLoad((signal) => call("GET", "/admin/status", { signal }), [])
  const has = status.loaded.value?.webhooks
  const [outcome, tell] = useState<Outcome | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const run = (asking: Promise<Outcome>): void => {
    asking.then(
      (told) => {
        showError(undefined)
        tell(told)
        reload()
        status.reload()
      },
      (cause: unknown) => {
        tell(undefined)
        showError(asApiError(cause))
      }
    )
  }
  return (
    <>
      <div class="head">
        <h3>Webhook</h3>
        {may("webhooks.resendWebhooks") && (
          <div class="actions">
            <button type="button" disabled={has?.isConfigured !== true} onClick={() => run(test())}>
              Send a test
            </button>
            <button type="button" disabled={(has?.failed ?? 0) === 0} onClick={() => run(resend())}>
              Resend what was given up
            </button>
          </div>
        )}
      </div>
      {outcome !== undefined && <Notice tone={outcome.tone}>{outcome.text}</Notice>}
      {error !== undefined && <Refused error={error} />}
      <Show of={loaded}>
        {({ webhooks }) => (
          <GrowingTable
            label="Messages of the webhook"
            columns={webhookColumns}
            rows={webhooks}
            keyOf={({ id }) => id}
            empty={
              has?.isConfigured === false
                ? "No webhook is set: MUNIMENT_WEBHOOK_URL and MUNIMENT_WEBHOOK_SECRET make one."
                : "No message yet: payments and refunds are announced by it."
            }
          />
        )}
      </Show>
    </>
  )
}

const test = async (): Promise<Outcome> => trialOutcome(await call("POST", "/admin/webhooks/test"))

const resend = async (): Promise<Outcome> => {
  const { resent } = await call("POST", "/admin/webhooks/resend", { body: {} })
  return { tone: "good", text: `${countOf(resent, "message")} ${resent === 1 ? "is" : "are"} due again.` }
}

const tones: Readonly<Record<WebhookRecord["state"], string>> = { pending: "warn", delivered: "good", failed: "bad" }

const webhookColumns: ReadonlyArray<Column<WebhookRecord>> = [
  { title: "State", cell: ({ state }) => <span class={`badge ${tones[state]}`}>{state}</span> },
  { title: "What", cell: ({ type }): ComponentChildren => type },
  { title: "Payment", cell: ({ payment }) => <span class="mono">{payment}</span> },
  { title: "Attempts", isNumber: true, cell: ({ attempts }) => count(attempts) },
  { title: "Made", cell: ({ createdAt }) => <span class="nowrap">{ago(createdAt)}</span> },
  { title: "Why not", cell: ({ reason }) => reason ?? "" }
]
