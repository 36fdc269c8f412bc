/** A decoded wire transaction; for a simulation it need not be signed. */
import {
  getBase58Decoder,
  getBase64Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Signature,
  signature as toSignature,
  type Transaction
} from "@solana/kit"
import { rpcErrorCode, SolanaRpcError } from "./SolanaFault.ts"

export interface SolanaTransaction {
  readonly wire: Uint8Array
  readonly transaction: Transaction
  readonly message: ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>["decode"]>
  /** The fee payer's, which identifies the transaction. */
  readonly signature: Signature
  /** Equal for equal messages, whatever their signatures. */
  readonly messageKey: string
}

/** Throws `SolanaRpcError`. */
export const readTransaction = (wire: Uint8Array): SolanaTransaction => {
  try {
    const transaction = getTransactionDecoder().decode(wire)
    return {
      wire,
      transaction,
      message: getCompiledTransactionMessageDecoder().decode(transaction.messageBytes),
      signature: firstSignature(transaction),
      messageKey: getBase64Decoder().decode(transaction.messageBytes)
    }
  } catch (cause) {
    throw new SolanaRpcError(rpcErrorCode.invalidParams, `failed to deserialize the transaction: ${String(cause)}`)
  }
}

const signatureBytes = 64

/** A missing one is all zeros on the wire. */
const firstSignature = ({ signatures }: Transaction): Signature => {
  const [bytes = null] = Object.values(signatures)
  return toSignature(getBase58Decoder().decode(bytes ?? new Uint8Array(signatureBytes)))
}
