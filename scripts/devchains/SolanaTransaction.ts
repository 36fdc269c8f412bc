/** A signed transaction as it comes over the wire, taken apart. */
import {
  getBase64Decoder,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  type Signature,
  type Transaction
} from "@solana/kit"
import { rpcErrorCode, SolanaRpcError } from "./SolanaFault.ts"

export interface SolanaTransaction {
  readonly wire: Uint8Array
  readonly transaction: Transaction
  readonly message: ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>["decode"]>
  /** The first one, which names the transaction. */
  readonly signature: Signature
  /** Equal for equal messages, whoever signed them. */
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
      signature: getSignatureFromTransaction(transaction),
      messageKey: getBase64Decoder().decode(transaction.messageBytes)
    }
  } catch (cause) {
    throw new SolanaRpcError(rpcErrorCode.invalidParams, `failed to deserialize the transaction: ${String(cause)}`)
  }
}
