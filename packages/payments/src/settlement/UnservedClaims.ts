/**
 * Reads payments on networks that are not served now: the journal may know them from before, and then it answers. The
 * code of a network's family is loaded only then.
 */
import { Effect } from "effect"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import type { PaymentClaim, PaymentInvalid } from "../chain/PaymentChain.ts"

export const claimUnserved = Effect.fn("UnservedClaims.claim")(function* (
  network: PaymentNetwork,
  payload: unknown
): Effect.fn.Return<PaymentClaim, PaymentInvalid> {
  if (paymentNetworks[network].family === "evm") {
    const { evmClaim } = yield* Effect.promise(() => import("../evm/EvmAuthorization.ts"))
    return yield* evmClaim(network, payload)
  }
  const { svmClaim } = yield* Effect.promise(() => import("../svm/SvmTransaction.ts"))
  return yield* svmClaim(network, payload)
})
