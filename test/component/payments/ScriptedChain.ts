/**
 * A payment chain by script, sibling of the real ones: each question can be answered as a test wants. As
 * it comes, every payment is good, and what is broadcast is mined at once.
 */
import { Effect } from "effect"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import { ChainUnavailable, PaymentInvalid } from "@muniment/payments/chain/PaymentChain"
import type { ChainView, PaymentChain, SignedTransaction, UnpaidNext } from "@muniment/payments/chain/PaymentChain"
import type { WirePayment } from "@muniment/payments/wire/PaymentHeader"

export class ScriptedChain implements PaymentChain {
  readonly network: PaymentNetwork
  readonly sendsInParallel: boolean
  /** Questions in the order they came, with the payment's nonce. */
  readonly calls: Array<string> = []
  /** What was sent, each time. */
  readonly sent: Array<SignedTransaction> = []
  /** What the next transaction replaces, as `sign` was told. */
  readonly replaced: Array<string | undefined> = []
  /** What the chain holds, by nonce. */
  readonly mined = new Map<string, ChainView>()
  #signed = 0

  onVerify: (nonce: string) => Effect.Effect<void, PaymentInvalid | ChainUnavailable> = () => Effect.void
  onSign: (nonce: string) => Effect.Effect<void, PaymentInvalid | ChainUnavailable> = () => Effect.void
  onBroadcast: (
    nonce: string,
    transaction: SignedTransaction
  ) => Effect.Effect<SignedTransaction | void, ChainUnavailable> = (nonce, { hash }) =>
    Effect.sync(() => void this.mined.set(nonce, paid(hash)))
  onLook: (nonce: string) => Effect.Effect<ChainView, ChainUnavailable> = (nonce) =>
    Effect.sync(() => this.mined.get(nonce) ?? unpaid("resend"))

  constructor(network: PaymentNetwork = "base-sepolia", options: { readonly sendsInParallel?: boolean } = {}) {
    this.network = network
    this.sendsInParallel = options.sendsInParallel ?? false
  }

  readonly receiverOf: PaymentChain["receiverOf"] = (address) => Effect.succeed(address)
  readonly requirement: PaymentChain["requirement"] = ({ description, resource, units }) => ({
    scheme: "exact",
    network: this.network,
    maxAmountRequired: String(units),
    resource,
    description,
    mimeType: "application/json",
    payTo: "our-wallet",
    maxTimeoutSeconds: 60,
    asset: "usdc",
    extra: this.network.startsWith("solana") ? { feePayer: "operator" } : { name: "USDC", version: "2" }
  })

  readonly claim: PaymentChain["claim"] = (payload) => {
    const nonce = nonceOf(payload)
    if (nonce === undefined) return Effect.fail(new PaymentInvalid({ reason: "the payload has no nonce" }))
    const payTo = "our-wallet"
    return Effect.succeed({ id: this.idOf(nonce), network: this.network, payer: "payer", payTo, payload: { nonce } })
  }

  readonly verify: PaymentChain["verify"] = ({ payload }) => this.#ask("verify", payload, this.onVerify)

  readonly sign: PaymentChain["sign"] = ({ payload }, previous) =>
    Effect.andThen(
      this.#ask("sign", payload, this.onSign),
      Effect.sync(() => {
        this.replaced.push(previous?.hash)
        const hash = `hash-${++this.#signed}`
        return { hash, raw: `raw of ${hash}` }
      })
    )

  readonly broadcast: PaymentChain["broadcast"] = ({ payload }, transaction) =>
    Effect.suspend(() => {
      this.sent.push(transaction)
      return this.#ask("broadcast", payload, (nonce) => this.onBroadcast(nonce, transaction))
    })

  readonly look: PaymentChain["look"] = ({ payload }) => this.#ask("look", payload, (nonce) => this.onLook(nonce))

  idOf(nonce: string): string {
    return `${this.network}:${nonce}`
  }

  count(question: string): number {
    return this.calls.filter((call) => call.startsWith(`${question} `)).length
  }

  /** A signed payment of this chain, as a header brings it. */
  payment(nonce: string): WirePayment {
    return { version: 1, network: this.network, payload: { nonce } }
  }

  #ask<A, E>(question: string, payload: unknown, answer: (nonce: string) => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const nonce = nonceOf(payload) ?? ""
      this.calls.push(`${question} ${nonce}`)
      return answer(nonce)
    })
  }
}

export const paid = (hash: string, confirmations = 1, isFinal = false): ChainView => ({
  _tag: "Paid",
  hash,
  confirmations,
  isFinal
})
export const never = (block: number | bigint): ChainView => ({ _tag: "Never", block: BigInt(block) })
export const unpaid = (next: UnpaidNext): ChainView => ({ _tag: "Unpaid", next })
export const invalid = (reason: string) => Effect.fail(new PaymentInvalid({ reason }))
export const away = Effect.fail(new ChainUnavailable({ network: "base-sepolia", cause: "the node is away" }))

const nonceOf = (payload: unknown): string | undefined =>
  typeof payload === "object" && payload !== null && "nonce" in payload && typeof payload.nonce === "string"
    ? payload.nonce
    : undefined
