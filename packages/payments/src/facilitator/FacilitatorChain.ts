/**
 * A payment chain whose transactions are sent by a facilitator (x402, "Facilitator"): an HTTP service that verifies and
 * settles payments and pays the network's fees. Claims, quotes and our own rules remain local.
 *
 * Invariants: only the facilitator's `success` or the chain itself means paid; any other result of a settle call means
 * unknown, because the transaction may be under way. With an RPC the chain is asked; without one the facilitator's
 * answer is the only source, so a payment without an answer stays open for the operator.
 */
import { Clock, Data, Effect } from "effect"
import { HTTPFacilitatorClient } from "@x402/core/http"
import { SettleError, type SettleResponse, VerifyError, type VerifyResponse } from "@x402/core/types"
import { Limits } from "@muniment/domain/Limits"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import {
  ChainUnavailable,
  type ChainView,
  type PaymentChain,
  type PaymentClaim,
  PaymentInvalid,
  type VerifyOptions
} from "../chain/PaymentChain.ts"
import type { SignedTransaction } from "../chain/PaymentChain.ts"
import { requirementV2 } from "../wire/PaymentHeader.ts"

interface FacilitatorOptions {
  readonly url: string
  /** True if `inner` can read the chain. */
  readonly hasRpc: boolean
  /** Amount of a verified claim, in units of USDC. */
  readonly unitsOf: (claim: PaymentClaim) => Effect.Effect<number>
}

/** A facilitator answers after the block. */
const settleTimeoutMillis = 30_000
/** After this time a settle call is not repeated: the signature has expired on every network. */
const resendMillisMax = 300_000
const reasonCharsMax = 200

/** `inner` is evaluated for each call: its fee payer may become known later. */
export const facilitatorChain = (
  inner: () => PaymentChain,
  { hasRpc, unitsOf, url }: FacilitatorOptions
): PaymentChain => {
  const { network } = inner()
  const checking = new HTTPFacilitatorClient({ url, timeoutMs: Limits.chainCallTimeoutMillis })
  const settling = new HTTPFacilitatorClient({ url, timeoutMs: settleTimeoutMillis })
  const unavailable = (cause: string) => new ChainUnavailable({ network, cause })
  const orderOf = (claim: PaymentClaim, units: number) => {
    const quoted = inner().requirement({ units, resource: "", description: "" })
    // On Solana the claim names a token account, and the requirement the wallet that owns it.
    const payTo = paymentNetworks[network].family === "evm" ? claim.payTo : quoted.payTo
    const accepted = requirementV2({ ...quoted, payTo })
    return { payment: { x402Version: 2, accepted, payload: { ...claim.payload } }, accepted }
  }

  /** Our rules, then the facilitator's. */
  const verify = Effect.fn("Facilitator.verify")(function* (
    claim: PaymentClaim,
    units: number,
    options?: VerifyOptions
  ) {
    // Without RPC the inner chain verifies what it can, then fails as unavailable.
    yield* Effect.catchTag(inner().verify(claim, units, options), "ChainUnavailable", () => Effect.void)
    const { accepted, payment } = orderOf(claim, units)
    const opinion = yield* ask(() => checking.verify(payment, accepted)).pipe(
      Effect.catch(({ cause }) =>
        isRefusal(cause)
          ? Effect.succeed<VerifyResponse>({ isValid: false, ...reasonOf(cause) })
          : Effect.fail(unavailable("the facilitator failed to verify"))
      )
    )
    if (opinion.isValid) return
    return yield* new PaymentInvalid({ reason: `the facilitator refuses: ${printable(opinion.invalidReason)}` })
  })

  const broadcast = Effect.fn("Facilitator.broadcast")(function* (claim: PaymentClaim, transaction: SignedTransaction) {
    const { accepted, payment } = orderOf(claim, yield* unitsOf(claim))
    const answer = yield* ask(() => settling.settle(payment, accepted)).pipe(
      Effect.catch(({ cause }) =>
        isUnsettled(cause)
          ? Effect.succeed<Pick<SettleResponse, "success" | "transaction">>({
              success: false,
              transaction: cause.transaction
            })
          : Effect.fail(unavailable("the facilitator failed to settle"))
      )
    )
    if (answer.success) return { hash: answer.transaction, raw: settledRaw }
    if (answer.transaction !== "") return { hash: answer.transaction, raw: transaction.raw }
    return yield* unavailable("the facilitator could not settle a payment")
  })

  return {
    network,
    sendsInParallel: true,
    health: inner().health,
    nodes: hasRpc ? () => inner().nodes?.() ?? [] : undefined,
    requirement: (quote) => inner().requirement(quote),
    receiverOf: (address) => inner().receiverOf(address),
    claim: (payload) => inner().claim(payload),
    verify,
    sign: () => Effect.map(Clock.currentTimeMillis, (now) => ({ hash: "", raw: `${unsettledMark}${now}` })),
    broadcast,
    look: (claim, transaction, units) => look(inner(), hasRpc, claim, transaction, units)
  }
}

const look = Effect.fn("Facilitator.look")(function* (
  inner: PaymentChain,
  hasRpc: boolean,
  claim: PaymentClaim,
  transaction: SignedTransaction,
  units: number
): Effect.fn.Return<ChainView, ChainUnavailable> {
  const { hash, raw } = transaction
  if (hasRpc) {
    const view = yield* inner.look(claim, { hash, raw: "" }, units)
    if (view._tag !== "Unpaid" || view.next === "wait") return view
    if (hash !== "") return unpaid("wait")
  } else if (raw === settledRaw) {
    return { _tag: "Paid", hash, confirmations: Number.MAX_SAFE_INTEGER, isFinal: true }
  }
  const age = (yield* Clock.currentTimeMillis) - signedAtOf(transaction)
  return unpaid(age <= resendMillisMax ? "resend" : "wait")
})

/** Fee payer of a Solana payment; undefined if the facilitator does not support that network. */
export const facilitatorFeePayer = (url: string, network: PaymentNetwork) =>
  ask(() => new HTTPFacilitatorClient({ url, timeoutMs: Limits.chainCallTimeoutMillis }).getSupported()).pipe(
    Effect.map(({ kinds }) => {
      const { caip2 } = paymentNetworks[network]
      const ours = kinds.filter((kind) => kind.scheme === "exact" && kind.network === caip2)
      const feePayer = ours.find((kind) => kind.x402Version === 2)?.extra?.["feePayer"]
      return typeof feePayer === "string" ? feePayer : undefined
    }),
    Effect.mapError(() => new ChainUnavailable({ network, cause: "the facilitator does not say what it supports" }))
  )

/** Journalled in place of the bytes, which only the facilitator has: its answer, or the time of the request. */
const settledRaw = "settled"
const unsettledMark = "asked "

const signedAtOf = ({ raw }: SignedTransaction): number =>
  raw.startsWith(unsettledMark) ? Number(raw.slice(unsettledMark.length)) : 0

const unpaid = (next: "wait" | "resend"): ChainView => ({ _tag: "Unpaid", next })

class FacilitatorFailed extends Data.TaggedError("FacilitatorFailed")<{ readonly cause: unknown }> {}

const ask = <A>(call: () => Promise<A>) =>
  Effect.tryPromise({ try: call, catch: (cause) => new FacilitatorFailed({ cause }) })

/** The facilitator examined the payment and refused it; a 5xx is its own failure. */
const isRefusal = (error: unknown): error is VerifyError => error instanceof VerifyError && error.statusCode < 500
const isUnsettled = (error: unknown): error is SettleError => error instanceof SettleError

const reasonOf = ({ invalidReason }: VerifyError) => (invalidReason === undefined ? {} : { invalidReason })

const printable = (reason: string | undefined): string =>
  reason?.replace(/[^\x20-\x7e]/g, "?").slice(0, reasonCharsMax) ?? "no reason given"
