/**
 * What the service has written down, newest first: `muniment audit` (what operators did), `requests` (calls of accounts)
 * and `jobs` (runs in the background). The logs cannot be changed.
 */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { toCredits } from "@muniment/domain/Money"
import type { JobReport, JobRun } from "@muniment/domain/Operations"
import { CommandFailed } from "../CommandFailed.ts"
import { shownText, table, timeText } from "../Terminal.ts"
import { flags, logFlags, whereGiven } from "./flags.ts"
import { withOperator } from "./clients.ts"

/** `muniment audit`: what operators did, newest first. Changes only; the log cannot be changed. */
export const audit = Command.make(
  "audit",
  {
    action: Flag.optional(
      Flag.String("action").pipe(Flag.withDescription("As accounts.suspend, or accounts for all of them"))
    ),
    subject: Flag.optional(Flag.String("subject").pipe(Flag.withDescription("Account, key, wallet or operator"))),
    operator: Flag.optional(Flag.String("operator").pipe(Flag.withDescription("Name of the operator who did it"))),
    ...logFlags,
    json: flags.json
  },
  Effect.fn("audit")(function* ({ action, from, json, limit, operator, subject, to }) {
    const query = {
      limit,
      ...whereGiven({ action, operator, subject, from, to })
    }
    const { events } = yield* withOperator(({ accounts }) => accounts.audit({ query }))
    if (json) return yield* Console.log(JSON.stringify({ events }))
    const rows = events.map(({ action: name, at, detail, operator: by, subject: whom }) => [
      timeText(at),
      by ?? "",
      name,
      whom ?? "",
      JSON.stringify(detail)
    ])
    return yield* Console.log(
      rows.length === 0 ? "No events." : table([["WHEN", "OPERATOR", "ACTION", "SUBJECT", "DETAIL"], ...rows])
    )
  })
).pipe(
  Command.withDescription("What operators did: accounts, keys, wallets, money; newest first"),
  Command.withExamples([
    { command: "muniment audit --subject alice --from 2026-11-01", description: "All that concerned one account" },
    { command: "muniment audit --operator bob", description: "What one operator did" }
  ])
)

/** `muniment requests`: calls of accounts, newest first: who, which operation, how it ended; never what was said. */
export const requests = Command.make(
  "requests",
  {
    account: Flag.optional(flags.account),
    caller: Flag.optional(
      Flag.String("caller").pipe(Flag.withDescription("Id of a key, address of a wallet, operator, or operator:NAME"))
    ),
    operation: Flag.optional(
      Flag.String("operation").pipe(Flag.withDescription("As memories.search, or memories for all of them"))
    ),
    refused: Flag.Boolean("refused").pipe(
      Flag.withDescription("Only those with a status from 400 on, but 499: the client left"),
      Flag.withDefault(false)
    ),
    ...logFlags,
    json: flags.json
  },
  Effect.fn("requests")(function* ({ account: name, caller: by, from, json, limit, operation: which, refused, to }) {
    const query = {
      limit,
      ...(refused && { refused }),
      ...whereGiven({ account: name, caller: by, operation: which, from, to })
    }
    const { requests: found } = yield* withOperator(({ accounts }) => accounts.requests({ query }))
    if (json) return yield* Console.log(JSON.stringify({ requests: found }))
    const rows = found.map(({ account, at, caller, millis, operation, status }) => [
      timeText(at),
      account ?? "-",
      operation,
      String(status),
      String(Math.round(millis)),
      caller ?? "-"
    ])
    return yield* Console.log(
      rows.length === 0 ? "No calls." : table([["WHEN", "ACCOUNT", "OPERATION", "STATUS", "MS", "CALLER"], ...rows])
    )
  })
).pipe(
  Command.withDescription("Calls of accounts: who, which operation, how it ended; newest first"),
  Command.withExamples([
    { command: "muniment requests --account alice --refused", description: "What one account was refused" },
    { command: "muniment requests --operation memories.batchDelete", description: "Who deleted many memories" }
  ])
)

const list = Command.make(
  "list",
  { json: flags.json },
  Effect.fn("jobs.list")(function* ({ json }) {
    const { clockStep, nextRunAt, runs } = yield* withOperator(({ money }) => money.listJobs())
    if (json) return yield* Console.log(JSON.stringify({ nextRunAt, clockStep, runs }))
    const next =
      clockStep === null
        ? `Next run: ${timeText(nextRunAt)} UTC.`
        : `The clock stepped from ${timeText(clockStep.seenAt)} to ${timeText(clockStep.now)} UTC; "npm run muniment -- jobs run --accept-clock" goes on.`
    return yield* Console.log(
      [runs.length === 0 ? "No runs yet." : table([runHeading, ...runs.map(runRow)]), next].join("\n")
    )
  })
).pipe(
  Command.withDescription("List runs of the daily job, newest first"),
  Command.withExamples([{ command: "muniment jobs list", description: "The last days" }])
)

const run = Command.make(
  "run",
  {
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Change nothing; show what would be done (of the next run if none is due)"),
      Flag.withDefault(false)
    ),
    acceptClock: Flag.Boolean("accept-clock").pipe(
      Flag.withDescription("The clock is right although it has stepped by more than a day: run by it"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("jobs.run")(function* ({ acceptClock, dryRun, json }) {
    const payload = { dryRun, acceptClock }
    const { success: _, ...report } = yield* withOperator(({ money }) => money.runJobs({ payload }))
    yield* Console.log(json ? JSON.stringify(report) : reportText(report))
    const troubled = accountsOf(report).filter(({ problem }) => problem !== undefined).length
    if (troubled > 0) return yield* new CommandFailed({ reason: `${troubled} accounts could not be served.` })
  })
).pipe(
  Command.withDescription("Run the daily job for the days that are due; repeating it changes nothing"),
  Command.withExamples([{ command: "muniment jobs run --dry-run", description: "Who would lose or pay what" }])
)

/** `muniment jobs`: the daily job (expiry, retention, storage charges): what it did, and doing it now. */
export const jobs = Command.make("jobs").pipe(
  Command.withDescription("The daily job: expiry, retention, storage"),
  Command.withSubcommands([list, run])
)

type JobAccount = JobReport["days"][number]["accounts"][number]
type Sums = Pick<JobAccount, "expired" | "purged" | "insured" | "chargedMicro" | "meteredMicro">

const runHeading = ["DAY", "ACCOUNTS", "EXPIRED", "PURGED", "INSURED", "CHARGED", "METERED", "AT"]
const dayHeading = [
  "DAY",
  "ACCOUNT",
  "PLAN",
  "LIVE",
  "MARKED",
  "EXPIRED",
  "PURGED",
  "INSURED",
  "CHARGED",
  "METERED",
  "PROBLEM"
]

const runRow = ({ accounts, at, chargedMicro, day, expired, insured, meteredMicro, purged }: JobRun) => [
  day,
  ...[accounts, expired, purged, insured, toCredits(chargedMicro), toCredits(meteredMicro)].map(String),
  timeText(at)
]

const accountsOf = ({ days }: JobReport): ReadonlyArray<JobAccount> => days.flatMap(({ accounts }) => accounts)

/** A row for each day and account, and their sums; amounts in credits. */
const reportText = (report: JobReport): string => {
  const verb = report.dryRun ? "would be" : "were"
  if (report.days.length === 0) return "No day is due; nothing was done."
  const rows = report.days.flatMap(({ day, accounts }) =>
    accounts.map((each) => [
      day,
      each.account,
      each.plan,
      String(each.live),
      String(each.marked),
      ...figures(each),
      shownText(each.problem ?? "")
    ])
  )
  const sums = accountsOf(report).reduce(plus, nothing)
  return [
    table([dayHeading, ...rows, ["sum", "", "", "", "", ...figures(sums), ""]]),
    `${sums.expired} memories ${verb} removed because they expired, ${sums.purged} because they are older than the plan keeps them; ${toCredits(sums.chargedMicro)} credits ${verb} charged.`
  ].join("\n")
}

const figures = ({ chargedMicro, expired, insured, meteredMicro, purged }: Sums): ReadonlyArray<string> =>
  [expired, purged, insured, toCredits(chargedMicro), toCredits(meteredMicro)].map(String)

const nothing: Sums = { expired: 0, purged: 0, insured: 0, chargedMicro: 0, meteredMicro: 0 }

const plus = (sums: Sums, each: Sums): Sums => ({
  expired: sums.expired + each.expired,
  purged: sums.purged + each.purged,
  insured: sums.insured + each.insured,
  chargedMicro: sums.chargedMicro + each.chargedMicro,
  meteredMicro: sums.meteredMicro + each.meteredMicro
})
