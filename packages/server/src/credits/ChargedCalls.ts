/**
 * One priced call: reserve, act, settle or void (contract: Credits). The service that does the work reserves the price
 * through `PricedCall.reserve`, as its last check. Invariants: only what was done is charged, once; an act that changes
 * memories has a reservation that outlives a crash, with the token of its commit, so that the next start, or a failure
 * that leaves the outcome open, can tell whether it happened; its repetition is answered whatever the purses hold; a
 * payment on a call with empty purses is credited in full before the charge. Exceptions, uncharged after a crash: a
 * batch deletion by `filters`, whose many commits carry no token, and any erasure on a full disk (`isErasure`).
 */
import { type Cause, Context, Effect, Layer, Metric } from "effect"
import { WebCrypto } from "effect/crypto"
import type { Account } from "@muniment/domain/Account"
import type { Identity, Newcomer } from "@muniment/domain/Identity"
import { Unavailable } from "@muniment/domain/Errors"
import type { ChargeFailure, ChargeOptions, IdempotencyToken, PricedCall } from "@muniment/domain/api/Middleware"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { type MicroCredits, toCredits } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import type { Durable } from "@muniment/control/credits/Reservation"
import { Ledger, type Purses, type Reservation, type ReserveOptions } from "@muniment/control/credits/Ledger"
import { wasCommitted } from "./OpenCharges.ts"
import type { PaymentCarrier } from "./PaymentCarrier.ts"
import { PaymentDesk, topUpUnits } from "./PaymentDesk.ts"

/** A call with a price: the operation and its caller. */
export interface PricedOperation {
  readonly caller: Identity
  /** Name of the operation in the ledger. */
  readonly operation: string
  readonly price: MicroCredits
  /** Goes on when its caller goes away: what it changes is charged. */
  readonly isWrite: boolean
  /** Token of the caller's `Idempotency-Key`. */
  readonly token: IdempotencyToken | undefined
  /** The payment of the request, asked for when the purses are empty. */
  readonly carrier: () => PaymentCarrier
  /** Called with the one agent that the call reads or changes. */
  readonly onAgent: (agentId: string) => void
}

export interface Charged<A> {
  readonly value: A
  /** With the tokens of the language model that it used until it was answered. */
  readonly charged: MicroCredits
  readonly purses: Purses
}

export class ChargedCalls extends Context.Service<
  ChargedCalls,
  {
    /** Runs `act`; settles what it reserved if it succeeds, voids it otherwise. */
    readonly charge: <A, E, R>(
      operation: PricedOperation,
      act: (call: PricedCall) => Effect.Effect<A, E, R>
    ) => Effect.Effect<Charged<A>, E | ChargeFailure, R>
  }
>()("muniment/server/ChargedCalls") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const makeParts = Effect.all({
  ledger: Ledger,
  desk: PaymentDesk,
  directory: NamespaceDirectory,
  host: NamespaceHost
})

type Parts = Effect.Success<typeof makeParts>

const make = Effect.gen(function* () {
  const parts = yield* makeParts
  const tokens = new TokenSource((yield* WebCrypto.WebCrypto).randomUUID())

  // No spans: this surrounds every priced call, and a span would cost as much as the charge.
  const charge = <A, E, R>(operation: PricedOperation, act: (call: PricedCall) => Effect.Effect<A, E, R>) => {
    const { plan } = payerOf(operation.caller)
    return Effect.uninterruptibleMask((restore) => {
      // A commit without the caller's key carries one of ours, so that a crash leaves no doubt about it.
      const token = operation.token ?? (plans[plan].isUnlimited ? undefined : tokens.next())
      const call = new OpenCall(operation, token, parts)
      const isActing = operation.caller.isOperator === true
      const costs = { micro: 0, ...(isActing && ({ payer: operation.isWrite ? "owner" : "nobody" } as const)) }
      const acting = Effect.provideService(act(call), TokenCosts, costs)
      return (operation.isWrite ? acting : restore(acting)).pipe(
        Effect.onError((cause) => (leavesDoubt(cause) ? call.decide : call.release)),
        Effect.flatMap((value) =>
          Effect.map(call.settle, ({ charged, purses }) => ({ value, charged: charged + costs.micro, purses }))
        )
      )
    })
  }

  return { charge }
})

/** Whether a write was done is then known by its namespace alone. */
const leavesDoubt = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some(
    (reason) =>
      reason._tag === "Fail" && reason.error instanceof Unavailable && reason.error.code === "namespace_unavailable"
  )

/** A call of an operation without a price. */
export const freeCall = (caller: Identity, token: IdempotencyToken | undefined): PricedCall => ({
  caller,
  token,
  reserve: () => Effect.void,
  topUp: Effect.void,
  release: Effect.void
})

/** The operator's changes for an account are recorded, as those on the owner's plan. */
const payerOf = ({ account, isOperator }: Identity): Account =>
  isOperator === true ? { ...account, plan: "owner" } : account

const pursesOf = ({ allowance }: Newcomer): Purses => ({
  balance: 0,
  paid: 0,
  allowance: allowance ?? 0,
  isUnlimited: allowance === undefined
})

/** A call between its start and its settlement; holds at most one reservation. */
class OpenCall implements PricedCall {
  readonly caller: Identity
  readonly token: IdempotencyToken | undefined
  readonly #operation: PricedOperation
  readonly #parts: Parts
  /** A wallet without an account, until this call makes one. */
  #newcomer: Newcomer | undefined
  #held: Reservation | undefined

  constructor(operation: PricedOperation, token: IdempotencyToken | undefined, parts: Parts) {
    this.caller = operation.caller
    this.#newcomer = operation.caller.newcomer
    this.token = token
    this.#operation = operation
    this.#parts = parts
  }

  reserve({ agent, changes, isErasure = false, price }: ChargeOptions = {}): Effect.Effect<void, ChargeFailure> {
    const { caller, carrier, isWrite, onAgent, operation, price: fullPrice, token: given } = this.#operation
    const only = changes?.length === 1 ? changes[0] : agent
    if (only !== undefined) onAgent(only)
    // An operator's look in place of an account moves nothing.
    if (caller.isOperator === true && !isWrite) return Effect.void
    if (this.#held !== undefined) return Effect.die(new Error(`${operation} asks for its price twice`))
    const account = payerOf(caller)
    const priced = { account, operation, price: price ?? fullPrice, namespace: this.#namespaceOf(agent, changes) }
    const durable =
      changes === undefined || this.token === undefined
        ? undefined
        : { token: this.token.key, namespaces: changes, request: given && requestOf(given) }
    const kept = this.#hold({ ...priced, durable })
    const once = isErasure ? Effect.catchTag(kept, "InsufficientStorage", () => this.#hold(priced)) : kept
    const topUp = { account, units: topUpUnits, purpose: "top-up" } as const
    // Made when it is needed: nearly every call finds its price covered.
    const paid = () =>
      Effect.andThen(
        this.#parts.desk.take(topUp, carrier()),
        Effect.catchTag(once, "InsufficientCredits", () => this.#parts.desk.ask(topUp, carrier()))
      )
    const funded = Effect.catchTag(once, "InsufficientCredits", () =>
      Effect.flatMap(this.#isRepeat(durable), (isRepeat) => (isRepeat ? Effect.void : paid()))
    )
    const newcomer = this.#newcomer
    if (newcomer === undefined) return funded
    const { allowance } = newcomer
    const isCovered = plans[account.plan].isUnlimited || allowance === undefined || allowance >= priced.price
    const opened = isCovered
      ? newcomer.open("free")
      : Effect.andThen(this.#parts.desk.take(topUp, carrier()), newcomer.open("paid"))
    return Effect.andThen(
      Effect.tap(opened, () => Effect.sync(() => void (this.#newcomer = undefined))),
      funded
    )
  }

  /** Namespace of the agent that pays. A write may be the first of its agent; a read of an unknown one is for none. */
  #namespaceOf(agent: string | undefined, changes: ReadonlyArray<string> = []): NamespaceTag | undefined {
    const { id } = this.caller.account
    const [changed, ...others] = changes
    if (changed === undefined) return agent === undefined ? undefined : this.#parts.directory.find(id, agent)?.tag
    return others.length > 0 ? undefined : this.#parts.directory.tagOf(id, changed)
  }

  get topUp(): Effect.Effect<void, ChargeFailure> {
    const { caller, carrier } = this.#operation
    const demand = { account: caller.account, units: topUpUnits, purpose: "top-up" } as const
    return Effect.suspend(() => this.#parts.desk.take(demand, carrier()))
  }

  get release(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const held = this.#held
      this.#held = undefined
      return held === undefined ? Effect.void : this.#parts.ledger.void(held)
    })
  }

  /** Decides a write whose failure leaves the outcome open: charged if its commit is there. */
  get decide(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const held = this.#held
      if (held?.durable === undefined) return this.release
      return Effect.flatMap(wasCommitted(this.#parts, held.accountId, held.durable), (happened) =>
        happened === "yes" ? Effect.asVoid(this.settle) : this.release
      )
    })
  }

  /** Whether the write was stored under its key while its hold was given back, as the namespace could not be asked. */
  #isRepeat(durable: Durable | undefined): Effect.Effect<boolean> {
    return this.#operation.token === undefined
      ? Effect.succeed(false)
      : Effect.map(wasCommitted(this.#parts, this.caller.account.id, durable), (happened) => happened === "yes")
  }

  /** Charges what is reserved; a call that reserved nothing is free. */
  get settle(): Effect.Effect<Omit<Charged<unknown>, "value">> {
    return Effect.suspend(() => {
      const { caller, operation } = this.#operation
      const held = this.#held
      if (held === undefined) {
        // Nothing is kept of a wallet without an account, a purse neither.
        if (this.#newcomer !== undefined) return Effect.succeed({ charged: 0, purses: pursesOf(this.#newcomer) })
        return Effect.map(this.#parts.ledger.purses(payerOf(caller)), (purses) => ({ charged: 0, purses }))
      }
      return Effect.map(this.#parts.ledger.settle(held), ({ charged, purses }) => {
        // On the owner's plan: what the call would have cost.
        const fullPrice = charged + held.ownUse
        countCharge(operation, fullPrice)
        return { charged: fullPrice, purses }
      })
    })
  }

  #hold(options: ReserveOptions) {
    return Effect.uninterruptible(
      Effect.map(this.#parts.ledger.reserve(options), (reserved) => {
        this.#held = reserved
      })
    )
  }
}

/**
 * A paid key stands for one request. A client that disconnects before its answer is kept frees the key; reused
 * with other bodies it would otherwise buy any number of calls.
 */
const requestOf = ({ fingerprint, key }: IdempotencyToken): string => `${key}:${fingerprint}`

/** Tokens that no other process of this data directory makes. */
class TokenSource {
  readonly #prefix: string
  #made = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  next(): IdempotencyToken {
    const key = `charge:${this.#prefix}:${(this.#made++).toString(36)}`
    return { key, fingerprint: key }
  }
}

// Charges are counted in plain numbers and passed to the metrics when they are read: updating a metric costs more
// than the charge itself.

const chargeCount = Metric.counter("charges_total", {
  description: "Calls that were charged, by operation.",
  incremental: true
})
const creditsCharged = Metric.counter("credits_charged_total", {
  description: "Credits charged or, on the owner's plan, recorded; by operation.",
  incremental: true
})

interface Uncounted {
  calls: number
  micro: MicroCredits
}

/** Charges since the last reading; one entry per operation of the contract. */
const uncounted = new Map<string, Uncounted>()

let chargedMicro: MicroCredits = 0

/** Charges since the start of the process; on the owner's plan what they would have cost. */
export const chargedSinceStart = (): MicroCredits => chargedMicro

const countCharge = (operation: string, charged: MicroCredits): void => {
  chargedMicro += charged
  const known = uncounted.get(operation)
  if (known === undefined) uncounted.set(operation, { calls: 1, micro: charged })
  else {
    known.calls += 1
    known.micro += charged
  }
}

/** Called before each reading of `/metrics`. */
export const refreshCharges: Effect.Effect<void> = Effect.suspend(() => {
  const counts = [...uncounted]
  uncounted.clear()
  return Effect.forEach(
    counts,
    ([operation, { calls, micro }]) =>
      Effect.andThen(
        Metric.update(Metric.withAttributes(chargeCount, { operation }), calls),
        Metric.update(Metric.withAttributes(creditsCharged, { operation }), toCredits(micro))
      ),
    { discard: true }
  )
})

/**
 * Costs of the tokens of the language model during one call of the API, for its `x-credits-charged` (contract:
 * Credits). Work that a call leaves to the background adds to it after the answer, unseen.
 */

/** One object for each call; what belongs to none goes to the default one, which nothing reads. */
export const TokenCosts = Context.Reference<{
  micro: MicroCredits
  /** Undefined: the account. An operator's change is recorded, as those on the owner's plan; their look moves nothing. */
  readonly payer?: "owner" | "nobody"
}>("muniment/server/TokenCosts", {
  defaultValue: () => ({ micro: 0 })
})

/** The namespace that the tokens are used for, in the ledger; default: none or several. */
export const TokenNamespace = Context.Reference<NamespaceTag | undefined>("muniment/server/TokenNamespace", {
  defaultValue: () => undefined
})
