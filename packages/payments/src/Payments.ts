/**
 * Payments as the server uses them: quotes, signed payments, and reconciliation of those under way. Without configured
 * networks no code of a chain is loaded.
 */
import { Clock, Context, Effect, Layer, Schedule, type Scope, Semaphore } from "effect"
import { unfinishedPageMax } from "@muniment/control/payments/PaymentRows"
import { type PaymentNetwork, paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"
import { type JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { Limits } from "@muniment/domain/Limits"
import { Rounds } from "@muniment/worker/Rounds"
import type { PaymentsConfig, PaymentsMisconfigured } from "./PaymentNetworks.ts"
import { Refunds } from "./refund/Refunds.ts"
import {
  type PaymentFailure,
  type PaymentOutcome,
  type PaymentRequest,
  countPayment
} from "./settlement/PaymentRuns.ts"
import { type ChainProblem, Outages } from "./settlement/PaymentDriver.ts"
import { Settlement, type SettlementOptions } from "./settlement/Settlement.ts"
import type { ChainHealth, NodeStatus, PaymentChain } from "./chain/PaymentChain.ts"

/**
 * Reconciliation: one step for every unfinished payment, at the start and every `Limits.reconcileEveryMillis`. These are
 * payments left open by a crash, an outage or a client that disconnected, and settled ones that a chain reorganisation
 * may still remove.
 *
 * Invariants: the chain is the only source; an unavailable network delays no other; a credit is taken back only after the
 * chain has reported the loss twice, by different blocks (`Doubts`).
 */
export class Reconcile extends Context.Service<
  Reconcile,
  {
    /** One round over all unfinished payments; returns their number. */
    readonly round: Effect.Effect<number>
  }
>()("muniment/payments/Reconcile") {
  /** Rounds run while the layer lives. */
  static readonly layer: Layer.Layer<Reconcile, never, PaymentJournal | Settlement> = Layer.effect(
    Reconcile,
    Effect.suspend(() => makeRounds)
  )
}

/** Payments looked at concurrently. */
const concurrentMax = 8
/** Finality takes minutes, so settled payments are looked at only in every `roundsPerSettled`th round. */
const roundsPerSettled = 4

const makeRounds = Effect.gen(function* () {
  const journal = yield* PaymentJournal
  const settlement = yield* Settlement

  const look = Effect.fnUntraced(function* (payment: JournalledPayment) {
    const step = yield* settlement.carryOn(payment)
    if (step?._tag !== "Lost") return
    yield* journal.reversed(payment.id, "a chain reorganisation removed it")
    yield* countPayment(payment.network, "reversed")
    yield* Effect.logWarning("payment reversed: a chain reorganisation removed it", { payment: payment.id })
  })

  /** A failure of one payment does not stop the others. Outages are logged by `Outages`. */
  const lookSafely = (payment: JournalledPayment) =>
    look(payment).pipe(
      Effect.catchTags({
        ChainUnavailable: () => Effect.void,
        InsufficientStorage: ({ code }) => Effect.logWarning("payment waits", { payment: payment.id, code }),
        Unavailable: ({ code }) => Effect.logWarning("payment waits", { payment: payment.id, code })
      }),
      Effect.catchDefect((defect) =>
        Effect.logError("payment step crashed; reconciliation will retry", { payment: payment.id }, defect)
      )
    )

  // One round at a time: a second one would ask the same questions.
  const oneAtATime = yield* Semaphore.make(1)
  const roundOf = Effect.fn("Reconcile.round")(
    function* (isWanted: (payment: JournalledPayment) => boolean) {
      let looked = 0
      let last: JournalledPayment | undefined
      // Page by page: payments that stay open must not hide later ones.
      do {
        const page = yield* journal.unfinished(last)
        const wanted = page.filter(isWanted)
        yield* Effect.forEach(wanted, lookSafely, { concurrency: concurrentMax, discard: true })
        looked += wanted.length
        last = page.length < unfinishedPageMax ? undefined : page.at(-1)
      } while (last !== undefined)
      return looked
    },
    (round) => oneAtATime.withPermits(1)(round)
  )

  let rounds = 0
  const due = Effect.suspend(() => {
    const includesSettled = rounds++ % roundsPerSettled === 0
    return roundOf(({ state }) => includesSettled || state !== "settled")
  })
  yield* Rounds.add({
    name: "reconciliation of payments",
    schedule: Schedule.spaced(Limits.reconcileEveryMillis),
    work: due,
    isFirstNow: true
  })

  return Reconcile.of({ round: roundOf(() => true) })
})

export class Payments extends Context.Service<
  Payments,
  {
    readonly isConfigured: boolean
    readonly networks: ReadonlyArray<PaymentNetwork>
    /** `accepts` of a 402 answer, of the networks that can take payments; makes no network call. */
    readonly quote: (request: QuoteRequest) => Effect.Effect<ReadonlyArray<PaymentRequirement>>
    readonly statuses: Effect.Effect<ReadonlyArray<NetworkStatus>>
    /** Asks the nodes for their status now. */
    readonly look: Effect.Effect<void>
    readonly pay: (request: PaymentRequest) => Effect.Effect<PaymentOutcome, PaymentFailure>
    /** One additional round over the unfinished payments and refunds; returns the number of the former. */
    readonly reconcile: Effect.Effect<number>
    readonly refunds: Pick<Refunds, "offer" | "send">
  }
>()("muniment/payments/Payments") {
  static readonly layer = (config: PaymentsConfig): Layer.Layer<Payments, PaymentsMisconfigured, PaymentJournal> =>
    Layer.unwrap(
      Effect.gen(function* () {
        const { paymentChains } = yield* Effect.promise(() => import("./PaymentNetworks.ts"))
        return Payments.layerOf({ chains: yield* paymentChains(config), confirmations: config.confirmations })
      })
    )

  /** With given chains. */
  static readonly layerOf = (given: SettlementOptions): Layer.Layer<Payments, never, PaymentJournal> => {
    const options = { lanes: new Map(), outages: new Outages(), ...given }
    return Layer.effect(
      Payments,
      Effect.suspend(() => make(options))
    ).pipe(Layer.provide(Reconcile.layer), Layer.provide(Settlement.layer(options)))
  }

  /** Accepts no payments; those of earlier configurations are answered by the journal. */
  static readonly layerNone = Payments.layerOf({ chains: new Map(), confirmations: 1 })
}

const make = Effect.fnUntraced(function* (options: Required<SettlementOptions>) {
  const { chains, outages } = options
  const settlement = yield* Settlement
  const { round } = yield* Reconcile
  const refunds = new Refunds(yield* PaymentJournal, options)
  yield* refunds.run
  const watch = new NetworkWatch(chains, outages)
  yield* watch.run
  const statuses = Effect.map(Clock.currentTimeMillis, (now) => watch.statuses(now))
  return Payments.of({
    isConfigured: chains.size > 0,
    networks: [...chains.keys()],
    quote: (request) =>
      Effect.map(statuses, (all) => {
        const offered = new Set(all.filter(({ isOffered }) => isOffered).map(({ network }) => network))
        return quote(
          [...chains.values()].filter(({ network }) => offered.has(network)),
          request
        )
      }),
    statuses,
    look: watch.look,
    pay: settlement.pay,
    reconcile: Effect.tap(round, () => refunds.round),
    refunds
  })
})

interface QuoteRequest {
  /** Units of USDC, 6 decimals. */
  readonly units: number
  /** Absolute URL without query. */
  readonly resource: string
  readonly description: string
}

/**
 * One requirement for each network that can accept a payment now; no network call. EVM is first, because the stock client
 * takes the first entry, and with Solana first it fails for users with only an EVM key.
 */
export const quote = (chains: Iterable<PaymentChain>, request: QuoteRequest): ReadonlyArray<PaymentRequirement> =>
  [...chains]
    .map((chain) => chain.requirement(request))
    .filter(isPayable)
    .sort((one, other) => rank(one) - rank(other))

/** A Solana payment needs the fee payer, which a facilitator reports only after the start. */
const isPayable = ({ extra, network }: PaymentRequirement): boolean =>
  paymentNetworks[network].family === "evm" || extra.feePayer !== undefined

const rank = ({ network }: PaymentRequirement): number => (paymentNetworks[network].family === "evm" ? 0 : 1)

interface NetworkStatus {
  readonly network: PaymentNetwork
  /** False while the node does not answer; true before the first answer, and without a node of ours. */
  readonly isReachable: boolean
  /** False: not in demands. */
  readonly isOffered: boolean
  /** The last that the node said; undefined if it never did. */
  readonly health: ChainHealth | undefined
  /** Our nodes, in the order of the configuration. */
  readonly nodes: ReadonlyArray<NodeStatus>
  readonly problems: ReadonlyArray<ChainProblem>
}

interface Watched {
  health: ChainHealth | undefined
  /** Since when the node does not answer. */
  awaySince: number | undefined
}

/**
 * Watches whether each network can take payments: its node is asked every `Limits.networkWatchMillis`, sooner while
 * something is wrong. A network is not offered while its operator cannot pay the fees, nor after its node has been away
 * for `Limits.networkAwayMillis`; payments under way are followed all the same.
 */
class NetworkWatch {
  readonly #chains: ReadonlyMap<PaymentNetwork, PaymentChain>
  readonly #outages: Outages
  readonly #watched = new Map<PaymentNetwork, Watched>()

  constructor(chains: ReadonlyMap<PaymentNetwork, PaymentChain>, outages: Outages) {
    this.#chains = chains
    this.#outages = outages
    for (const network of chains.keys()) this.#watched.set(network, { health: undefined, awaySince: undefined })
  }

  /** Asks each node from now on, while the scope lives. */
  get run(): Effect.Effect<void, never, Scope.Scope> {
    return Effect.forEach(this.#chains.values(), (chain) => this.#follow(chain), { discard: true })
  }

  /** One look at each node; at once. */
  get look(): Effect.Effect<void> {
    return Effect.forEach(this.#chains.values(), (chain) => this.#ask(chain), {
      discard: true,
      concurrency: "unbounded"
    })
  }

  statuses(nowMillis: number): ReadonlyArray<NetworkStatus> {
    return [...this.#watched].map(([network, { awaySince, health }]) => ({
      network,
      isReachable: awaySince === undefined,
      isOffered:
        health?.isFunded !== false && (awaySince === undefined || nowMillis - awaySince < Limits.networkAwayMillis),
      health,
      nodes: this.#chains.get(network)?.nodes?.() ?? [],
      problems: this.#outages.of(network)
    }))
  }

  #follow(chain: PaymentChain): Effect.Effect<void, never, Scope.Scope> {
    let isWell = true
    return Rounds.whenWoken({
      name: "looks at networks of payments",
      until: Effect.suspend(() => Effect.sleep(isWell ? Limits.networkWatchMillis : Limits.networkRetryMillis)),
      work: Effect.map(this.#ask(chain), (answer) => void (isWell = answer)),
      isFirstNow: true
    })
  }

  /** A payment that waits asks at least once between two looks: longer ago, none met the problem again. */
  #disprove(network: PaymentNetwork): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      this.#outages.disprove(network, now - Limits.reconcileEveryMillis * roundsPerSettled)
    )
  }

  /** True if nothing is wrong. */
  #ask({ health, network }: PaymentChain): Effect.Effect<boolean> {
    const watched = this.#watched.get(network)
    if (health === undefined || watched === undefined) return Effect.succeed(true)
    return Effect.matchEffect(health, {
      onSuccess: (seen) => {
        const isNews = seen.isFunded !== (watched.health?.isFunded ?? true)
        watched.health = seen
        watched.awaySince = undefined
        const funded = seen.isFunded ? "has enough again" : "does not have enough"
        const told = isNews
          ? Effect.logWarning(`the operator's wallet ${funded} for the fees of payments`, { network })
          : Effect.void
        return Effect.as(Effect.andThen(told, this.#disprove(network)), seen.isFunded)
      },
      onFailure: () =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          watched.awaySince ??= now
          return false
        })
    })
  }
}
