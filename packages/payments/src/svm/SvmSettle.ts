/**
 * Signs as fee payer, and sends. Checks the rules again before signing, except the amount, which the caller compares.
 * Ed25519 signatures are deterministic: signing a payment again, also after a restart, gives the same transaction, which
 * is included at most once.
 */
import { Effect } from "effect"
import {
  type Base64EncodedWireTransaction,
  getBase58Decoder,
  SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED
} from "@solana/kit"
import { PaymentInvalid, type SignedTransaction } from "../chain/PaymentChain.ts"
import type { SolanaKey } from "./SolanaKey.ts"
import type { SvmRpc, SvmRpcFailure } from "./SvmRpc.ts"
import { brokenSvmRule, type SvmTerms } from "./SvmRules.ts"
import { signAsFeePayer, type SvmTransaction } from "./SvmTransaction.ts"

/** Ignores the units of `terms`. */
export const signSvm = Effect.fn("SvmSettle.sign")(function* (
  transaction: SvmTransaction,
  terms: Omit<SvmTerms, "units">,
  key: SolanaKey
) {
  const reason = brokenSvmRule(transaction, { ...terms, units: transaction.transfer.units })
  if (reason !== undefined) return yield* new PaymentInvalid({ reason })
  const { signature, raw } = signAsFeePayer(transaction, key)
  return { hash: getBase58Decoder().decode(signature), raw } satisfies SignedTransaction
})

/** Without the node's preflight and retries: `verify` has simulated it, and the state machine resends. */
export const broadcastSvm = (rpc: SvmRpc, raw: string): Effect.Effect<void, SvmRpcFailure> =>
  rpc
    .ask("sendTransaction", (node, options) =>
      node
        .sendTransaction(raw as Base64EncodedWireTransaction, {
          encoding: "base64",
          skipPreflight: true,
          maxRetries: 0n
        })
        .send(options)
    )
    .pipe(
      Effect.asVoid,
      Effect.catchIf(
        ({ codes }) => codes.includes(SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED),
        () => Effect.void
      )
    )
