/**
 * Erases an account wholly, with proof (contract: Operator routes): its agents' files, then what `control.db` has of
 * it; the ledger is closed to zero and stays.
 *
 * Invariants: the account is refused from the beginning, and its calls have ended before anything is removed; every
 * step can be repeated, and the next start finishes what a kill cut off; a repeated erasure gives the first report.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Account, AccountErasureReport } from "@muniment/domain/Account"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { type InsufficientStorage, NotFound, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { toCredits } from "@muniment/domain/Money"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { AccountErasures, type OpenErasure } from "@muniment/control/accounts/AccountErasures"
import { Accounts, Quotas } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Ledger } from "@muniment/control/credits/Ledger"
import { CallsUnderWay } from "../identity/CallsUnderWay.ts"

type Failure = NotFound | InsufficientStorage | Unavailable

export class AccountEraser extends Context.Service<
  AccountEraser,
  {
    /** Erases an account by name or id. A dry run reports what there is and changes nothing. */
    readonly erase: (nameOrId: string, dryRun: boolean) => Effect.Effect<AccountErasureReport, Failure>
  }
>()("muniment/server/AccountEraser") {
  /** Finishes first what an earlier process began. */
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const makeParts = Effect.all({
  accounts: Accounts,
  erasures: AccountErasures,
  directory: NamespaceDirectory,
  host: NamespaceHost,
  ledger: Ledger,
  calls: CallsUnderWay,
  quotas: Quotas
})

type Parts = Effect.Success<typeof makeParts>

const make = Effect.gen(function* () {
  const parts = yield* makeParts
  for (const erasure of yield* parts.erasures.open) {
    yield* finish(parts, erasure).pipe(
      Effect.andThen(Effect.logInfo("an erasure that a stop cut off is finished")),
      Effect.catch((error) =>
        Effect.logWarning("an erasure is not finished; repeat it, or start again", { error: error._tag })
      )
    )
  }
  return AccountEraser.of({
    erase: Effect.fn("AccountEraser.erase")(function* (nameOrId, dryRun) {
      const account = (yield* parts.accounts.byName(nameOrId)) ?? (yield* parts.accounts.byId(nameOrId))
      if (account === undefined) {
        const report = yield* parts.erasures.reportOf(nameOrId)
        return (
          report ?? (yield* new NotFound({ code: "account_not_found", error: `there is no account "${nameOrId}"` }))
        )
      }
      if (dryRun) return yield* rehearse(parts, account)
      const namespaces = parts.directory.list(account.id).map(({ tag }) => tag)
      const files = yield* parts.host.files(namespaces)
      const begun = yield* parts.erasures.begin(account, {
        namespaces,
        files,
        found: yield* countsOf(parts, account.id)
      })
      yield* callsEnded(parts, account.id)
      return yield* finish(parts, begun)
    })
  })
})

const countsOf = Effect.fnUntraced(function* ({ directory, erasures, host }: Parts, accountId: string) {
  const keys = directory.list(accountId)
  const live = yield* Effect.forEach(keys, (key) =>
    Effect.orElseSucceed(
      Effect.map(host.answer(key, { _tag: "Counts" }), ({ live }) => live),
      () => 0
    )
  )
  return {
    agents: keys.length,
    memories: live.reduce((sum, count) => sum + count, 0),
    ...(yield* erasures.countRows(accountId))
  }
})

const rehearse = Effect.fnUntraced(function* (parts: Parts, { id }: Account) {
  const owned = yield* parts.ledger.owned(id)
  const tags = parts.directory.list(id).map(({ tag }) => tag)
  return {
    account: id,
    dryRun: true,
    startedAt: yield* Clock.currentTimeMillis,
    finishedAt: null,
    removed: yield* countsOf(parts, id),
    files: { removed: yield* parts.host.files(tags), left: [] },
    ledger: { closed: owned.map(closedOf), total: totalOf(owned) }
  } satisfies AccountErasureReport
})

const callsEnded = ({ calls }: Parts, accountId: string): Effect.Effect<void, Unavailable> =>
  calls.ended(accountId).pipe(
    Effect.timeoutOrElse({
      duration: Limits.shutdownDrainMillis,
      orElse: () =>
        Effect.fail(
          new Unavailable({
            code: "overloaded",
            error: "calls of the account have not ended yet: it is refused from now on; repeat the erasure"
          })
        )
    })
  )

const finish = Effect.fnUntraced(function* (parts: Parts, erasure: OpenErasure) {
  const { accountId, files, found, namespaces, startedAt } = erasure
  const { directory, erasures, host, ledger } = parts
  const removed = new Set(files)
  const erased = new Set<NamespaceTag>()
  // Until there is none: background work that was under way may have made one since the erasure began.
  const left = () => directory.list(accountId).filter(({ tag }) => !erased.has(tag))
  for (let keys = left(); keys.length > 0; keys = left()) {
    for (const key of keys) {
      for (const file of yield* host.erase(key)) removed.add(file)
      erased.add(key.tag)
    }
  }
  yield* directory.forget(accountId)
  const closed = yield* ledger.close(accountId, `erasure:${accountId}:${startedAt}`)
  const report: AccountErasureReport = {
    account: accountId,
    dryRun: false,
    startedAt,
    finishedAt: yield* Clock.currentTimeMillis,
    removed: found,
    files: { removed: [...removed].toSorted(), left: yield* host.files([...erased.union(new Set(namespaces))]) },
    ledger: { closed: closed.map(closedOf), total: totalOf(yield* ledger.owned(accountId)) }
  }
  yield* erasures.finish(report)
  parts.quotas.forget(accountId)
  return report
})

const closedOf = ({ amount, name }: { readonly name: string; readonly amount: number }) => ({
  name,
  credits: toCredits(amount)
})

const totalOf = (owned: ReadonlyArray<{ readonly amount: number }>): number =>
  toCredits(owned.reduce((sum, { amount }) => sum + amount, 0))
