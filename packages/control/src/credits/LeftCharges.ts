/**
 * Charges of calls that were answered by an owner of `control.db` which lost it before it had written them, as when the
 * database of a cluster was away: the owner leaves them, and the next one takes them up, each once. On one machine an owner
 * ends with its process.
 *
 * Invariant: no purse becomes negative: what the next owner has let others spend meanwhile is the service's loss.
 */
import { type Cause, Clock, Context, Effect, Schedule, type Scope } from "effect"
import { Rounds } from "@muniment/worker/Rounds"
import type { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"
import { hold, type Purse, release, spend, spendable, type Split } from "./Purses.ts"
import { accountName, type NewTransfer, postedKeys, postTransfers, purseOfName, uncollected } from "./Transfers.ts"

interface LeftCharges {
  readonly id: string
  readonly charges: ReadonlyArray<NewTransfer>
}

export interface EarlierOwnersShape {
  /** In the background, until the cluster has them. */
  readonly leave: (charges: ReadonlyArray<NewTransfer>) => Effect.Effect<void>
  readonly left: Effect.Effect<ReadonlyArray<LeftCharges>, ControlFailure>
  /** Forgets charges once they are written. */
  readonly forget: (id: string) => Effect.Effect<void, ControlFailure>
  /** After the begin of an ownership: until then a call of an earlier owner may still change an agent's memories. */
  readonly lateMillis: number
}

/** Default, on one machine: there are none that live on. */
export const EarlierOwners = Context.Reference<EarlierOwnersShape | undefined>("muniment/control/EarlierOwners", {
  defaultValue: () => undefined
})

/** Charges of calls that nothing else remembers: those of a write are found by its reservation. */
const leftBehind = (unwritten: ReadonlyArray<NewTransfer>): ReadonlyArray<NewTransfer> =>
  unwritten.filter(({ isShared }) => isShared === true)

/** Parts of this owner's books that its successor needs. */
interface OwnersBooks {
  readonly purseAt: (accountId: string, atMillis: number) => Purse
  readonly flush: Effect.Effect<void, ControlFailure>
}

/** Charges that the queue of an owner cannot write at its end. */
export const leaving =
  (owners: EarlierOwnersShape | undefined) =>
  (unwritten: ReadonlyArray<NewTransfer>, cause: Cause.Cause<ControlFailure>): Effect.Effect<void> =>
    owners === undefined
      ? Effect.logError("ledger changes lost: last flush failed", { count: unwritten.length }, cause)
      : owners.leave(leftBehind(unwritten))

/** Looks for what earlier owners have left, until the scope closes. */
export const takingUp = (
  owners: EarlierOwnersShape | undefined,
  books: OwnersBooks,
  database: ControlDatabase["Service"]
): Effect.Effect<void, never, Scope.Scope> =>
  owners === undefined
    ? Effect.void
    : Rounds.add({
        name: "charges of earlier owners",
        schedule: Schedule.spaced(takeUpMillis),
        work: takeUp(owners, books, database),
        isFirstNow: true,
        isCut: true
      })

/** Between two looks. */
const takeUpMillis = 2_000

/** Writes what earlier owners have left. */
export const takeUp = Effect.fn("Ledger.takeUp")(function* (
  owners: EarlierOwnersShape,
  { flush, purseAt }: OwnersBooks,
  { read, sql, write }: ControlDatabase["Service"]
) {
  for (const { charges, id } of yield* owners.left) {
    const posted = yield* read(postedKeys(sql, charges))
    const nowMillis = yield* Clock.currentTimeMillis
    const due = charges
      .filter(({ key }) => !posted.has(key))
      .map((charge) => collected((accountId) => purseAt(accountId, nowMillis), charge))
    const end = (ended: typeof spend) =>
      Effect.sync(() => {
        for (const { purse, taken } of due) if (purse !== undefined) ended(purse, taken)
      })
    const transfers = due.flatMap((charge) => charge.transfers)
    // The allowance that they take may be granted by what waits.
    yield* Effect.andThen(flush, write(postTransfers(sql, transfers))).pipe(
      Effect.tapCause(() => end(release)),
      Effect.andThen(end(spend)),
      Effect.uninterruptible
    )
    yield* owners.forget(id)
  }
})

interface Collected {
  readonly purse: Purse | undefined
  readonly taken: Split
  readonly transfers: ReadonlyArray<NewTransfer>
}

/** Held from what is free now, the allowance first; the first part keeps the key. */
const collected = (purseOf: (accountId: string) => Purse, charge: NewTransfer): Collected => {
  const owner = purseOfName(charge.debit)
  if (owner === undefined || owner.purse === "own-use")
    return { purse: undefined, taken: { fromAllowance: 0, fromBalance: 0 }, transfers: [charge] }
  const purse = purseOf(owner.accountId)
  const { allowance, balance } = spendable(purse, false)
  const fromAllowance = Math.min(charge.amount, Math.max(0, allowance))
  const fromBalance = Math.min(charge.amount - fromAllowance, Math.max(0, balance))
  const taken = { fromAllowance, fromBalance }
  hold(purse, taken)
  const parts: ReadonlyArray<readonly [string, number]> = [
    [accountName("allowance", owner.accountId), fromAllowance],
    [accountName("balance", owner.accountId), fromBalance],
    [uncollected, charge.amount - fromAllowance - fromBalance]
  ]
  const transfers = parts
    .filter(([, amount]) => amount > 0)
    .map(([debit, amount], part) => ({
      ...charge,
      debit,
      amount,
      key: part === 0 ? charge.key : `${charge.key}:${part}`,
      ...(debit === uncollected && { account: undefined })
    }))
  return { purse, taken, transfers }
}
