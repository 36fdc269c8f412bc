/** What an account manages itself: its keys, its webhooks, what it used, and its memories as a file. */
import type { JSX } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { type ApiError, call } from "../service/api.ts"
import { now } from "../service/browser.ts"
import { exportMemories, type Progress } from "../service/exporting.ts"
import { asApiError, useLoad } from "../service/load.ts"
import { amount, quotaNames, quotaText } from "../service/operator.ts"
import { linkTo, parameters } from "../service/route.ts"
import { isBound, mayChange, session } from "../service/session.ts"
import { duration } from "../service/text.ts"
import { count, countOfMemories } from "../service/words.ts"
import { Notice, Refused, Show } from "../ui/Notice.tsx"
import { TimeChart } from "../ui/TimeChart.tsx"
import { Meter } from "./AccountPanel.tsx"
import { Keys } from "./Keys.tsx"
import { Purses } from "./Money.tsx"
import { Webhooks } from "./Webhooks.tsx"

const dayMillis = 86_400_000
const daysShown = 30

const isoDay = (at: number): string => new Date(at).toISOString().slice(0, "2026-11-25".length)

/** Calls that were charged and credits, for each UTC day, with zeros where there were none. The books of the whole account. */
const usageOf = async (signal: AbortSignal) => {
  const today = Date.parse(isoDay(now()))
  const times = Array.from({ length: daysShown }, (_, at) => today - (daysShown - 1 - at) * dayMillis)
  const query = { from: isoDay(times[0] ?? today), limit: 1 }
  const [{ agents, quotas = [] }, days] = await Promise.all([
    call("GET", "/v1/account", { signal }),
    isBound() ? undefined : call("GET", "/v1/account/costs", { query, signal }).then((costs) => costs.days)
  ])
  if (days === undefined) return { agents, quotas, times, each: undefined }
  const byDay = new Map(days.map((one) => [one.day, one]))
  const each = times.map((at) => byDay.get(isoDay(at)) ?? { calls: 0, credits: 0 })
  return { agents, quotas, times, each }
}

const Usage = () => {
  const { loaded } = useLoad(usageOf, [])
  return (
    <section class="stack" aria-label="Usage">
      <Purses />
      <Show of={loaded}>
        {({ agents, each, quotas, times }) => (
          <>
            {each !== undefined && <Days each={each} times={times} />}
            <section class="card stack tight quotas" aria-label="Quotas">
              <h3>
                {countOfMemories(agents.reduce((sum, { memories }) => sum + (memories ?? 0), 0))} of{" "}
                {count(agents.length)} {agents.length === 1 ? "agent" : "agents"}
              </h3>
              {quotas.map(({ limit, name, used }) => (
                <Meter key={name} name={quotaNames[name]} used={used} limit={limit} text={quotaText(name)} />
              ))}
            </section>
          </>
        )}
      </Show>
    </section>
  )
}

interface Day {
  readonly calls: number
  readonly credits: number
}

const Days = ({ each, times }: { readonly each: ReadonlyArray<Day>; readonly times: ReadonlyArray<number> }) => {
  const frame = { times, from: times[0] ?? 0, to: (times.at(-1) ?? 0) + dayMillis, stepMillis: dayMillis }
  return (
    <>
      <div class="charts">
        <TimeChart
          title="Calls by day"
          frame={frame}
          isArea
          text={count}
          lines={[{ name: "charged calls", tone: "a", values: each.map(({ calls }) => calls) }]}
        />
        <TimeChart
          title="Credits by day"
          frame={frame}
          isArea
          text={amount}
          lines={[{ name: "credits", tone: "a", values: each.map(({ credits }) => credits) }]}
        />
      </div>
      <p class="small muted">
        {daysShown} days, UTC. <a href={linkTo("money")}>What each agent cost, and every movement</a> ·{" "}
        <a href={linkTo("audit")}>Each call, the free and the refused ones too</a>
      </p>
    </>
  )
}

const Export = () => {
  const [progress, show] = useState<Progress | undefined>(undefined)
  const [saved, setSaved] = useState<number | undefined>(undefined)
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const controller = useRef(new AbortController())
  useEffect(() => () => controller.current.abort(), [])
  const run = (): void => {
    controller.current = new AbortController()
    const { signal } = controller.current
    let done = 0
    showError(undefined)
    setSaved(undefined)
    show({ done, total: undefined, waits: undefined })
    exportMemories(
      `${session.value?.account ?? "account"}-memories.jsonl`,
      (next) => {
        done = next.done
        show(next)
      },
      signal
    )
      .then(
        (isSaved) => isSaved && setSaved(done),
        (cause: unknown) => signal.aborted || showError(asApiError(cause))
      )
      .finally(() => show(undefined))
  }
  return (
    <section class="card stack" aria-label="Export">
      <div class="head">
        <h3>Export</h3>
      </div>
      <p>
        All memories and messages that this key sees, with their older versions, as JSON lines: one memory a line, as
        the API has it.{" "}
        {mayChange() && (
          <>
            <a href={linkTo("add", { show: "many" })}>Import</a> reads such a file.{" "}
          </>
        )}
        Each hundred costs what a list costs.
      </p>
      {error !== undefined && <Refused error={error} />}
      {saved !== undefined && <Notice tone="good">{countOfMemories(saved)} are in the file.</Notice>}
      {progress === undefined ? (
        <div class="actions">
          <button type="button" class="primary" onClick={run}>
            Export to a file
          </button>
        </div>
      ) : (
        <div class="actions" role="status">
          <progress
            max={progress.total ?? 1}
            value={progress.total === undefined ? undefined : progress.done}
            aria-label="Export"
          />
          <span>
            {count(progress.done)}
            {progress.total !== undefined && ` of ${count(progress.total)}`}
            {progress.waits !== undefined && `, waits ${duration(progress.waits)} for the limit of calls`}
          </span>
          <button type="button" onClick={() => controller.current.abort()}>
            Stop
          </button>
        </div>
      )}
    </section>
  )
}

type Tab = "keys" | "webhooks" | "usage" | "export"

const tabs: ReadonlyArray<readonly [Tab, string, () => JSX.Element]> = [
  [
    "keys",
    "Keys",
    () => (
      <div class="card">
        <Keys />
      </div>
    )
  ],
  [
    "webhooks",
    "Webhooks",
    () => (
      <div class="card">
        <Webhooks />
      </div>
    )
  ],
  ["usage", "Usage", Usage],
  ["export", "Export", Export]
]

export const OwnAccount = () => {
  const shown = tabs.filter(([name]) => name !== "webhooks" || !isBound())
  const [tab, , Part] = shown.find(([name]) => name === parameters.value.get("show")) ?? tabs[0]!
  return (
    <>
      <div class="head">
        <h2>Your account</h2>
        <p class="small">{session.value?.account}</p>
      </div>
      <nav class="tabs" aria-label="Parts of this page">
        {shown.map(([name, title]) => (
          <a key={name} href={linkTo("own", { show: name })} aria-current={name === tab ? "true" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Part />
    </>
  )
}

/** Instead of every page of an account whose keys open nothing now. */
export const SuspendedPage = ({
  error,
  onRetry,
  onSignOut
}: {
  readonly error: ApiError | undefined
  readonly onRetry: () => void
  readonly onSignOut: () => void
}) => (
  <main class="sign-in">
    <section class="card stack">
      <h1>This account is suspended</h1>
      <p>
        The operator of this service has suspended {session.value?.account ?? "it"}: its keys open nothing, here and in
        programs. Nothing is deleted, and all is as before once the operator resumes it. Ask them why.
      </p>
      {error !== undefined && <Refused error={error} />}
      <div class="actions">
        <button type="button" class="primary" onClick={onRetry}>
          {session.value === null ? "Sign in again" : "Look again"}
        </button>
        {session.value !== null && (
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
        )}
      </div>
    </section>
  </main>
)
