/**
 * A payment chain that outlives the service: what was sent may arrive at once, later or never, its node may be away at
 * any question, and a block may be taken back. Stands in for `PaymentNetworks.ts`.
 */
import { Effect } from "effect"
import { type ChainView, ChainUnavailable, PaymentInvalid } from "@muniment/payments/chain/PaymentChain"
import type { PaymentChain, SignedTransaction } from "@muniment/payments/chain/PaymentChain"

const network = "base-sepolia"
const payTo = "0x00000000000000000000000000000000000000aa"
/** Blocks after which nothing is taken back. */
const finalDepth = 8
const doomedShare = 0.2

interface Payment {
  readonly units: number
  hash: string
  /** Of the block that has it. */
  block: number | undefined
  /** The chain will never take it. */
  readonly isDoomed: boolean
}

export class SimulatedChain implements PaymentChain {
  readonly network = network
  readonly sendsInParallel = true
  readonly #chance: () => number
  readonly #payments = new Map<string, Payment>()
  #block = 1
  #isOver = false
  #signed = 0
  /** Share of questions that the node does not answer. */
  awayShare = 0

  constructor(chance: () => number) {
    this.#chance = chance
  }

  /** Units that are with us, by nonce. */
  get received(): ReadonlyMap<string, number> {
    return new Map([...this.#payments].flatMap(([nonce, one]) => (one.block === undefined ? [] : [[nonce, one.units]])))
  }

  /** A payer signs. */
  authorise(nonce: string, units: number): void {
    this.#payments.set(nonce, { units, hash: "", block: undefined, isDoomed: this.#chance() < doomedShare })
  }

  /** Blocks pass; what is on its way may arrive. */
  mine(blocks: number): void {
    this.#block += blocks
    for (const one of this.#payments.values())
      if (one.hash !== "" && one.block === undefined && this.#chance() < 0.5) this.#include(one)
  }

  /** Everything on its way arrives and is final, or is known to come never. */
  finish(): void {
    this.awayShare = 0
    this.#isOver = true
    for (const one of this.#payments.values()) if (one.hash !== "" && one.block === undefined) this.#include(one)
    this.#block += finalDepth + 1
  }

  /** A block that is not final may be taken back; what it had is on its way again. */
  reorganise(): void {
    this.#block++
    for (const one of this.#payments.values())
      if (one.block !== undefined && this.#block - one.block < finalDepth && this.#chance() < 0.5) one.block = undefined
  }

  readonly receiverOf: PaymentChain["receiverOf"] = (address) => Effect.succeed(address)

  readonly requirement: PaymentChain["requirement"] = ({ description, resource, units }) => ({
    scheme: "exact",
    network,
    maxAmountRequired: String(units),
    resource,
    description,
    mimeType: "application/json",
    payTo,
    maxTimeoutSeconds: 60,
    asset: "0x00000000000000000000000000000000000000bb",
    extra: { name: "USDC", version: "2" }
  })

  readonly claim: PaymentChain["claim"] = (payload) => {
    const nonce = nonceOf(payload)
    if (nonce === undefined) return Effect.fail(new PaymentInvalid({ reason: "the payload has no nonce" }))
    return Effect.succeed({ id: `evm:84532:${nonce}`, network, payer: `payer-${nonce}`, payTo, payload: { nonce } })
  }

  readonly verify: PaymentChain["verify"] = ({ payload }, units) =>
    this.#asked(() => {
      const payment = this.#payments.get(nonceOf(payload) ?? "")
      if (payment?.units !== units) return Effect.fail(new PaymentInvalid({ reason: "nobody signed this" }))
      const isSpent = payment.block !== undefined
      return isSpent ? Effect.fail(new PaymentInvalid({ reason: "it was used before", isSpent })) : Effect.void
    })

  readonly sign: PaymentChain["sign"] = () =>
    this.#asked(() => {
      const hash = `0x${(++this.#signed).toString(16).padStart(64, "0")}`
      return Effect.succeed({ hash, raw: `0x02${hash.slice(2)}` })
    })

  /** The node may take it and not say so. */
  readonly broadcast: PaymentChain["broadcast"] = ({ payload }, transaction) =>
    Effect.suspend(() => {
      const fate = this.#chance()
      if (fate < 0.9) this.#send(this.#of(payload), transaction)
      return fate < 0.8 ? Effect.void : Effect.fail(away)
    })

  readonly look: PaymentChain["look"] = ({ payload }) =>
    this.#asked(() => Effect.succeed(this.#viewOf(this.#of(payload))))

  #viewOf({ block, hash, isDoomed }: Payment): ChainView {
    // Each look comes from another block.
    if (isDoomed && this.#isOver) return { _tag: "Never", block: BigInt(++this.#block) }
    if (block === undefined) return { _tag: "Unpaid", next: hash === "" ? "resend" : "wait" }
    const confirmations = this.#block - block + 1
    return { _tag: "Paid", hash, confirmations, isFinal: confirmations > finalDepth }
  }

  #send(payment: Payment, { hash }: SignedTransaction): void {
    if (payment.block !== undefined) return
    payment.hash = hash
    if (this.#chance() < 0.5) this.#include(payment)
  }

  #include(payment: Payment): void {
    if (!payment.isDoomed) payment.block = this.#block
  }

  #of(payload: unknown): Payment {
    const found = this.#payments.get(nonceOf(payload) ?? "")
    if (found === undefined) throw new Error("a payment is followed that nobody signed")
    return found
  }

  /** An answer of the node, if it gives one. */
  #asked<A, E = never>(answer: () => Effect.Effect<A, E>): Effect.Effect<A, E | ChainUnavailable> {
    return Effect.suspend((): Effect.Effect<A, E | ChainUnavailable> =>
      this.#chance() < this.awayShare ? Effect.fail(away) : answer()
    )
  }
}

const away = new ChainUnavailable({ network, cause: "the simulated node is away" })

const nonceOf = (payload: unknown): string | undefined =>
  typeof payload === "object" && payload !== null && "nonce" in payload && typeof payload.nonce === "string"
    ? payload.nonce
    : undefined

let current: SimulatedChain | undefined

/** The chain of the services that start from now on. */
export const connectChain = (chain: SimulatedChain): void => {
  current = chain
}

export const paymentChains = () =>
  Effect.sync((): ReadonlyMap<string, PaymentChain> => new Map(current === undefined ? [] : [[network, current]]))
