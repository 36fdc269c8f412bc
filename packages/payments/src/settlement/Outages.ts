/**
 * Outages of payment networks. The log has one line when an outage begins and one when it ends, however many payments
 * meet it. Questions are separate: a node that answers may still refuse to send, as when the operator's wallet is empty.
 */
import { Effect } from "effect"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import { type ChainUnavailable, isChainUnavailable, type PaymentChain } from "../chain/PaymentChain.ts"

/** The call of a chain. */
export type ChainQuestion = keyof Pick<PaymentChain, "verify" | "sign" | "broadcast" | "look">

export class Outages {
  readonly #away = new Set<string>()

  /** Runs `effect` and records whether the network answered. */
  watch<A, E, R>(
    network: PaymentNetwork,
    question: ChainQuestion,
    effect: Effect.Effect<A, E | ChainUnavailable, R>
  ): Effect.Effect<A, E | ChainUnavailable, R> {
    const key = keyOf(network, question)
    const back = Effect.suspend(() =>
      this.#away.delete(key) ? Effect.logInfo("payment network works again", { network, question }) : Effect.void
    )
    const gone = ({ cause }: ChainUnavailable) =>
      Effect.suspend(() => {
        if (this.#away.has(key)) return Effect.void
        this.#away.add(key)
        return Effect.logWarning("payment network does not work; payments wait", {
          network,
          question,
          cause: causeText(cause)
        })
      })
    // A refusal says nothing about the network: some rules need no call.
    return effect.pipe(
      Effect.tap(() => back),
      Effect.tapError((error) => (isChainUnavailable(error) ? gone(error) : Effect.void))
    )
  }
}

const keyOf = (network: PaymentNetwork, question: ChainQuestion): string => `${network} ${question}`

/** Texts of our chains are safe; other causes may contain a URL with its key. */
const causeText = (cause: unknown): string =>
  typeof cause === "string" ? cause : cause instanceof Error ? cause.name : "no reason given"
