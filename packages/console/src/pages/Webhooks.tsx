/** Webhooks of one account: where its events go, what waits and why; made, tested, paused, repeated, removed. */
import type { HookRecord } from "@muniment/domain/Events"
import { useState } from "preact/hooks"
import { call, type ApiError } from "../service/api.ts"
import { tagsIn } from "../service/bulk.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { mayChange } from "../service/session.ts"
import { ago, moment, type Outcome, trialOutcome } from "../service/text.ts"
import { count, countOf } from "../service/words.ts"
import { Check, FormDialog, Input } from "../ui/Dialog.tsx"
import { Choice } from "../ui/Field.tsx"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { UserText } from "../ui/UserText.tsx"
import { Secret } from "./Keys.tsx"

type Question =
  | { readonly _tag: "New" }
  | { readonly _tag: "Secret" | "Remove"; readonly hook: HookRecord }
  | { readonly _tag: "Shown"; readonly title: string; readonly secret: string }

/** `account`: in place of which an operator looks; undefined: the caller's own. */
export const Webhooks = ({ account }: { readonly account?: string }) => {
  const of = account === undefined ? {} : { account }
  const { loaded, reload } = useLoad((signal) => call("GET", "/v1/webhooks", { ...of, signal }), [account])
  const [told, tell] = useState<Outcome | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const [question, ask] = useState<Question | undefined>(undefined)
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
  const post = <P extends string>(hook: HookRecord, what: P) =>
    call("POST", `/v1/webhooks/${hook.id}/${what}`, { ...of, body: {} })
  return (
    <section class="stack tight" aria-label="Webhooks">
      <div class="head">
        <h3>Webhooks</h3>
        {mayChange() && (
          <button type="button" onClick={() => ask({ _tag: "New" })}>
            New webhook …
          </button>
        )}
      </div>
      {told !== undefined && <Notice tone={told.tone}>{told.text}</Notice>}
      {error !== undefined && <Refused error={error} />}
      <Show of={loaded}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <p class="muted">None: a webhook is sent what happens to memories, as it happens.</p>
          ) : (
            <ul class="keys hooks">
              {webhooks.map((hook) => (
                <Hook
                  key={hook.id}
                  hook={hook}
                  of={of}
                  ask={ask}
                  onState={(state) =>
                    run(call("PATCH", `/v1/webhooks/${hook.id}`, { ...of, body: { state } }), () =>
                      done(`The webhook is ${state}.`)
                    )
                  }
                  onTest={() => run(post(hook, "test"), trialOutcome)}
                  onRepeat={() =>
                    run(post(hook, "deliveries/repeat"), ({ repeated }) =>
                      done(`${countOf(repeated, "message")} ${repeated === 1 ? "is" : "are"} due again.`)
                    )
                  }
                />
              ))}
            </ul>
          )
        }
      </Show>
      {question !== undefined && <Asked question={question} of={of} ask={ask} onDone={reload} />}
    </section>
  )
}

const done = (text: string): Outcome => ({ tone: "good", text })

/** Account of a call, where it is another's. */
interface Of {
  readonly account?: string
}

const Asked = (given: {
  readonly question: Question
  readonly of: Of
  readonly ask: (question: Question | undefined) => void
  readonly onDone: () => void
}) => {
  const { ask, of, onDone, question } = given
  const close = (): void => ask(undefined)
  switch (question._tag) {
    case "New":
      return (
        <NewWebhook
          of={of}
          onClose={close}
          onSecret={(secret) => ask({ _tag: "Shown", title: "Secret of the signatures", secret })}
        />
      )
    case "Secret":
      return (
        <FormDialog
          title="Replace the secret"
          action="Replace"
          staysOpen
          send={async () => {
            const { secret } = await call("POST", `/v1/webhooks/${question.hook.id}/secret`, of)
            ask({ _tag: "Shown", title: "New secret of the signatures", secret })
          }}
          onClose={close}
        >
          <p>For one day messages to {question.hook.url} are signed with both, so that the receiver can change over.</p>
        </FormDialog>
      )
    case "Remove":
      return (
        <FormDialog
          title="Delete this webhook"
          action="Delete"
          isDanger
          send={async () => {
            await call("DELETE", `/v1/webhooks/${question.hook.id}`, of)
            onDone()
          }}
          onClose={close}
        >
          <p>
            Nothing more is sent to {question.hook.url}; with it{" "}
            {question.hook.pending === 1
              ? "goes the message that waits"
              : `go ${countOf(question.hook.pending, "message")} that wait`}
            . This cannot be undone.
          </p>
        </FormDialog>
      )
    case "Shown":
      return (
        <Secret
          title={question.title}
          secret={question.secret}
          onClose={() => {
            close()
            onDone()
          }}
        />
      )
  }
}

type EventType = HookRecord["types"][number]

const kinds: ReadonlyArray<readonly [name: string, types: ReadonlyArray<EventType>]> = [
  ["Memories stored", ["memory.created"]],
  ["Memories changed", ["memory.updated"]],
  ["Memories superseded", ["memory.superseded"]],
  ["Memories deleted", ["memory.deleted"]],
  ["Payments and refunds", ["payment.settled", "payment.reversed", "refund.started", "refund.settled", "refund.failed"]]
]

const NewWebhook = (given: {
  readonly of: Of
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) => {
  const [url, setUrl] = useState("")
  const [agents, setAgents] = useState("")
  const [chosen, choose] = useState(() => new Set(kinds.map(([name]) => name)))
  const types = kinds.flatMap(([name, all]) => (chosen.has(name) ? all : []))
  return (
    <FormDialog
      title="New webhook"
      action="Create"
      isReady={url !== "" && types.length > 0}
      staysOpen
      send={async () => {
        const body = {
          url,
          ...(chosen.size < kinds.length && { types }),
          ...(tagsIn(agents).length > 0 && { agents: tagsIn(agents) })
        }
        given.onSecret((await call("POST", "/v1/webhooks", { ...given.of, body })).secret)
      }}
      onClose={given.onClose}
    >
      <Input label="URL" value={url} hint="https://hooks.example.com/memory" onValue={setUrl} required />
      <Input label="Only these agents" value={agents} hint="all, new ones too" onValue={setAgents} />
      {kinds.map(([name]) => (
        <Check
          key={name}
          label={name}
          checked={chosen.has(name)}
          onChecked={() => choose(chosen.symmetricDifference(new Set([name])))}
        />
      ))}
      <p class="small muted">It is sent ids and kinds, never what a memory says, from now on.</p>
    </FormDialog>
  )
}

const Hook = (given: {
  readonly hook: HookRecord
  readonly of: Of
  readonly ask: (question: Question) => void
  readonly onState: (state: HookRecord["state"]) => void
  readonly onTest: () => void
  readonly onRepeat: () => void
}) => {
  const { ask, hook } = given
  const isActive = hook.state === "active"
  return (
    <li>
      <div>
        <span class={`badge ${hook.reason === null ? (isActive ? "good" : "") : "warn"}`}>{hook.state}</span>{" "}
        <span class="mono">{hook.url}</span>
        <div class="small muted">{aboutHook(hook)}</div>
        <Deliveries hook={hook} of={given.of} />
      </div>
      {mayChange() && (
        <div class="actions">
          {(
            [
              [
                isActive ? "Pause" : "Resume",
                isActive ? "Pause" : "Resume",
                () => given.onState(isActive ? "paused" : "active")
              ],
              ["Test", "Test", given.onTest],
              ["Repeat", "Repeat for", given.onRepeat],
              ["New secret …", "New secret for", () => ask({ _tag: "Secret", hook })],
              ["Delete …", "Delete", () => ask({ _tag: "Remove", hook })]
            ] as const
          ).map(([text, label, onClick]) => (
            <button key={text} type="button" class="plain" aria-label={`${label} ${hook.url}`} onClick={onClick}>
              {text}
            </button>
          ))}
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

const tones = { pending: "", delivered: "good", failed: "warn" } as const

/** The newest messages, once somebody opens the list. */
const Deliveries = ({ hook, of }: { readonly hook: HookRecord; readonly of: Of }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary class="small">
        Messages<span class="hidden"> to {hook.url}</span>
      </summary>
      {isOpen && <DeliveryList hook={hook} of={of} />}
    </details>
  )
}

const DeliveryList = ({ hook, of }: { readonly hook: HookRecord; readonly of: Of }) => {
  const [state, setState] = useState<keyof typeof tones | "">("")
  const { loaded } = useLoad(
    (signal) => call("GET", `/v1/webhooks/${hook.id}/deliveries`, { ...of, query: { state, limit: shownMax }, signal }),
    [hook.id, hook.pending, hook.failed, hook.deliveredAt, state]
  )
  return (
    <>
      <Choice
        label="State of the messages"
        value={state}
        options={[
          ["", `the newest ${shownMax} of all`],
          ["pending", "waiting"],
          ["delivered", "delivered"],
          ["failed", "given up"]
        ]}
        onValue={setState}
      />
      <Show of={loaded}>
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <p class="small muted">No such message.</p>
          ) : (
            <ul class="small deliveries">
              {deliveries.map(({ agentId, attempts, createdAt, id, reason, state: how, type }) => (
                <li key={id}>
                  <span class={`badge ${tones[how]}`}>{how === "failed" ? "given up" : how}</span> {type}{" "}
                  <UserText of={agentId ?? ""} /> · made {moment(createdAt)} · attempts: {count(attempts)}
                  {reason !== null && ` · ${reason}`}
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </>
  )
}
