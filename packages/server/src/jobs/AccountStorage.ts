/**
 * The storage of one account on one day (contract: Plans and the daily job), in this order: expired memories are
 * removed on every plan; a plan with a retention is insured from the balance, or what is older is marked and removed by a
 * run a day later; a plan with an included number has the rest metered; agents of which the run found nothing are
 * retired. Only a settled deposit insures.
 *
 * Invariants: counts are of the day's moment, superseded versions included; a rerun after a crash ends as if there
 * had been none: removals repeat, and the charge is one transaction with the row that says it is done. A
 * namespace that cannot be read is reported, and stops neither the others nor the charge for them.
 */
import { Clock, Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { Account, Plan } from "@muniment/domain/Account"
import { type MicroCredits, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import type { JobReport } from "@muniment/domain/Operations"
import { messagesPerMemory, type PlanTerms } from "@muniment/domain/Plans"
import type { PortionedRemoval } from "@muniment/engine/namespace/Commands"
import type { CommandError } from "@muniment/engine/namespace/toClientError"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { CensusOptions, NamespaceCensus, NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { SchemaRegistry } from "@muniment/control/accounts/SchemaRegistry"
import { Ledger } from "@muniment/control/credits/Ledger"
import { JobLog, type PurgeMark } from "@muniment/control/jobs/JobLog"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import type { RunFacts } from "@muniment/control/credits/Books"
import { momentOf, nextRunMillis } from "./JobClock.ts"

/** Report of one account on one day. */
export type AccountDay = JobReport["days"][number]["accounts"][number]

export type PlanTable = Readonly<Record<Plan, PlanTerms>>

/** A day that a run settles. */
export interface DayOfRun {
  readonly day: string
  /** When the run began: a run settles several days if some were missed. */
  readonly runAt: number
}

/** State of an account after the days of a dry run. */
export interface Rehearsed {
  readonly balance: MicroCredits
  readonly without: CensusOptions["without"]
  readonly mark: PurgeMark | undefined
}

/** `from`: the first run that may purge them. */
export interface PurgeNotice {
  readonly memories: number
  readonly createdBefore: number
  readonly from: number
}

/** Problems of one account that its report names. */
const problemsShownMax = 3

interface Counted {
  readonly key: NamespaceKey
  readonly census: NamespaceCensus
}

export interface AccountStorage {
  /** Settles the day of an account. */
  readonly carryOut: (account: Account, day: DayOfRun) => Effect.Effect<AccountDay, ControlFailure>
  /**
   * Rehearses `carryOut` after the days that `before` has seen: its answer, and what it would leave. Changes nothing.
   */
  readonly rehearse: (
    account: Account,
    day: DayOfRun,
    before: Rehearsed | undefined
  ) => Effect.Effect<{ readonly report: AccountDay; readonly after: Rehearsed }>
  /** Memories that a later run will purge, unless a deposit comes in before. */
  readonly purgeNotice: (account: Account) => Effect.Effect<PurgeNotice | undefined>
  /** Days that the balance pays for; undefined where nothing is insured. */
  readonly insuredDays: (account: Account, atMillis: number) => Effect.Effect<number | undefined>
}

export const makeAccountStorage = Effect.fnUntraced(function* (plans: PlanTable) {
  const parts: Parts = {
    plans,
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    ledger: yield* Ledger,
    jobs: yield* JobLog,
    registry: yield* SchemaRegistry
  }
  return {
    purgeNotice: (account) => Effect.map(parts.jobs.purgeMark(account.id), noticeOf),
    carryOut: (account, day) => carryOut(parts, account, day),
    rehearse: (account, day, before) => rehearse(parts, account, day, before),
    insuredDays: (account, atMillis) => insuredDays(parts, account, atMillis)
  } satisfies AccountStorage
})

interface Parts {
  readonly plans: PlanTable
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly ledger: Ledger["Service"]
  readonly jobs: JobLog["Service"]
  readonly registry: SchemaRegistry["Service"]
}

const carryOut = Effect.fn("AccountStorage.carryOut")(function* (
  parts: Parts,
  account: Account,
  { day, runAt }: DayOfRun
) {
  const problems: Array<string> = []
  const { atMillis, createdBefore } = boundsOf(parts.plans[account.plan], day)
  const counted = yield* count(parts, account, { atMillis, createdBefore }, problems)
  const expired = yield* remove(
    parts,
    counted.filter(({ census }) => census.expired > 0),
    { _tag: "Sweep", expiredBy: atMillis },
    problems
  )
  const live = liveIn(counted)
  const verdict = verdictOf(parts, account, live, yield* balanceOf(parts, account))
  const earlier = verdict === "purge" ? yield* parts.jobs.purgeMark(account.id) : undefined
  const agreed = isAgreed(earlier, runAt) ? earlier.createdBefore : undefined
  const purged = agreed === undefined ? 0 : yield* purge(parts, account, { atMillis, createdBefore: agreed }, problems)
  const isEmptied = agreed === undefined ? hasNothingSince(counted) : sum(counted, (each) => each.live) === purged
  const isPurging = verdict === "purge" && (yield* balanceOf(parts, account)) <= 0
  const schemas =
    isEmptied && isPurging ? yield* parts.registry.idle(account.id, agreed ?? createdBefore, agreed !== undefined) : 0
  const unagreed = agreed === undefined ? schemas : 0
  const mark = verdict === "purge" ? markOf(earlier, { runAt, createdBefore }, counted, purged, unagreed) : undefined
  const { charged, metered } = yield* record(parts, verdict, { account, day, live, expired, purged, mark })
  yield* retireEmpty(parts, counted, problems)
  return reportOf(account, verdict, { live, expired, purged, mark, charged, metered }, problems)
})

/** A run of the clock's next day may begin a moment earlier than this one did. */
const runsApartMillis = dayMillis - 3_600_000

/** An earlier run found the same, at least a day ago. */
const isAgreed = (earlier: PurgeMark | undefined, runAt: number): earlier is PurgeMark =>
  earlier !== undefined && runAt - earlier.runAt >= runsApartMillis

/** Mark for a later run to purge: memories that this run has found, or an earlier one of less than a day ago. */
const markOf = (
  earlier: PurgeMark | undefined,
  now: Omit<PurgeMark, "memories">,
  counted: ReadonlyArray<Counted>,
  purged: number,
  schemas: number
): PurgeMark | undefined => {
  if (schemas === 0 && !counted.some(({ census }) => census.liveBefore > 0 || census.turnsBefore > 0)) return undefined
  const isKept = earlier !== undefined && earlier.runAt !== now.runAt && !isAgreed(earlier, now.runAt)
  return isKept ? earlier : { ...now, memories: sum(counted, ({ liveBefore }) => liveBefore) - purged }
}

/** Whether all memories, if there are any, are from before the bound. */
const hasNothingSince = (counted: ReadonlyArray<Counted>): boolean =>
  counted.every(({ census }) => census.live === census.liveBefore)

const rehearse = Effect.fn("AccountStorage.rehearse")(function* (
  parts: Parts,
  account: Account,
  { day, runAt }: DayOfRun,
  before: Rehearsed | undefined
) {
  const problems: Array<string> = []
  const terms = parts.plans[account.plan]
  const { atMillis, createdBefore } = boundsOf(terms, day)
  const without = before?.without
  const counted = yield* count(parts, account, { atMillis, createdBefore, without }, problems)
  const live = liveIn(counted)
  const balance = before?.balance ?? (yield* balanceOf(parts, account))
  const verdict = verdictOf(parts, account, live, balance)
  const charged = verdict === "insure" ? Math.min(balance, priceOf(live)) : 0
  const known = before === undefined ? yield* parts.jobs.purgeMark(account.id) : before.mark
  const earlier = verdict === "purge" ? known : undefined
  const agreed = isAgreed(earlier, runAt) ? earlier.createdBefore : undefined
  const purged =
    agreed === undefined
      ? 0
      : sum(
          yield* count(parts, account, { atMillis, createdBefore: agreed, without }, problems),
          ({ liveBefore }) => liveBefore
        )
  const mark = verdict === "purge" ? markOf(earlier, { runAt, createdBefore }, counted, purged, 0) : undefined
  const metered = verdict === "meter" ? priceOf(overIncluded(terms, live)) : 0
  const figures = { live, expired: sum(counted, ({ expired }) => expired), purged, mark, charged, metered }
  const removedBefore = Math.max(agreed ?? -Infinity, without?.createdBefore ?? -Infinity)
  const after: Rehearsed = {
    balance: balance - charged,
    without: { createdBefore: removedBefore, expiredBy: atMillis },
    mark
  }
  return { report: reportOf(account, verdict, figures, problems), after }
})

const noticeOf = (mark: PurgeMark | undefined): PurgeNotice | undefined =>
  mark === undefined || mark.memories === 0
    ? undefined
    : {
        memories: mark.memories,
        createdBefore: mark.createdBefore,
        from: nextRunMillis(mark.runAt + runsApartMillis - 1)
      }

/** The first run that finds the balance used up is this many days after the next one. */
const insuredDays = Effect.fn("AccountStorage.insuredDays")(function* (
  parts: Parts,
  account: Account,
  atMillis: number
) {
  if (parts.plans[account.plan].retentionDays === undefined) return undefined
  const balance = yield* balanceOf(parts, account)
  if (balance <= 0) return undefined
  const live = liveIn(yield* count(parts, account, { atMillis, createdBefore: -Infinity }, []))
  return live === 0 ? undefined : Math.ceil(balance / priceOf(live))
})

/** Includes held credits: a call in flight must not cost an account its memories. */
const balanceOf = ({ ledger }: Parts, account: Account) => Effect.map(ledger.purses(account), ({ paid }) => paid)

/** Only what is settled insures: a payment that never lands would keep memories for nothing. */
const verdictOf = ({ plans }: Parts, { plan }: Account, live: number, balance: MicroCredits): Verdict => {
  const terms = plans[plan]
  if (terms.retentionDays === undefined) return overIncluded(terms, live) > 0 ? "meter" : "keep"
  return balance > 0 ? "insure" : "purge"
}

const count = Effect.fnUntraced(function* (
  { directory, host }: Parts,
  account: Account,
  options: CensusOptions,
  problems: Array<string>
) {
  const counted: Array<Counted> = []
  for (const key of directory.list(account.id)) {
    const census = yield* notingProblem(key, host.census(key, options), problems)
    if (census !== undefined) counted.push({ key, census })
  }
  return counted
})

/** Asks for the balance before each namespace: a deposit that arrives meanwhile saves what is left. */
const purge = Effect.fnUntraced(function* (
  parts: Parts,
  account: Account,
  options: CensusOptions,
  problems: Array<string>
) {
  const counted = yield* count(parts, account, options, problems)
  let purged = 0
  for (const one of counted.filter(({ census }) => census.liveBefore > 0 || census.turnsBefore > 0)) {
    if ((yield* balanceOf(parts, account)) > 0) break
    purged += yield* remove(
      parts,
      [one],
      { _tag: "RemoveCreatedBefore", beforeMillis: options.createdBefore },
      problems
    )
  }
  return purged
})

const remove = Effect.fnUntraced(function* (
  { host }: Parts,
  from: ReadonlyArray<Counted>,
  command: PortionedRemoval,
  problems: Array<string>
) {
  let removed = 0
  for (const { key } of from) removed += (yield* notingProblem(key, host.removeAll(key, command), problems)) ?? 0
  return removed
})

/** Agents of which nothing is left give their places and files back. */
const retireEmpty = Effect.fnUntraced(function* (
  { directory, host }: Parts,
  counted: ReadonlyArray<Counted>,
  problems: Array<string>
) {
  const nowMillis = yield* Clock.currentTimeMillis
  for (const { key } of counted.filter(({ census }) => census.isEmpty)) {
    yield* notingProblem(key, host.retire(key, nowMillis, directory.retire(key.tag)), problems)
  }
})

const record = (
  { ledger, plans }: Parts,
  verdict: Verdict,
  { live, ...run }: Omit<RunFacts, "memories"> & { readonly live: number }
) => {
  switch (verdict) {
    case "insure":
      return ledger.chargeStorage({ ...run, memories: live, mode: "insure" })
    case "meter":
      return ledger.chargeStorage({
        ...run,
        memories: overIncluded(plans[run.account.plan], live),
        mode: "meter"
      })
    case "purge":
    case "keep":
      return ledger.recordRun({ ...run, memories: live })
  }
}

type Verdict = "insure" | "purge" | "meter" | "keep"

const overIncluded = ({ memoriesIncluded = Infinity }: PlanTerms, live: number): number =>
  Math.max(0, live - memoriesIncluded)

const priceOf = (memories: number): MicroCredits => memories * storageMicroCreditsPerMemoryDay

const boundsOf = ({ retentionDays = Infinity }: PlanTerms, day: string) => {
  const atMillis = momentOf(day)
  return { atMillis, createdBefore: atMillis - retentionDays * dayMillis }
}

const sum = (counted: ReadonlyArray<Counted>, of: (census: NamespaceCensus) => number): number =>
  counted.reduce((total, { census }) => total + of(census), 0)

/** Live memories as plans and prices count them. */
const liveIn = (counted: ReadonlyArray<Counted>): number => {
  const messages = sum(counted, ({ liveMessages }) => liveMessages)
  return sum(counted, ({ live }) => live) - messages + Math.ceil(messages / messagesPerMemory)
}

/** The effect's value; undefined, and a problem noted, if the namespace cannot be used. */
const notingProblem = <A>(
  key: NamespaceKey,
  effect: Effect.Effect<A, CommandError>,
  problems: Array<string>
): Effect.Effect<A | undefined> =>
  Effect.catch(effect, ({ error }) => {
    problems.push(`namespaces/${key.tag}.db: ${error}`)
    return Effect.succeed(undefined)
  })

interface Figures {
  readonly live: number
  readonly expired: number
  readonly purged: number
  readonly mark: PurgeMark | undefined
  readonly charged: MicroCredits
  readonly metered: MicroCredits
}

const reportOf = (
  account: Account,
  verdict: Verdict,
  { charged, expired, live, mark, metered, purged }: Figures,
  problems: ReadonlyArray<string>
): AccountDay => ({
  account: account.name,
  plan: account.plan,
  live,
  expired,
  purged,
  marked: mark?.memories ?? 0,
  insured: verdict === "insure" ? live : 0,
  chargedMicro: charged,
  meteredMicro: metered,
  ...(problems.length > 0 && { problem: problemText(problems) })
})

const problemText = (problems: ReadonlyArray<string>): string => {
  const more = problems.length - problemsShownMax
  return [...problems.slice(0, problemsShownMax), ...(more > 0 ? [`${more} more`] : [])].join("; ")
}
