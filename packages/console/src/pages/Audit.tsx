/** Audit log: changes by operators, and the calls of accounts. Names, times and outcomes, never content. */
import type { AuditEvent, RequestRecord } from "@muniment/domain/Operations"
import { useEffect, useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { change, linkTo, type Parameters, parameters } from "../service/route.ts"
import { type KeyLabels, keyLabels } from "../service/operator.ts"
import { session } from "../service/session.ts"
import { ago, exactMoment } from "../service/text.ts"
import { UserText } from "../ui/UserText.tsx"
import { count, deletionText } from "../service/words.ts"
import { Filters, givenPeriod, PeriodFields, Choice, Field } from "../ui/Field.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Show } from "../ui/Notice.tsx"

type Event = typeof AuditEvent.Type

/** An account sees its own calls. */
export const Audit = () => (session.value?.role === "operator" ? <OperatorAudit /> : <OwnCalls />)

const OwnCalls = () => (
  <>
    <div class="head">
      <h2>Calls</h2>
      <p class="small">By which key, what and when; never what was said</p>
    </div>
    <Requests isOwn />
  </>
)

const OperatorAudit = () => {
  const isOfRequests = parameters.value.get("show") === "requests"
  return (
    <>
      <div class="head">
        <h2>Audit</h2>
        <p class="small">Who, what and when; never what was said</p>
      </div>
      <nav class="tabs" aria-label="Parts of this page">
        <a href={linkTo("audit")} aria-current={isOfRequests ? undefined : "true"}>
          Changes by operators
        </a>
        <a href={linkTo("audit", { show: "requests" })} aria-current={isOfRequests ? "true" : undefined}>
          Calls of accounts
        </a>
      </nav>
      {isOfRequests ? <Requests isOwn={false} /> : <Events />}
    </>
  )
}

const pageSize = 200

/** Pages of a log, newest first, each before the last id of the one before. */
const useLog = <A extends { readonly id: number }>(
  path: string,
  filters: Parameters,
  rowsOf: (answer: unknown) => ReadonlyArray<A>
) => {
  const [rows, setRows] = useState<ReadonlyArray<A>>([])
  const [before, setBefore] = useState<number | undefined>(undefined)
  const key = JSON.stringify(filters)
  useEffect(() => setBefore(undefined), [key])
  const { loaded, reload } = useLoad(
    async (signal) => rowsOf(await call("GET", path, { query: { ...filters, before, limit: pageSize }, signal })),
    [key, before]
  )
  useEffect(() => {
    if (loaded.state === "ready") setRows((earlier) => (before === undefined ? [] : earlier).concat(loaded.value))
  }, [loaded])
  const hasMore = loaded.state === "ready" && loaded.value.length === pageSize
  const more = hasMore ? () => setBefore(rows.at(-1)?.id) : undefined
  return { loaded, reload, rows, more }
}

const Log = <A extends { readonly id: number }>(given: {
  readonly label: string
  readonly log: ReturnType<typeof useLog<A>>
  readonly columns: ReadonlyArray<Column<A>>
  readonly empty: string
}) => (
  <>
    <Show of={given.log.loaded}>
      {() => (
        <GrowingTable
          label={given.label}
          columns={given.columns}
          rows={given.log.rows}
          keyOf={({ id }) => String(id)}
          empty={given.empty}
          isDense
        />
      )}
    </Show>
    {given.log.more !== undefined && (
      <button type="button" onClick={given.log.more}>
        Load earlier ones
      </button>
    )}
  </>
)

const Events = () => {
  const given = parameters.value
  const filters = {
    action: given.get("action") ?? undefined,
    subject: given.get("subject") ?? undefined,
    operator: given.get("operator") ?? undefined,
    ...givenPeriod()
  }
  const log = useLog("/admin/audit", filters, (answer) => (answer as { readonly events: ReadonlyArray<Event> }).events)
  return (
    <section class="stack">
      <Filters names={["action", "subject", "operator", "from", "to"]}>
        <Field
          label="Action or group"
          placeholder="accounts"
          value={filters.action ?? ""}
          onValue={(action) => change({ action })}
        />
        <Field
          label="About"
          placeholder="account, key, memory"
          value={filters.subject ?? ""}
          onValue={(subject) => change({ subject })}
        />
        <Field label="Operator" value={filters.operator ?? ""} onValue={(operator) => change({ operator })} />
        <PeriodFields />
      </Filters>
      <Log label="Changes by operators" log={log} columns={eventColumns} empty="No change matches these filters." />
    </section>
  )
}

const When = ({ at }: { readonly at: number }) => (
  <span class="nowrap" title={ago(at)}>
    {exactMoment(at)}
  </span>
)

const eventColumns: ReadonlyArray<Column<Event>> = [
  { title: "When", cell: ({ at }) => <When at={at} /> },
  {
    title: "Operator",
    cell: ({ operator }) => (operator === null ? "" : <a href={linkTo("audit", { operator })}>{operator}</a>)
  },
  { title: "Action", cell: ({ action }) => <span class="mono">{action}</span> },
  {
    title: "Account, key or other",
    cell: ({ subject }) => (subject === null ? "" : <a href={linkTo("audit", { subject })}>{subject}</a>)
  },
  { title: "Of", cell: (event) => <Target event={event} /> },
  {
    title: "Details",
    cell: ({ detail, subject }) => {
      const text = eventDetails(detail, subject)
      return text === "" ? (
        ""
      ) : (
        <span class="small breaking">
          <UserText of={text} />
        </span>
      )
    }
  }
]

/** Target of a change in place of an account: the memory, schema or other thing that its path names. */
const Target = ({ event: { detail, subject } }: { readonly event: Event }) => {
  const [, group = "", id = ""] = /^\/v1\/([\w-]+)\/([^/]+)/.exec(String(detail["path"] ?? "")) ?? []
  if (id === "" || id === "batch" || subject === null) return null
  const named = decodeURIComponent(id)
  return group === "memories" ? (
    <a class="mono breaking" href={linkTo("memories", { in: subject, id: named })}>
      {named}
    </a>
  ) : (
    <span class="mono breaking">{named}</span>
  )
}

/** For a deletion of memories, whom and how many in words; else the fields that say what was changed. */
const eventDetails = ({ path: _path, ...detail }: Event["detail"], subject: Event["subject"]): string => {
  const { agentId, dryRun, kind, memories, subjectId, threadId, ...others } = detail
  const isDeletion = typeof memories === "number"
  const shown = Object.entries(isDeletion ? others : detail)
    .filter(([, value]) => value !== subject)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : String(value)}`)
  return (isDeletion ? [deletionText({ agentId, dryRun, kind, memories, subjectId, threadId }), ...shown] : shown).join(
    " · "
  )
}

const Requests = ({ isOwn }: { readonly isOwn: boolean }) => {
  const given = parameters.value
  const usual = isOwn ? "all" : "account"
  const by = given.get("by") ?? usual
  const filters = {
    ...(!isOwn && { account: given.get("account") ?? undefined }),
    caller: given.get("caller") ?? undefined,
    operation: given.get("operation") ?? undefined,
    refused: given.get("refused") ?? undefined,
    operator: by === "all" ? undefined : String(by === "operator"),
    ...givenPeriod()
  }
  const labels = useLoad(keyLabels, []).loaded.value ?? noLabels
  const log = useLog(
    isOwn ? "/v1/account/requests" : "/admin/requests",
    filters,
    (answer) => (answer as { readonly requests: ReadonlyArray<RequestRecord> }).requests
  )
  return (
    <section class="stack">
      <Filters
        names={["account", "caller", "operation", "refused", "by", "from", "to"]}
        actions={
          <button type="button" onClick={log.reload}>
            Look again
          </button>
        }
      >
        {!isOwn && <Field label="Account" value={filters.account ?? ""} onValue={(account) => change({ account })} />}
        <Field label="Key or wallet" value={filters.caller ?? ""} onValue={(caller) => change({ caller })} />
        <Field
          label="Operation or group"
          placeholder="memories"
          value={filters.operation ?? ""}
          onValue={(operation) => change({ operation })}
        />
        <Choice
          label="Outcome"
          value={filters.refused ?? ""}
          options={[
            ["", "all"],
            ["false", "done"],
            ["true", "refused"]
          ]}
          onValue={(refused) => change({ refused })}
        />
        <CalledBy value={by} usual={usual} />
        <PeriodFields />
      </Filters>
      {!isOwn && (
        <p class="small muted">
          Kept for 30 days, unless <code>MUNIMENT_REQUEST_DAYS</code> says otherwise.
        </p>
      )}
      <Log
        label="Calls of accounts"
        log={log}
        columns={requestColumns(labels).filter(({ title }) => !isOwn || title !== "Account")}
        empty="No call matches these filters."
      />
    </section>
  )
}

/** Filter `by` of the address; `usual` stands without it. */
export const CalledBy = ({ usual, value }: { readonly usual: string; readonly value: string }) => (
  <Choice
    label="Called by"
    value={value}
    options={[
      ["account", "the account"],
      ["operator", "an operator for it"],
      ["all", "all"]
    ]}
    onValue={(by) => change({ by: by === usual ? "" : by })}
  />
)

type Labels = KeyLabels
export const noLabels: Labels = new Map()

/** Ids of keys and addresses of wallets differ at their ends; the title has all of them. */
const shortName = (caller: string): string =>
  caller.startsWith("operator") || caller.length < 20
    ? caller.replace(/^operator:/, "operator ")
    : `…${caller.slice(-6)}`

const callsOf = (account: string): string => linkTo("audit", { show: "requests", account })

/** `linkOf`: where the name of an account leads. */
export const requestColumns = (labels: Labels, linkOf = callsOf): ReadonlyArray<Column<RequestRecord>> => [
  { title: "When", by: ({ at }) => at, cell: ({ at }) => <When at={at} /> },
  {
    title: "Account",
    by: ({ account }) => account,
    cell: ({ account }) =>
      account === null ? (
        <span class="muted">not known</span>
      ) : (
        <a class="nowrap" href={linkOf(account)}>
          {account}
        </a>
      )
  },
  {
    title: "By",
    cell: ({ caller }) =>
      caller === null ? (
        ""
      ) : (
        <a class="mono nowrap" title={caller} href={linkTo("audit", { show: "requests", caller })}>
          {labels.get(caller) || shortName(caller)}
        </a>
      )
  },
  { title: "Agent", by: ({ agentId }) => agentId, cell: ({ agentId }) => <UserText of={agentId} /> },
  {
    title: "Operation",
    by: ({ operation }) => operation,
    cell: ({ deleted, operation }) => (
      <span>
        <span class="mono">{operation}</span>
        {deleted !== undefined && <div class="small">{deletionText(deleted)}</div>}
      </span>
    )
  },
  {
    title: "Outcome",
    by: ({ status }) => status,
    cell: ({ code, status }) => (
      <span>
        <span class={`badge ${toneOf(status)}`}>{status}</span> <span class="mono small">{code}</span>
      </span>
    )
  },
  {
    title: "Took",
    isNumber: true,
    by: ({ millis }) => millis,
    cell: ({ millis }) => <span class="nowrap">{millis < 10 ? millis.toFixed(1) : count(Math.round(millis))} ms</span>
  }
]

/** Status of a call whose client left: not refused, and no error. */
const clientLeft = 499

const toneOf = (status: number): string =>
  status < 400 ? "good" : status === clientLeft ? "" : status < 500 ? "warn" : "bad"
