/** Payments on Solana made by hand, so that a test can break one thing of them and nothing else. */
import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getTransactionDecoder,
  type Instruction,
  type KeyPairSigner,
  partiallySignTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Transaction
} from "@solana/kit"
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from "@solana-program/compute-budget"
import { getTransferCheckedInstruction } from "@solana-program/token"
import { tokenAccountAddress, usdcMints } from "../../../../scripts/devchains/SolanaTokens.ts"
import { solanaSeeds, solanaWallet } from "../../../../scripts/devchains/Wallets.ts"
import { memoProgram } from "@muniment/payments/svm/SvmVerify"

export const operator = await solanaWallet(solanaSeeds.operator)
export const payer = await solanaWallet(solanaSeeds.payer)
export const payTo = await solanaWallet(solanaSeeds.payTo)
export const stranger = await solanaWallet(new Uint8Array(32).fill(0x44))

export const usdc = usdcMints.devnet
export const payerHolding = await tokenAccountAddress(payer.address, usdc)
export const payToHolding = await tokenAccountAddress(payTo.address, usdc)
export const operatorHolding = await tokenAccountAddress(operator.address, usdc)
export const strangerHolding = await tokenAccountAddress(stranger.address, usdc)

/** 0.5 USD. */
export const units = 500_000
/** Any 32 bytes, where no chain looks at it. */
export const someBlockhash = "So11111111111111111111111111111111111111112" as Blockhash

export interface TransferParts {
  readonly source?: Address
  readonly mint?: Address
  readonly destination?: Address
  readonly authority?: KeyPairSigner
  readonly amount?: number
  readonly decimals?: number
}

export const transfer = (parts: TransferParts = {}): Instruction => {
  const { source = payerHolding, mint = usdc, destination = payToHolding, authority = payer.signer } = parts
  const { amount = units, decimals = 6 } = parts
  return getTransferCheckedInstruction({ source, mint, destination, authority, amount, decimals })
}

export const limit = (computeUnits = 20_000): Instruction => getSetComputeUnitLimitInstruction({ units: computeUnits })

export const price = (microLamports = 1): Instruction => getSetComputeUnitPriceInstruction({ microLamports })

export const memo = (text: string): Instruction => ({
  programAddress: memoProgram,
  accounts: [],
  data: new TextEncoder().encode(text)
})

export interface PaymentParts {
  readonly instructions?: ReadonlyArray<Instruction>
  readonly feePayer?: Address
  readonly signers?: ReadonlyArray<KeyPairSigner>
  readonly blockhash?: Blockhash
  readonly version?: 0 | "legacy"
}

/** The message, compiled and signed by the payer, as stock clients do; Base64. */
export const paymentOf = async (parts: PaymentParts = {}): Promise<{ readonly transaction: string }> => {
  const { instructions = [limit(), price(), transfer(), memo("one")], feePayer = operator.address } = parts
  const { signers = [payer.signer], blockhash = someBlockhash, version = 0 } = parts
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(feePayer, empty),
    (paid) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 0n }, paid),
    (timed) => appendTransactionMessageInstructions([...instructions], timed)
  )
  const keys = signers.map(({ keyPair }) => keyPair)
  const compiled = compileTransaction(message)
  const signed = await partiallySignTransaction(keys, version === 0 ? compiled : asLegacy(compiled))
  return { transaction: getBase64EncodedWireTransaction(signed) }
}

/** Without the first byte, which says the version, and the last, the number of lookup tables; unsigned. */
const asLegacy = ({ messageBytes }: Transaction): Transaction => {
  const message = messageBytes.slice(1, -1)
  const signers = message[0] ?? 0
  return getTransactionDecoder().decode(new Uint8Array([signers, ...new Uint8Array(64 * signers), ...message]))
}

export const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"))

/** A change of the payment's bytes, behind its signer's back. */
export const withBytes = (
  { transaction }: { readonly transaction: string },
  change: (bytes: Uint8Array) => Uint8Array
): { readonly transaction: string } => ({ transaction: Buffer.from(change(bytesOf(transaction))).toString("base64") })
