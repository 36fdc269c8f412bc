/** Parts of the service, and what it does by itself: jobs, indexes, models, queues, disk, sessions. */
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { ComponentChildren, JSX } from "preact"
import { call, callText, type ApiError } from "../service/api.ts"
import { useLoad, asApiError } from "../service/load.ts"
import { linkTo, parameters } from "../service/route.ts"
import { may } from "../service/session.ts"
import { bytes, duration } from "../service/text.ts"
import { count } from "../service/words.ts"
import { modelProblemText } from "../service/operator.ts"
import { Notice, Show, Refused } from "../ui/Notice.tsx"
import { type Column, Table, Fact } from "../ui/Table.tsx"
import { Backups } from "./Backups.tsx"
import { Indexes, Jobs } from "./Indexes.tsx"
import { Operators } from "./Operators.tsx"
import { Sessions } from "./Sessions.tsx"
import { useState } from "preact/hooks"

type Tab = "state" | "jobs" | "indexes" | "backups" | "sessions" | "operators"

const tabs: ReadonlyArray<readonly [Tab, string]> = [
  ["state", "State"],
  ["jobs", "Daily job"],
  ["indexes", "Indexes"],
  ["backups", "Backups"],
  ["sessions", "Sessions and webhook"],
  ["operators", "Operators"]
]

const refreshMillis = 5_000

export const System = () => {
  const shown = tabs.filter(
    ([name]) => (name !== "operators" || may("operators.listOperators")) && (name !== "backups" || may("backups.state"))
  )
  const tab = shown.find(([name]) => name === parameters.value.get("show"))?.[0] ?? "state"
  const Part = parts[tab]
  return (
    <>
      <div class="head">
        <h2>System</h2>
      </div>
      <nav class="tabs" aria-label="Parts of this page">
        {shown.map(([name, title]) => (
          <a key={name} href={linkTo("system", { show: name })} aria-current={name === tab ? "true" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Part />
    </>
  )
}

const State = () => {
  const status = useLoad((signal) => call("GET", "/admin/status", { signal }), [], refreshMillis)
  const metrics = useLoad(async (signal) => parseMetrics(await callText("/metrics", { signal })), [], refreshMillis)
  return (
    <Show of={status.loaded}>
      {(value) => (
        <>
          {value.quarantined.length > 0 && (
            <Notice tone="bad">
              <strong>Set aside, because they are damaged:</strong>
              <ul>
                {value.quarantined.map(({ file, reason }) => (
                  <li key={file}>
                    <span class="mono">{file}</span>: {reason}
                  </li>
                ))}
              </ul>
            </Notice>
          )}
          <div class="grid">
            <Models status={value} onChanged={status.reload} />
            <Card title="Disk and backups">{diskFacts(value)}</Card>
            <Card title="Log">{logFacts(value)}</Card>
            <Card title="Reading of all files">{scrubFacts(value)}</Card>
            <Card title="Background work">{roundFacts(value)}</Card>
          </div>
          <section class="stack">
            <h3>Queues</h3>
            <Show of={metrics.loaded}>{(found) => <Queues metrics={found} />}</Show>
          </section>
        </>
      )}
    </Show>
  )
}

type Fact = readonly [name: string, value: ComponentChildren]

const Card = (given: { readonly title: string; readonly children: ReadonlyArray<Fact> }) => (
  <section class="card" aria-label={given.title}>
    <div class="head">
      <h2>{given.title}</h2>
    </div>
    <dl class="facts">
      {given.children.map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
    </dl>
  </section>
)

const badge = (tone: "good" | "warn" | "bad", text: string) => <span class={`badge ${tone}`}>{text}</span>

const diskFacts = ({ backup, dataDirectory, disk, namespaces }: ServiceStatus): ReadonlyArray<Fact> => [
  ["Data directory", <span class="mono">{dataDirectory}</span>],
  ["Free", bytes(disk.freeBytes)],
  ["In reserve", bytes(disk.ballastBytes)],
  ["Files of agents", `${count(namespaces.total)}, ${count(namespaces.open)} open`],
  [
    "Last backup",
    backup.ageSeconds === null ? badge("warn", "none is known") : `begun ${duration(backup.ageSeconds)} ago`
  ],
  ["A new one", <code>muniment backup create --to DIR</code>]
]

const logFacts = ({ commitLog, control }: ServiceStatus): ReadonlyArray<Fact> => [
  ...(commitLog === null
    ? [["Commit log", "in PostgreSQL, shared by all nodes"] as const]
    : ([
        [
          "State",
          commitLog.damage.length > 0
            ? badge("bad", `${count(commitLog.damage.length)} records are damaged`)
            : commitLog.isFull
              ? badge("bad", "full: only deletes are accepted")
              : commitLog.isCurrent
                ? badge("good", "whole")
                : badge("warn", "ended by an error; the next write opens it anew")
        ],
        ["Size", `${bytes(commitLog.bytes)}, segments: ${count(commitLog.segments)}`],
        ["Ordinals", `${count(commitLog.firstOrdinal)} to ${count(commitLog.lastOrdinal)}`],
        ["Syncs since the start", count(commitLog.syncs)],
        ...commitLog.damage.map((text, at) => [`Damage ${at + 1}`, text] as const)
      ] satisfies ReadonlyArray<Fact>)),
  ["Changes of control.db not synced", count(control.behind)],
  ["control.db checked", control.checkedSeconds === null ? "not yet" : `${duration(control.checkedSeconds)} ago`]
]

const scrubFacts = ({ scrub }: ServiceStatus): ReadonlyArray<Fact> => [
  ["Last full round", scrub.ageSeconds === null ? "none has ended yet" : `ended ${duration(scrub.ageSeconds)} ago`],
  [scrub.isRunning ? "Read by this round" : "Read by it", `${count(scrub.files)} files`],
  ["Found", scrub.damaged.length === 0 ? badge("good", "no damage") : badge("bad", `${count(scrub.damaged.length)}`)],
  ...scrub.damaged.map(
    ({ file, isMended, reason }) => [file, `${reason}${isMended ? " (mended)" : " (not mended)"}`] as const
  )
]

const roundFacts = ({ rounds }: ServiceStatus): ReadonlyArray<Fact> => {
  const failed = rounds.filter(({ failures }) => failures > 0)
  const failing = failed.filter(({ isFailing }) => isFailing)
  return [
    ["Kinds", count(rounds.length)],
    ["State", failing.length === 0 ? badge("good", "goes on") : badge("warn", `${count(failing.length)} fail`)],
    ...failed.map(
      ({ failures, lastFailure, name }) =>
        [name, `${count(failures)} failures since the start, the last: ${lastFailure?.reason ?? ""}`] as const
    )
  ]
}

interface Queue {
  readonly work: string
  readonly inWork: number
  readonly limit: number
  readonly waiting: number
  readonly waitSeconds: number
  readonly refused: number
}

const Queues = ({ metrics }: { readonly metrics: Metrics }) => {
  const of = (name: string, work: string) =>
    metrics.sum(`muniment_admission_${name}`, (labels) => labels["work"] === work) ?? 0
  const rows = metrics.samples("muniment_admission_in_work_limit").map(({ labels, value }): Queue => {
    const work = labels["work"] ?? ""
    return {
      work,
      inWork: of("in_work", work),
      limit: value,
      waiting: of("waiting", work),
      waitSeconds: of("wait_seconds", work),
      refused: of("refused_total", work)
    }
  })
  return <Table label="Queues" columns={queueColumns} rows={rows} keyOf={({ work }) => work} />
}

const queueColumns: ReadonlyArray<Column<Queue>> = [
  { title: "Work", cell: ({ work }) => work },
  { title: "In work", isNumber: true, cell: ({ inWork }) => count(inWork) },
  { title: "At once", isNumber: true, cell: ({ limit }) => count(Math.round(limit)) },
  { title: "Waiting", isNumber: true, cell: ({ waiting }) => count(waiting) },
  {
    title: "Expected wait",
    isNumber: true,
    cell: ({ waitSeconds }) => (waitSeconds < 1 ? `${(waitSeconds * 1_000).toFixed(0)} ms` : duration(waitSeconds))
  },
  { title: "Refused since the start", isNumber: true, cell: ({ refused }) => count(refused) }
]

const parts: Readonly<Record<Tab, () => JSX.Element>> = {
  state: State,
  jobs: Jobs,
  indexes: Indexes,
  backups: Backups,
  sessions: Sessions,
  operators: Operators
}

/** The models at work, how far re-embedding is, and its start. */
const Models = (given: { readonly status: ServiceStatus; readonly onChanged: () => void }) => {
  const { embedding, extraction, index } = given.status
  const progress = useLoad((signal) => call("GET", "/admin/reembed", { signal }), [embedding.pending, embedding.ready])
  const [error, showError] = useState<ApiError | undefined>(undefined)
  const start = (): void => {
    call("POST", "/admin/reembed").then(
      () => {
        showError(undefined)
        given.onChanged()
        progress.reload()
      },
      (cause: unknown) => showError(asApiError(cause))
    )
  }
  return (
    <section class="card stack" aria-label="Models">
      <div class="head">
        <h2>Models</h2>
      </div>
      <dl class="facts">
        <Fact name="Embedding">
          {embedding.model ?? "none: search by words alone"}{" "}
          <span class={`badge ${embedding.ready ? "good" : "warn"}`}>{embedding.detail}</span>
        </Fact>
        <Fact name="Vectors to make">
          <Show of={progress.loaded}>
            {({ pending, total }) => (
              <>
                {count(pending)} of {count(total)}
              </>
            )}
          </Show>
        </Fact>
        <Fact name="Vector index">
          {index.engine}: {index.detail}
        </Fact>
        <Fact name="Reader of conversations">
          {extraction.reader}
          {extraction.problem !== null && (
            <Notice tone="warn">{modelProblemText(extraction.reader, extraction.problem)}</Notice>
          )}
        </Fact>
        <Fact name="Conversations to read">
          {count(extraction.pending)}
          {extraction.pending > 0 && `, the oldest for ${duration(extraction.oldestSeconds)}`}
        </Fact>
      </dl>
      {error !== undefined && <Refused error={error} />}
      {may("admin.reembed") && (
        <div class="actions">
          <button type="button" onClick={start}>
            Make missing vectors now
          </button>
        </div>
      )}
    </section>
  )
}

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly labels: Labels
  readonly value: number
}

interface Metrics {
  readonly samples: (name: string) => ReadonlyArray<Sample>
  /** Undefined: there is no such metric yet. */
  readonly sum: (name: string, keep?: (labels: Labels) => boolean) => number | undefined
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** The service's metrics, from the text format of Prometheus. */
const parseMetrics = (text: string): Metrics => {
  const byName = new Map<string, Array<Sample>>()
  for (const row of text.split("\n")) {
    const match = row.startsWith("#") ? null : line.exec(row)
    if (match === null) continue
    const [, name = "", labelText = "", value = ""] = match
    const labels = Object.fromEntries([...labelText.matchAll(label)].map(([, key = "", held = ""]) => [key, held]))
    const known = byName.get(name)
    const sample = { labels, value: value === "+Inf" ? Infinity : Number(value) }
    if (known === undefined) byName.set(name, [sample])
    else known.push(sample)
  }
  const samples = (name: string) => byName.get(name) ?? []
  return {
    samples,
    sum: (name, keep = () => true) => {
      const found = byName.get(name)
      return found?.filter(({ labels }) => keep(labels)).reduce((total, { value }) => total + value, 0)
    }
  }
}
