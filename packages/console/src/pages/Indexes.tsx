/** Cards of the system page: indexes of agents, and the daily job. */
import type { AgentIndex } from "@muniment/domain/api/AdminApi"
import { useEffect, useState } from "preact/hooks"
import type { JobReport, JobRun } from "@muniment/domain/Operations"
import { type Answer, call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { amount } from "../service/operator.ts"
import { change, parameters } from "../service/route.ts"
import { may } from "../service/session.ts"
import { ago, bytes, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { type Column, GrowingTable } from "../ui/Table.tsx"
import { Notice, Show } from "../ui/Notice.tsx"

/** One of an agent's indexes; an agent without vectors has a row too. */
interface Row extends Omit<AgentIndex, "indexes"> {
  readonly index: AgentIndex["indexes"][number] | undefined
}

export const Indexes = () => {
  const account = parameters.value.get("of") ?? ""
  const [pages, setPages] = useState<ReadonlyArray<Answer<"GET /admin/indexes">>>([])
  const [cursor, follow] = useState<string | undefined>(undefined)
  const { loaded } = useLoad(
    (signal) => call("GET", "/admin/indexes", { query: { account, cursor }, signal }),
    [account, cursor]
  )
  useEffect(() => {
    if (loaded.state === "ready") setPages((before) => (cursor === undefined ? [] : before).concat(loaded.value))
  }, [loaded])
  const agents = pages.flatMap((page) => page.agents)
  const next = pages.at(-1)?.nextCursor
  return (
    <section class="stack">
      <div class="facets">
        <Field
          label="Account"
          value={account}
          onValue={(of) => {
            follow(undefined)
            change({ of })
          }}
        />
      </div>
      <Show of={loaded}>
        {() => (
          <GrowingTable
            label="Indexes"
            columns={columns}
            rows={agents.flatMap(({ indexes, ...agent }): ReadonlyArray<Row> =>
              (indexes.length === 0 ? [undefined] : indexes).map((index) => ({ ...agent, index }))
            )}
            keyOf={({ account: owner, agentId, index }) => JSON.stringify([owner, agentId, index?.model])}
            empty="No agent has stored anything yet."
          />
        )}
      </Show>
      {next !== undefined && (
        <button type="button" onClick={() => follow(next)}>
          Next agents
        </button>
      )}
    </section>
  )
}

const columns: ReadonlyArray<Column<Row>> = [
  { title: "Account", by: ({ account }) => account, cell: ({ account }) => <span class="nowrap">{account}</span> },
  { title: "Agent", by: ({ agentId }) => agentId, cell: ({ agentId }) => <span class="nowrap">{agentId}</span> },
  {
    title: "Memories",
    by: ({ memories }) => memories,
    isNumber: true,
    cell: ({ memories }) => (memories === null ? <span class="badge bad">cannot be read</span> : count(memories))
  },
  {
    title: "Bytes",
    by: (row) => row.bytes,
    isNumber: true,
    cell: (row) => (row.bytes === null ? "–" : bytes(row.bytes))
  },
  { title: "Model", cell: ({ index }) => <span class="nowrap">{index?.model ?? ""}</span> },
  {
    title: "Vectors",
    by: ({ index }) => index?.vectors,
    isNumber: true,
    cell: ({ index }) => (index === undefined ? "" : count(index.vectors))
  },
  {
    title: "Engine",
    cell: ({ index }) =>
      index === undefined ? (
        "words alone"
      ) : (
        <span>
          {index.engine} <span class="muted">{index.reason}</span>
        </span>
      )
  },
  {
    title: "Recall",
    isNumber: true,
    cell: ({ index }) => (index === undefined ? "" : index.recall === null ? "–" : `${index.recall * 100} %`)
  },
  { title: "To index", isNumber: true, cell: ({ index }) => (index === undefined ? "" : count(index.backlog)) }
]

type Report = typeof JobReport.Type
type Run = typeof JobRun.Type
type JobOfAccount = Report["days"][number]["accounts"][number] & { readonly day: string }

/** The daily job: when it runs, what it did, what it would do now; a clock that has stepped is confirmed here. */
export const Jobs = () => {
  const { loaded, reload } = useLoad((signal) => call("GET", "/admin/jobs", { signal }), [])
  const [isAsking, setAsking] = useState(false)
  return (
    <section class="stack">
      <Show of={loaded}>
        {({ clockStep, nextRunAt, runs }) => (
          <>
            {clockStep !== null && (
              <Notice tone="bad">
                <strong>The clock has jumped</strong> from {moment(clockStep.seenAt)} to {moment(clockStep.now)}. The
                job waits until you say that the time is right: run it to do so.
              </Notice>
            )}
            <div class="head">
              <p>
                The next run is {ago(nextRunAt)} ({moment(nextRunAt)}): expired memories go, storage is charged.
              </p>
              {may("money.runJobs") && (
                <button type="button" onClick={() => setAsking(true)}>
                  {clockStep === null ? "Dry run …" : "The time is right …"}
                </button>
              )}
            </div>
            <GrowingTable
              label="Runs"
              columns={runColumns}
              rows={runs}
              keyOf={({ at, day }) => `${day} ${at}`}
              empty="No day has been settled yet."
            />
            {isAsking && <RunJob acceptsClock={clockStep !== null} onClose={() => setAsking(false)} onDone={reload} />}
          </>
        )}
      </Show>
    </section>
  )
}

const RunJob = (given: {
  readonly acceptsClock: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const run = (dryRun: boolean): Promise<Report> =>
    call("POST", "/admin/jobs/run", { body: { dryRun, ...(given.acceptsClock && { acceptClock: true }) } })
  return (
    <Confirm
      title="Daily job: what it would do"
      action="Run it now"
      preview={() => run(true)}
      describe={(report) => <Planned report={report} />}
      run={async () => {
        await run(false)
        given.onDone()
      }}
      onClose={given.onClose}
    />
  )
}

const Planned = ({ report }: { readonly report: Report }) => {
  const rows = report.days.flatMap(({ accounts, day }) => accounts.map((account) => ({ ...account, day })))
  return (
    <>
      <p>
        For {report.days.length === 0 ? "no day" : report.days.map(({ day }) => day).join(", ")}. A run does the days
        that are due; repeated, it changes nothing.
      </p>
      <GrowingTable
        label="What it would do"
        columns={plannedColumns}
        rows={rows}
        keyOf={({ account, day }) => `${day} ${account}`}
        empty="There is nothing to do."
      />
    </>
  )
}

const plannedColumns: ReadonlyArray<Column<JobOfAccount>> = [
  { title: "Account", cell: ({ account, problem }) => (problem === undefined ? account : `${account}: ${problem}`) },
  { title: "Live", isNumber: true, cell: ({ live }) => count(live) },
  { title: "Expired", isNumber: true, cell: ({ expired }) => count(expired) },
  { title: "Purged", isNumber: true, cell: ({ purged }) => count(purged) },
  { title: "Charged", isNumber: true, cell: ({ chargedMicro }) => amount(chargedMicro / 1_000_000) }
]

const runColumns: ReadonlyArray<Column<Run>> = [
  { title: "Day", cell: ({ day }) => <span class="nowrap">{day}</span> },
  { title: "Accounts", isNumber: true, cell: ({ accounts }) => count(accounts) },
  { title: "Expired", isNumber: true, cell: ({ expired }) => count(expired) },
  { title: "Purged", isNumber: true, cell: ({ purged }) => count(purged) },
  { title: "Kept by balance", isNumber: true, cell: ({ insured }) => count(insured) },
  { title: "Charged", isNumber: true, cell: ({ chargedMicro }) => amount(chargedMicro / 1_000_000) },
  { title: "Ran", cell: ({ at }) => <span title={moment(at)}>{ago(at)}</span> }
]
