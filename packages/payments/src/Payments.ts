/**
 * Payments as the server uses them: quotes, signed payments, and reconciliation of those under way. Without configured
 * networks no code of a chain is loaded.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type PaymentNetwork, type PaymentRequirement, paymentNetworks } from "@muniment/domain/Payment"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { PaymentsConfig, PaymentsMisconfigured } from "./PaymentsConfig.ts"
import { Refunds } from "./refund/Refunds.ts"
import { type NetworkStatus, NetworkWatch } from "./settlement/NetworkWatch.ts"
import { Reconcile } from "./settlement/Reconcile.ts"
import type { PaymentFailure, PaymentOutcome, PaymentRequest } from "./settlement/PaymentOutcome.ts"
import { Settlement, type SettlementOptions } from "./settlement/Settlement.ts"
import type { PaymentChain } from "./chain/PaymentChain.ts"

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
    const options = { lanes: new Map(), ...given }
    return Layer.effect(
      Payments,
      Effect.suspend(() => make(options))
    ).pipe(Layer.provide(Reconcile.layer), Layer.provide(Settlement.layer(options)))
  }

  /** Accepts no payments; those of earlier configurations are answered by the journal. */
  static readonly layerNone = Payments.layerOf({ chains: new Map(), confirmations: 1 })
}

const make = Effect.fnUntraced(function* ({ chains, confirmations, lanes }: Required<SettlementOptions>) {
  const settlement = yield* Settlement
  const { round } = yield* Reconcile
  const refunds = new Refunds(yield* PaymentJournal, { chains, confirmations, lanes })
  yield* refunds.run
  const watch = new NetworkWatch(chains)
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
  /** Of USDC, 6 decimals. */
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
