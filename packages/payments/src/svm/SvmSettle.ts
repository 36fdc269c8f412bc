/**
 * Signs as fee payer and sends. Nothing leaves this process signed that breaks a rule, whatever was
 * verified before; the amount alone is the caller's to compare. Ed25519 signatures are deterministic: to
 * sign a payment again, after a restart too, gives the same transaction, which lands once at most.
 */
import { Effect } from "effect"
import {
  type Base64EncodedWireTransaction,
  getBase58Decoder,
  SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED
} from "@solana/kit"
import { PaymentInvalid, type SignedTransaction } from "../PaymentChain.ts"
import type { SolanaKey } from "./SolanaKey.ts"
import type { SvmRpc, SvmRpcFailure } from "./SvmRpc.ts"
import { brokenSvmRule, type SvmTerms } from "./SvmRules.ts"
import { signAsFeePayer, type SvmTransaction } from "./SvmTransaction.ts"

/** `terms` without regard to its units. */
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

/** Preflight and retries are ours: `verify` has simulated it, and the state machine sends again. */
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
