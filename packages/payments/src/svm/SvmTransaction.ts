/**
 * Decodes a payer's untrusted Solana transaction. It is accepted only if encoding it again gives the same bytes, so that
 * two encodings of one message cannot be two payments.
 *
 * A payment is its message, not its signatures: validators process a message once, and ours is its first signature, so
 * no one can submit it before we have signed.
 */
import { Effect, Redacted } from "effect"
import {
  type Address,
  getAddressDecoder,
  getBase16Encoder,
  getBase58Encoder,
  getBase64Decoder,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Transaction
} from "@solana/kit"
import { getTransferCheckedInstructionDataDecoder, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token"
import { createHash } from "node:crypto"
import type { PaymentNetwork } from "@muniment/domain/Payment"
import { ed25519KeyBytes, ed25519PublicKey, ed25519Sign } from "@muniment/trust/Ed25519"
import { type PaymentClaim, PaymentInvalid } from "../chain/PaymentChain.ts"

export interface SvmInstruction {
  readonly program: Address | undefined
  /** Undefined if a lookup table names it. */
  readonly accounts: ReadonlyArray<Address | undefined>
  readonly data: Uint8Array
}

/** A TransferChecked of the Token program. */
interface SvmTransfer {
  readonly source: Address
  readonly mint: Address
  readonly destination: Address
  readonly authority: Address
  readonly units: bigint
  readonly decimals: number
}

export interface SvmTransaction {
  readonly transaction: Transaction
  /** Base64. */
  readonly wire: string
  /** SHA-256 of the message, hex. */
  readonly messageHash: string
  readonly messageBytes: Uint8Array
  readonly version: "legacy" | number
  readonly blockhash: string
  /** The fee payer first, then the other signers. */
  readonly accounts: ReadonlyArray<Address>
  /** One for each signer, in the order of `accounts`; undefined: not given. */
  readonly signatures: ReadonlyArray<Uint8Array | undefined>
  readonly lookupTables: number
  readonly instructions: ReadonlyArray<SvmInstruction>
  /** The first one; the rules allow no other. */
  readonly transfer: SvmTransfer
}

/** Size of a packet; validators accept nothing longer. */
const transactionBytesMax = 1_232
const transferCheckedTag = 12
const transferCheckedBytes = 10
const transferCheckedAccounts = 4

/** Reads `{ transaction: <Base64> }`, the payload of the scheme. */
export const decodeSvmPayload = (payload: unknown): Effect.Effect<SvmTransaction, PaymentInvalid> => {
  const wire = wireOf(payload)
  if (typeof wire === "string") return Effect.fail(new PaymentInvalid({ reason: wire }))
  return Effect.try({
    try: () => decode(wire),
    // The library's decoders throw; their messages do not help the payer.
    catch: () => new PaymentInvalid({ reason: "the transaction could not be decoded" })
  }).pipe(
    Effect.filterOrFail(
      (decoded) => decoded !== undefined,
      () => new PaymentInvalid({ reason: "the transaction contains no TransferChecked of the Token program" })
    )
  )
}

const paymentIdOf = (network: PaymentNetwork, { messageHash }: SvmTransaction): string =>
  `svm:${network === "solana" ? "mainnet" : "devnet"}:${messageHash}`

/** The payment's own claims. */
export const svmClaim = (network: PaymentNetwork, payload: unknown): Effect.Effect<PaymentClaim, PaymentInvalid> =>
  Effect.map(decodeSvmPayload(payload), (transaction) => ({
    id: paymentIdOf(network, transaction),
    network,
    payer: transaction.transfer.authority,
    payTo: transaction.transfer.destination,
    payload: { transaction: transaction.wire }
  }))

/** The payer's message with the fee payer's signature added; all other bytes are unchanged. */
export const signAsFeePayer = ({ transaction, messageBytes, accounts }: SvmTransaction, key: SolanaKey) => {
  const signature = key.sign(messageBytes)
  const [feePayer] = accounts
  if (feePayer !== key.address) throw new Error("the transaction names another fee payer")
  const signed = { ...transaction, signatures: { ...transaction.signatures, [key.address]: signature } }
  return { signature, raw: getBase64EncodedWireTransaction(signed as Transaction) }
}

const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/

/** The bytes, or the reason of a refusal. */
const wireOf = (payload: unknown): Uint8Array | string => {
  const text = typeof payload === "object" && payload !== null && "transaction" in payload ? payload.transaction : ""
  if (typeof text !== "string" || text === "") return "the payload holds no transaction"
  if (text.length > Math.ceil(transactionBytesMax / 3) * 4)
    return `the transaction exceeds ${transactionBytesMax} bytes`
  if (text.length % 4 !== 0 || !base64Pattern.test(text)) return "the transaction is not Base64"
  const wire = new Uint8Array(getBase64Encoder().encode(text))
  return wire.length > transactionBytesMax ? `the transaction exceeds ${transactionBytesMax} bytes` : wire
}

/** Undefined without a transfer. Throws if the bytes are not a transaction. */
const decode = (wire: Uint8Array): SvmTransaction | undefined => {
  const transaction = getTransactionDecoder().decode(wire)
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
  const messageBytes = new Uint8Array(transaction.messageBytes)
  requireEqual(getTransactionEncoder().encode(transaction), wire)
  requireEqual(getCompiledTransactionMessageEncoder().encode(message), messageBytes)

  const accounts = message.staticAccounts
  const instructions = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
    program: accounts[programAddressIndex],
    accounts: accountIndices.map((index) => accounts[index]),
    data: new Uint8Array(data ?? [])
  }))
  const transfer = instructions.map(transferOf).find((one) => one !== undefined)
  if (transfer === undefined) return undefined
  return {
    transaction,
    wire: getBase64Decoder().decode(wire),
    messageHash: createHash("sha256").update(messageBytes).digest("hex"),
    messageBytes,
    version: message.version,
    blockhash: message.lifetimeToken,
    accounts,
    signatures: accounts
      .slice(0, message.header.numSignerAccounts)
      .map((account) => transaction.signatures[account] ?? undefined),
    lookupTables: "addressTableLookups" in message ? (message.addressTableLookups?.length ?? 0) : 0,
    instructions,
    transfer
  }
}

/** The transfer, if the instruction is exactly one. */
export const transferOf = ({ program, accounts, data }: SvmInstruction): SvmTransfer | undefined => {
  if (program !== TOKEN_PROGRAM_ADDRESS) return undefined
  if (data.length !== transferCheckedBytes || data[0] !== transferCheckedTag) return undefined
  const [source, mint, destination, authority] = accounts
  if (accounts.length !== transferCheckedAccounts) return undefined
  if (source === undefined || mint === undefined || destination === undefined || authority === undefined)
    return undefined
  const { amount, decimals } = getTransferCheckedInstructionDataDecoder().decode(data)
  return { source, mint, destination, authority, units: amount, decimals }
}

const requireEqual = (one: ArrayLike<number>, other: Uint8Array): void => {
  const isEqual = one.length === other.length && other.every((byte, at) => byte === one[at])
  if (!isEqual) throw new Error("the bytes are not written as validators write them")
}

/**
 * The operator's Solana key, in the formats of wallets and `solana-keygen`. Signs messages and has an address; the seed
 * stays in a closure, so that no log or error can contain it.
 */
export interface SolanaKey {
  readonly address: Address
  /** Ed25519 signature, 64 bytes; the same for the same message. */
  readonly sign: (message: Uint8Array) => Uint8Array
}

/**
 * Reads a 64-byte secret key (seed and public key) as base58 or as a JSON array of numbers, or a 32-byte
 * seed as base58 or hex. Undefined for anything else, and if the public half does not belong to the seed.
 */
export const parseSolanaKey = (key: Redacted.Redacted<string>): SolanaKey | undefined => {
  const bytes = keyBytes(Redacted.value(key).trim())
  if (bytes === undefined) return undefined
  const seed = bytes.slice(0, ed25519KeyBytes)
  const publicKey = ed25519PublicKey(seed)
  const written = bytes.slice(ed25519KeyBytes)
  if (written.length > 0 && !publicKey.every((byte, at) => byte === written[at])) return undefined
  return { address: getAddressDecoder().decode(publicKey), sign: (message) => ed25519Sign(message, seed) }
}

const secretKeyBytes = 2 * ed25519KeyBytes
/** 64 bytes are at most 88 characters; checked first, because decoding takes quadratic time. */
const base58Pattern = /^[1-9A-HJ-NP-Za-km-z]{32,88}$/
const hexSeedPattern = /^(0x)?[0-9a-fA-F]{64}$/
const jsonPattern = /^\[[\d\s,]{127,512}\]$/

const keyBytes = (text: string): Uint8Array | undefined => {
  if (hexSeedPattern.test(text)) return new Uint8Array(getBase16Encoder().encode(text.replace(/^0x/, "").toLowerCase()))
  if (jsonPattern.test(text)) return bytesOfJson(text)
  if (!base58Pattern.test(text)) return undefined
  const bytes = new Uint8Array(getBase58Encoder().encode(text))
  return bytes.length === ed25519KeyBytes || bytes.length === secretKeyBytes ? bytes : undefined
}

const bytesOfJson = (text: string): Uint8Array | undefined => {
  const numbers = text
    .slice(1, -1)
    .split(",")
    .map((one) => one.trim())
  const areBytes = numbers.every((one) => /^\d{1,3}$/.test(one) && Number(one) <= 255)
  return areBytes && numbers.length === secretKeyBytes ? Uint8Array.from(numbers, Number) : undefined
}
