/**
 * The storage of one account on one day (interface.md section 10.3), in this order: what is past its own
 * expiry goes, whatever the plan; then a plan with a retention is insured from the balance, or loses what
 * is older; a plan with an included number has the rest written up; nothing is ever blocked. Nothing is
 * cut while a deposit is on its way.
 *
 * Invariants: counts are of the day's moment, superseded versions included; a rerun after any crash ends
 * as if there had been none, since removals can be repeated and the charge is one transaction with the row
 * that says it is done; a namespace with nothing to remove is not opened; one that cannot be read
 * is named, and stops neither the others nor the charge for them. A rehearsal counts and changes nothing.
 */
import { Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { Account, Plan } from "@muniment/domain/Account"
import { type MicroCredits, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import type { JobReport } from "@muniment/domain/Operations"
import type { PlanTerms } from "@muniment/domain/Plans"
import type { PortionedRemoval } from "@muniment/engine/Commands"
import type { CommandError } from "@muniment/engine/Namespace"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import type { CensusOptions, NamespaceCensus, NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Ledger } from "@muniment/ledger/Ledger"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { PaymentJournal } from "@muniment/ledger/PaymentJournal"
import type { RunFacts } from "@muniment/ledger/StorageCharges"
import { momentOf } from "./JobDays.ts"

/** What was done for an account on a day. */
export type AccountDay = JobReport["days"][number]["accounts"][number]

export type PlanTable = Readonly<Record<Plan, PlanTerms>>

/** What the days of a dry run would have left of one account. */
export interface Rehearsed {
  readonly balance: MicroCredits
  readonly without: CensusOptions["without"]
}

/** Problems of one account that a report spells out. */
const problemsShownMax = 3

interface Counted {
  readonly key: NamespaceKey
  readonly census: NamespaceCensus
}

export const makeAccountStorage = Effect.fnUntraced(function* (plans: PlanTable) {
  const host = yield* NamespaceHost
  const directory = yield* NamespaceDirectory
  const ledger = yield* Ledger
  const journal = yield* PaymentJournal

  const carryOut = Effect.fn("AccountStorage.carryOut")(function* (account: Account, day: string) {
    const problems: Array<string> = []
    const { atMillis, createdBefore } = boundsOf(plans[account.plan], day)
    const counted = yield* count(account, { atMillis, createdBefore }, problems)
    const expired = yield* remove(
      counted.filter(({ census }) => census.expired > 0),
      { _tag: "Sweep", expiredBy: atMillis },
      problems
    )
    const live = liveIn(counted)
    const verdict = yield* verdictOf(account, live, yield* balanceOf(account))
    const purged = verdict === "purge" ? yield* purge(account, counted, createdBefore, problems) : 0
    const { charged, metered } = yield* record(verdict, { account, day, live, expired, purged })
    return reportOf(account, verdict, { live, expired, purged, charged, metered }, problems)
  })

  /** What `carryOut` would answer after the days that `before` has seen, and what it would leave. */
  const rehearse = Effect.fn("AccountStorage.rehearse")(function* (
    account: Account,
    day: string,
    before: Rehearsed | undefined
  ) {
    const problems: Array<string> = []
    const terms = plans[account.plan]
    const { atMillis, createdBefore } = boundsOf(terms, day)
    const counted = yield* count(account, { atMillis, createdBefore, without: before?.without }, problems)
    const live = liveIn(counted)
    const balance = before?.balance ?? (yield* balanceOf(account))
    const verdict = yield* verdictOf(account, live, balance)
    const charged = verdict === "insure" ? Math.min(balance, priceOf(live)) : 0
    const figures = {
      live,
      expired: sum(counted, ({ expired }) => expired),
      purged: verdict === "purge" ? sum(counted, ({ liveBefore }) => liveBefore) : 0,
      charged,
      metered: verdict === "meter" ? priceOf(overIncluded(terms, live)) : 0
    }
    const removedBefore = verdict === "purge" ? createdBefore : (before?.without?.createdBefore ?? -Infinity)
    const after: Rehearsed = {
      balance: balance - charged,
      without: { createdBefore: removedBefore, expiredBy: atMillis }
    }
    return { report: reportOf(account, verdict, figures, problems), after }
  })

  /** Days that the balance pays for: the first run that finds it used up is so many after the next. */
  const insuredDays = Effect.fn("AccountStorage.insuredDays")(function* (account: Account, atMillis: number) {
    if (plans[account.plan].retentionDays === undefined) return undefined
    const balance = yield* balanceOf(account)
    if (balance <= 0) return undefined
    const live = liveIn(yield* count(account, { atMillis, createdBefore: -Infinity }, []))
    return live === 0 ? undefined : Math.ceil(balance / priceOf(live))
  })

  /** Held credits are there still: a call under way must not cost an account its memories. */
  const balanceOf = (account: Account) => Effect.map(ledger.purses(account), ({ paid }) => paid)

  /** A deposit was sent, and its money may be with us already: after a crash, or while the node is away. */
  const isPaying = (account: Account) =>
    Effect.map(journal.list({ account: account.id, state: "broadcasting", limit: 1 }), (sent) => sent.length > 0)

  const verdictOf = Effect.fnUntraced(function* (
    account: Account,
    live: number,
    balance: MicroCredits
  ): Effect.fn.Return<Verdict> {
    const terms = plans[account.plan]
    if (terms.retentionDays === undefined) return overIncluded(terms, live) > 0 ? "meter" : "keep"
    if (balance > 0) return "insure"
    // What is removed never comes back, so the next day decides.
    return (yield* isPaying(account)) ? "keep" : "purge"
  })

  const count = Effect.fnUntraced(function* (account: Account, options: CensusOptions, problems: Array<string>) {
    const counted: Array<Counted> = []
    for (const key of directory.list(account.id)) {
      const census = yield* noting(key, host.census(key, options), problems)
      if (census !== undefined) counted.push({ key, census })
    }
    return counted
  })

  /** A deposit insures from its moment on: one that arrives now saves what is still there. */
  const purge = Effect.fnUntraced(function* (
    account: Account,
    counted: ReadonlyArray<Counted>,
    beforeMillis: number,
    problems: Array<string>
  ) {
    let purged = 0
    for (const one of counted.filter(({ census }) => census.liveBefore > 0 || census.turnsBefore > 0)) {
      if ((yield* balanceOf(account)) > 0 || (yield* isPaying(account))) break
      purged += yield* remove([one], { _tag: "RemoveCreatedBefore", beforeMillis }, problems)
    }
    return purged
  })

  const remove = Effect.fnUntraced(function* (
    from: ReadonlyArray<Counted>,
    command: PortionedRemoval,
    problems: Array<string>
  ) {
    let removed = 0
    for (const { key } of from) removed += (yield* noting(key, host.removeAll(key, command), problems)) ?? 0
    return removed
  })

  const record = (verdict: Verdict, { live, ...run }: Omit<RunFacts, "memories"> & { readonly live: number }) => {
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

  return { carryOut, rehearse, insuredDays }
})

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

const liveIn = (counted: ReadonlyArray<Counted>): number => sum(counted, ({ live }) => live)

/** The effect's answer, or nothing and a note of the namespace that refused. */
const noting = <A>(
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
  readonly charged: MicroCredits
  readonly metered: MicroCredits
}

const reportOf = (
  account: Account,
  verdict: Verdict,
  { charged, expired, live, metered, purged }: Figures,
  problems: ReadonlyArray<string>
): AccountDay => ({
  account: account.name,
  plan: account.plan,
  live,
  expired,
  purged,
  insured: verdict === "insure" ? live : 0,
  chargedMicro: charged,
  meteredMicro: metered,
  ...(problems.length > 0 && { problem: problemText(problems) })
})

const problemText = (problems: ReadonlyArray<string>): string => {
  const more = problems.length - problemsShownMax
  return [...problems.slice(0, problemsShownMax), ...(more > 0 ? [`${more} more`] : [])].join("; ")
}
