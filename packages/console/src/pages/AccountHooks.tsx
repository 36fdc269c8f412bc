/** Webhooks of one account: where its events go, what waits and why; tested, paused, resumed, given up ones repeated. */
import type { HookDelivery, HookRecord } from "@muniment/domain/AccountWebhooks"
import type { WebhookTrial } from "@muniment/domain/Webhooks"
import { useState } from "preact/hooks"
import { type ApiError, call, type Method } from "../service/api.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { ago, type Outcome, trialOutcome } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Notice, Refused, Show } from "../ui/Notice.tsx"

export const AccountHooks = ({ account }: { readonly account: string }) => {
  const { loaded, reload } = useLoad(
    (signal) => call<{ readonly webhooks: ReadonlyArray<HookRecord> }>("GET", "/v1/webhooks", { account, signal }),
    [account]
  )
  const [told, tell] = useState<Outcome | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const run = (method: Method, path: string, body: object, say: (answer: Answer) => Outcome): void => {
    call<Answer>(method, `/v1/webhooks/${path}`, { account, body }).then(
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
                  onState={(state) => run("PATCH", hook.id, { state }, () => done(`The webhook is ${state}.`))}
                  onTest={() => run("POST", `${hook.id}/test`, {}, trialOutcome)}
                  onRepeat={() =>
                    run("POST", `${hook.id}/deliveries/repeat`, {}, ({ repeated = 0 }) => {
                      return done(`${count(repeated)} messages are due again.`)
                    })
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

interface Answer extends WebhookTrial {
  readonly repeated?: number
}

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
      call<{ readonly deliveries: ReadonlyArray<HookDelivery> }>("GET", `/v1/webhooks/${hook.id}/deliveries`, {
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
