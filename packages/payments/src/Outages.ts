/**
 * Which networks cannot be asked now. The log says so once when an outage begins and once when it ends,
 * however many payments run into it. Questions are told apart: a node that answers may still not let us
 * send, as when the operator's wallet is empty.
 */
import { Effect } from "effect"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import type { ChainUnavailable, PaymentChain } from "./PaymentChain.ts"

/** What of a chain was asked. */
export type ChainQuestion = keyof Pick<PaymentChain, "verify" | "sign" | "broadcast" | "look">

export class Outages {
  readonly #away = new Set<string>()

  /** As far as the last calls told. */
  isReachable(network: PaymentNetwork): boolean {
    return !questions.some((question) => this.#away.has(keyOf(network, question)))
  }

  /** `effect`, and what its end tells of the network. */
  watch<A, E, R>(
    network: PaymentNetwork,
    question: ChainQuestion,
    effect: Effect.Effect<A, E | ChainUnavailable, R>
  ): Effect.Effect<A, E | ChainUnavailable, R> {
    const key = keyOf(network, question)
    const back = Effect.suspend(() =>
      this.#away.delete(key) ? Effect.logInfo("a payment network works again", { network, question }) : Effect.void
    )
    const gone = ({ cause }: ChainUnavailable) =>
      Effect.suspend(() => {
        if (this.#away.has(key)) return Effect.void
        this.#away.add(key)
        return Effect.logWarning("a payment network does not work", { network, question, cause: causeText(cause) })
      })
    // A payment that is refused may have been so without the network.
    return effect.pipe(
      Effect.tap(() => back),
      Effect.tapError((error) => (isUnavailable(error) ? gone(error) : Effect.void))
    )
  }
}

const questions: ReadonlyArray<ChainQuestion> = ["verify", "sign", "broadcast", "look"]
const keyOf = (network: PaymentNetwork, question: ChainQuestion): string => `${network} ${question}`

const isUnavailable = (error: unknown): error is ChainUnavailable =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "ChainUnavailable"

/** Chains say what went wrong in words of their own; other causes may hold a URL with its key. */
const causeText = (cause: unknown): string =>
  typeof cause === "string" ? cause : cause instanceof Error ? cause.name : "no reason given"
