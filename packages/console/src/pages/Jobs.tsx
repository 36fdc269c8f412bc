/** The daily job: when it runs, what it did, what it would do now; a clock that has stepped is confirmed here. */
import type { JobReport, JobRun } from "@muniment/domain/Operations"
import { useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { amount } from "../service/operator.ts"
import { ago, moment } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { GrowingTable, type Column } from "../ui/Table.tsx"
import { Notice, Show } from "../ui/Notice.tsx"

type Report = typeof JobReport.Type
type Run = typeof JobRun.Type
type JobOfAccount = Report["days"][number]["accounts"][number] & { readonly day: string }

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
              <button type="button" onClick={() => setAsking(true)}>
                {clockStep === null ? "Dry run …" : "The time is right …"}
              </button>
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
