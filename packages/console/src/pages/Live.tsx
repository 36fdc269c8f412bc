/** What happens now: calls with their outcome and where their time went, and changes of an account. Never content. */
import type { CallStage } from "@muniment/domain/StageTimes"
import type { clientLeft as contractClientLeft, RequestRecord } from "@muniment/domain/Operations"
import { type ComponentChildren, Fragment } from "preact"
import { useMemo, useState } from "preact/hooks"
import { useLoad } from "../service/load.ts"
import { type Tail, type Told, useCalls, useEvents } from "../service/live.ts"
import { keyLabels } from "../service/operator.ts"
import { account, change, linkTo, parameters } from "../service/route.ts"
import { decimal, duration, exactMoment, millis } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Choice, FacetField, Field, Filters } from "../ui/Field.tsx"
import { Empty, Refused, Waiting } from "../ui/Notice.tsx"
import { type Column, Table } from "../ui/Table.tsx"
import { TimeChart } from "../ui/TimeChart.tsx"
import { UserText } from "../ui/UserText.tsx"
import { CalledBy, noLabels, requestColumns } from "./Audit.tsx"

export const Live = () => {
  const isOfEvents = parameters.value.get("show") === "events"
  const [isPaused, pause] = useState(false)
  const pausing = { isPaused, pause }
  return (
    <>
      <div class="head">
        <h2>Live</h2>
        <p class="small">What happens now, by whom and how it ended; never what was said</p>
      </div>
      <nav class="tabs" aria-label="Parts of this page">
        <a href={linkTo("live")} aria-current={isOfEvents ? undefined : "true"}>
          Calls of all accounts
        </a>
        <a href={linkTo("live", { show: "events" })} aria-current={isOfEvents ? "true" : undefined}>
          Changes of an account
        </a>
      </nav>
      {isOfEvents ? <Events key={account.value} {...pausing} /> : <Calls {...pausing} />}
    </>
  )
}

interface Pausing {
  readonly isPaused: boolean
  readonly pause: (isPaused: boolean) => void
}

const State = (
  given: Pausing & {
    readonly tail: Tail<unknown>
    readonly isOpen: boolean
    readonly children: ComponentChildren
  }
) => {
  const { isOpen, isPaused, pause, tail } = given
  const isLost = !isPaused && tail.problem !== undefined
  return (
    <>
      <div class="actions">
        <button type="button" onClick={() => pause(!isPaused)}>
          {isPaused ? "Go on" : "Pause"}
        </button>
        <p class="small muted" role="status">
          <span class={`badge ${isPaused ? "warn" : isOpen && !isLost ? "good" : "bad"}`}>
            {isPaused ? "paused" : isLost ? "no connection: tried again" : isOpen ? "live" : "connecting"}
          </span>{" "}
          {given.children}
        </p>
      </div>
      {isLost && tail.problem !== undefined && <Refused error={tail.problem} />}
    </>
  )
}

/** This page with the filters that it has, for one account. */
const narrowed = (account: string): string => linkTo("live", { ...Object.fromEntries(parameters.value), account })

/** Slower than a search of a large agent is on a small machine. */
const slowMillis = "200"

const Calls = (pausing: Pausing) => {
  const given = parameters.value
  const [status, slow, order] = [given.get("status") ?? "", given.get("slow") ?? "", given.get("order") ?? ""]
  const by = given.get("by") ?? "account"
  const filters = {
    account: given.get("account") ?? undefined,
    operation: given.get("operation") ?? undefined,
    agentId: given.get("agent") ?? undefined,
    status: /^[1-5](?:\d\d|xx)$/.test(status) ? status : undefined,
    slowerThan: /^\d{1,7}$/.test(slow) ? slow : undefined,
    order: order === "slowest" ? order : undefined,
    operator: by === "all" ? undefined : String(by === "operator")
  }
  const labels = useLoad(keyLabels, []).loaded.value ?? noLabels
  const columns = useMemo(() => [...requestColumns(labels, narrowed), stagesColumn], [labels])
  const tail = useCalls(filters, pausing.isPaused)
  const toggles: ReadonlyArray<readonly [text: string, name: string, value: string, now: string]> = [
    ["Server errors", "status", "5xx", status],
    ["Refused", "status", "4xx", status],
    ["Slow only", "slow", slowMillis, slow],
    ["Slowest first", "order", "slowest", order]
  ]
  return (
    <section class="stack">
      <Filters
        names={["account", "operation", "agent", "status", "slow", "by"]}
        actions={toggles.map(([text, name, value, now]) => (
          <button
            key={text}
            type="button"
            aria-pressed={now === value}
            onClick={() => change({ [name]: now === value ? "" : value })}
          >
            {text}
          </button>
        ))}
      >
        <Field label="Account" value={given.get("account") ?? ""} onValue={(value) => change({ account: value })} />
        <Field
          label="Operation or group"
          placeholder="memories"
          value={given.get("operation") ?? ""}
          onValue={(operation) => change({ operation })}
        />
        <Field label="Agent" value={given.get("agent") ?? ""} onValue={(agent) => change({ agent })} />
        <Field
          label="Status"
          placeholder="404 or 5xx"
          value={status}
          suggestions={["2xx", "4xx", "5xx", "401", "402", "403", "404", "429", "499", "503"]}
          onValue={(value) => change({ status: value.toLowerCase() })}
        />
        <Field label="Milliseconds, at least" type="number" value={slow} onValue={(value) => change({ slow: value })} />
        <CalledBy value={by} usual="account" />
      </Filters>
      <State {...pausing} tail={tail} isOpen={tail.rows !== undefined}>
        {order === "slowest" ? "The slowest of all calls that are kept" : "The newest first"}
        {status !== "" && filters.status === undefined && `; “${status}” is no status`}
      </State>
      {tail.rows === undefined ? (
        tail.problem === undefined && <Waiting />
      ) : tail.rows.length === 0 ? (
        <p class="muted">No call matches these filters yet.</p>
      ) : (
        <>
          {order !== "slowest" && <CallsChart calls={tail.rows} />}
          <Spent calls={tail.rows} />
          <Table label="Calls" rows={tail.rows} keyOf={({ id }) => String(id)} columns={columns} isDense />
        </>
      )}
    </section>
  )
}

/** From a second to a day. */
const chartSteps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400].map(
  (seconds) => seconds * 1_000
)
const chartStepsMax = 60

const clientLeft: typeof contractClientLeft = 499

/** How many of the shown calls ended in each step, and how; a client that left was not refused. */
const CallsChart = ({ calls }: { readonly calls: ReadonlyArray<RequestRecord> }) => {
  const ends = calls.map(({ at }) => at)
  const [first, last] = [Math.min(...ends), Math.max(...ends)]
  const stepMillis = chartSteps.find((step) => (last - first) / step < chartStepsMax) ?? 7 * 86_400_000
  const from = Math.floor(first / stepMillis) * stepMillis
  const steps = Math.floor((last - from) / stepMillis) + 1
  // A step alone stands in the middle.
  const margin = steps === 1 ? stepMillis / 2 : 0
  const counted = (isCounted: (status: number) => boolean): ReadonlyArray<number> => {
    const counts = Array.from({ length: steps }, () => 0)
    for (const { at, status } of calls) {
      const step = Math.floor((at - from) / stepMillis)
      if (isCounted(status)) counts[step] = (counts[step] ?? 0) + 1
    }
    return counts
  }
  return (
    <TimeChart
      title={`Calls in each ${duration(stepMillis / 1_000)}`}
      frame={{
        times: Array.from({ length: steps }, (_, at) => from + at * stepMillis),
        from: from - margin,
        to: from + (steps - 1) * stepMillis + margin,
        stepMillis
      }}
      isArea
      text={count}
      lines={[
        { name: "all", tone: "a", values: counted(() => true) },
        {
          name: "refused",
          tone: "b",
          values: counted((status) => status >= 400 && status < 500 && status !== clientLeft)
        },
        { name: "errors", tone: "c", values: counted((status) => status >= 500) }
      ]}
    />
  )
}

const stageNames: Readonly<Record<CallStage, string>> = {
  embedding: "vectors",
  statistics: "word counts",
  candidates: "candidates",
  fusion: "ranking",
  records: "records",
  reranking: "re-ranking",
  reading: "reading",
  storing: "storing",
  answering: "answering",
  drawing: "drawing the map",
  paying: "the chain"
}

interface Part {
  readonly name: string
  readonly millis: number
  /** Of the whole, 0 to 1. */
  readonly share: number
}

/** Longest first. Parts that ran side by side are more than the whole. */
const partsOf = (calls: ReadonlyArray<RequestRecord>): ReadonlyArray<Part> => {
  const whole = calls.reduce((sum, call) => sum + call.millis, 0)
  const parts = Object.entries(stageNames).map(([stage, name]) => ({
    name,
    millis: calls.reduce((sum, { stages }) => sum + (stages?.[stage as CallStage] ?? 0), 0)
  }))
  const known = parts.reduce((sum, part) => sum + part.millis, 0)
  const all = Math.max(whole, known)
  return [...parts, { name: "other", millis: all - known }]
    .filter((part) => part.millis > 0)
    .sort((one, other) => other.millis - one.millis)
    .map((part) => ({ ...part, share: part.millis / all }))
}

const percent = (share: number): string => `${decimal(Math.round(100 * share))} %`

const Parts = ({ parts }: { readonly parts: ReadonlyArray<Part> }) => (
  <dl class="parts">
    {parts.map((part) => (
      <Fragment key={part.name}>
        <dt>{part.name}</dt>
        <dd>
          <span class="bar" aria-hidden="true">
            <i style={{ width: `${100 * part.share}%` }} />
          </span>
          <span class="nowrap number">
            {millis(part.millis)}, {percent(part.share)}
          </span>
        </dd>
      </Fragment>
    ))}
  </dl>
)

/** Where the time of all shown calls went, once somebody asks. */
const Spent = ({ calls }: { readonly calls: ReadonlyArray<RequestRecord> }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="card" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Where the time of {calls.length === 1 ? "this call" : `these ${count(calls.length)} calls`} went
      </summary>
      {isOpen && (
        <div class="stack">
          <Parts parts={partsOf(calls)} />
          <Table
            label="By operation and account"
            rows={sumsOf(calls)}
            keyOf={({ account, operation }) => `${operation} ${account}`}
            columns={sumColumns}
          />
        </div>
      )}
    </details>
  )
}

interface Sum {
  readonly operation: string
  /** Null: not known. */
  readonly account: string | null
  readonly calls: number
  readonly millis: number
  readonly median: number
  readonly longest: number
}

/** That took the most time together first. */
const sumsOf = (calls: ReadonlyArray<RequestRecord>): ReadonlyArray<Sum> =>
  [...Map.groupBy(calls, ({ account, operation }) => JSON.stringify([operation, account]))]
    .map(([key, group]) => {
      const [operation, account]: [string, string | null] = JSON.parse(key)
      const took = group.map((one) => one.millis).sort((one, other) => one - other)
      return {
        operation,
        account,
        calls: took.length,
        millis: took.reduce((sum, one) => sum + one, 0),
        median: took[Math.floor(took.length / 2)] ?? 0,
        longest: took.at(-1) ?? 0
      }
    })
    .sort((one, other) => other.millis - one.millis)

const sumColumns: ReadonlyArray<Column<Sum>> = [
  { title: "Operation", by: ({ operation }) => operation, cell: ({ operation }) => <code>{operation}</code> },
  {
    title: "Account",
    by: ({ account }) => account,
    cell: ({ account }) =>
      account === null ? <span class="muted">not known</span> : <a href={narrowed(account)}>{account}</a>
  },
  { title: "Calls", isNumber: true, by: ({ calls }) => calls, cell: ({ calls }) => count(calls) },
  { title: "In all", isNumber: true, by: (sum) => sum.millis, cell: (sum) => millis(sum.millis) },
  { title: "Median", isNumber: true, by: ({ median }) => median, cell: ({ median }) => millis(median) },
  { title: "Longest", isNumber: true, by: ({ longest }) => longest, cell: ({ longest }) => millis(longest) }
]

const stagesColumn: Column<RequestRecord> = {
  title: "Where it went",
  cell: (call) => {
    const parts = partsOf([call])
    const [first] = parts
    return call.stages === undefined || first === undefined ? (
      ""
    ) : (
      <details>
        <summary>
          {first.name}, {percent(first.share)}
        </summary>
        <Parts parts={parts} />
      </details>
    )
  }
}

const memoryTypes = ["memory.created", "memory.updated", "memory.superseded", "memory.deleted"]

const Events = (pausing: Pausing) => {
  const given = parameters.value
  const [agentId, type, kind] = [given.get("agent") ?? "", given.get("type") ?? "", given.get("kind") ?? ""]
  const from = given.get("from") === "oldest" ? "oldest" : ""
  const tail = useEvents({ agentId, from }, pausing.isPaused)
  const rows = tail.rows?.filter(
    ({ event }) =>
      (type === "" || event.type === type || (type === "money" && /^(?:payment|refund)\./.test(event.type))) &&
      (kind === "" || event.data.kind === kind)
  )
  if (account.value === "") {
    return (
      <Empty title="Choose an account">
        <p>Its changes are shown here as they are made. Choose it above.</p>
      </Empty>
    )
  }
  return (
    <section class="stack">
      <Filters names={["agent", "type", "kind", "from"]}>
        <FacetField facet="agents" label="Agent" value={agentId} onValue={(agent) => change({ agent })} />
        <FacetField facet="kinds" label="Kind" value={kind} onValue={(value) => change({ kind: value })} />
        <Choice
          label="What"
          value={type}
          options={[
            ["", "all"],
            ...memoryTypes.map((name) => [name, name.replace("memory.", "")] as const),
            ["money", "payments and refunds"]
          ]}
          onValue={(value) => change({ type: value })}
        />
        <Choice
          label="From"
          value={from}
          options={[
            ["", "now on"],
            ["oldest", "the oldest that is kept"]
          ]}
          onValue={(value) => change({ from: value })}
        />
      </Filters>
      <State {...pausing} tail={tail} isOpen={tail.isOpen}>
        Changes of <UserText of={account.value} />, the newest first
      </State>
      {rows === undefined || rows.length === 0 ? (
        <p class="muted">Nothing has changed yet. What changes shows up here by itself.</p>
      ) : (
        <Table label="Changes" rows={rows} keyOf={({ id }) => id} columns={eventColumns} isDense />
      )}
    </section>
  )
}

const toneOf = (type: string): string =>
  type === "memory.created" || type.endsWith(".settled")
    ? "good"
    : /deleted|failed|reversed|lost/.test(type)
      ? "bad"
      : "accent"

const eventColumns: ReadonlyArray<Column<Told>> = [
  { title: "When", cell: ({ event }) => <span class="nowrap">{exactMoment(Date.parse(event.timestamp))}</span> },
  { title: "What", cell: ({ event: { type } }) => <span class={`badge ${toneOf(type)}`}>{type}</span> },
  { title: "Agent", cell: ({ event }) => <UserText of={event.data.agentId} /> },
  { title: "Kind", cell: ({ event }) => <UserText of={event.data.kind} /> },
  {
    title: "Subject",
    cell: ({ event: { data } }) =>
      data.subjectId === undefined ? (
        ""
      ) : (
        <a href={linkTo("subjects", { subjectId: data.subjectId })}>
          <UserText of={data.subjectId} />
        </a>
      )
  },
  {
    title: "Memory or payment",
    cell: ({ event: { data, type } }) =>
      data.memoryId === undefined ? (
        <span class="mono">{[data.payment, data.refund, data.reason].filter(Boolean).join(" · ")}</span>
      ) : type === "memory.deleted" ? (
        <span class="mono">{data.memoryId}</span>
      ) : (
        <a class="mono" href={linkTo("memories", { id: data.memoryId })}>
          {data.memoryId}
        </a>
      )
  }
]
