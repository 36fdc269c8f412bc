/**
 * Lifetime of a signed payment: to the second that it names on an EVM chain, as long as its blockhash serves on Solana.
 * On a busy machine that passes before the service is asked; then an honest client signs anew.
 */
import { Limits } from "@muniment/domain/Limits"
import { readTransaction } from "../../scripts/devchains/SolanaTransaction.ts"
import { decodeHeader } from "./PaymentCalls.ts"
import type { PaymentChains, TestNetwork } from "./PaymentChains.ts"
import type { Answer } from "./TestServer.ts"

export interface Signed {
  readonly network: TestNetwork
  readonly headers: Readonly<Record<string, string>>
}

/** When its time ran out, in milliseconds; undefined: it is good still. */
export const ranOutAt = (chains: PaymentChains, { headers, network }: Signed): number | undefined => {
  const { payload } = decodeHeader(Object.values(headers)[0]!)
  if (network === "solana-devnet") return chains.solana.blockhashEndedAt(blockhashOf(payload.transaction))
  const { validBefore } = payload.authorization
  const millis = (Number(validBefore) - Limits.paymentSpareSeconds - roundingSeconds) * 1_000
  return Date.now() >= millis ? millis : undefined
}

/** The service and the chain count whole seconds. */
const roundingSeconds = 1

const blockhashOf = (wire: string): string => readTransaction(Buffer.from(wire, "base64")).message.lifetimeToken

const outOfTimeSentences = ["the authorization has expired", "the blockhash of the transaction is not valid (any more)"]

/** The service says that the time had run out, and it had. */
export const isOutOfTime = (
  chains: PaymentChains,
  payment: Signed,
  { at, body }: { readonly at: number; readonly body: Answer["body"] }
): boolean =>
  outOfTimeSentences.some((sentence) => String(body.error).includes(sentence)) &&
  (ranOutAt(chains, payment) ?? Infinity) <= at
