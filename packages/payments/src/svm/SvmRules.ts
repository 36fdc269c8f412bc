/**
 * Offline rules of an x402 payment on Solana, as a table: those of
 * https://github.com/coinbase/x402/blob/main/specs/schemes/exact/scheme_exact_svm.md, and those that the libraries lack.
 *
 * We pay the fee of a transaction that a stranger wrote, so only listed instructions are allowed: compute limit, compute
 * price, one TransferChecked, then Memo and Lighthouse. An instruction that could move our lamports or tokens needs our
 * account, which none may contain. A durable nonce is not allowed either: a payment lives as long as its blockhash.
 */
import { ed25519Verify } from "@muniment/trust/Ed25519"
import { type Address, address, getAddressEncoder } from "@solana/kit"
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getSetComputeUnitLimitInstructionDataDecoder,
  getSetComputeUnitPriceInstructionDataDecoder
} from "@solana-program/compute-budget"
import { type SvmInstruction, type SvmTransaction, transferOf } from "./SvmTransaction.ts"

/** The required payment. */
export interface SvmTerms {
  readonly feePayer: Address
  /** Undefined for a journalled payment: its destination was that of our wallet when it was claimed. */
  readonly payTo: Address | undefined
  readonly mint: Address
  /** Associated token account of our wallet. */
  readonly destination: Address
  /** Associated token account of the fee payer. */
  readonly feePayerHolding: Address
  readonly units: bigint
}

export const usdcDecimals = 6
/** Stock clients request 6,000 to 20,000 units; Lighthouse's assertions are added. */
export const computeUnitsMax = 400_000
/** Millionths of a lamport per compute unit; the library's own bound. */
export const computeUnitPriceMax = 5_000_000
/** Lamports that a payer may spend of ours in addition to the signature fee. */
export const priorityFeeLamportsMax = 50_000
/** Fee payer and payer. */
export const signersMax = 2
export const memoProgram = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
export const lighthouseProgram = address("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
const instructionsMin = 3
const instructionsMax = 7

/** The first rule that the payment violates, as a message for the payer. */
export const brokenSvmRule = (transaction: SvmTransaction, terms: SvmTerms): string | undefined =>
  rules.find(([, holds]) => !holds(transaction, terms))?.[0]

type Rule = readonly [reason: string, holds: (transaction: SvmTransaction, terms: SvmTerms) => boolean]

const rules: ReadonlyArray<Rule> = [
  ["the transaction is neither legacy nor version 0", ({ version }) => version === "legacy" || version === 0],
  ["address lookup tables are not accepted", ({ lookupTables }) => lookupTables === 0],
  ["the first account is not our fee payer", ({ accounts }, { feePayer }) => accounts[0] === feePayer],
  [`more than ${signersMax} signers`, ({ signatures }) => signatures.length <= signersMax],
  [
    `not ${instructionsMin} to ${instructionsMax} instructions`,
    ({ instructions }) => instructions.length >= instructionsMin && instructions.length <= instructionsMax
  ],
  ["the first instruction does not set the compute limit", (it) => computeLimit(it) !== undefined],
  ["the second instruction does not set the compute price", (it) => computePrice(it) !== undefined],
  [
    "the third instruction is not a TransferChecked of the Token program",
    ({ instructions: [, , third] }) => third !== undefined && transferOf(third) !== undefined
  ],
  [
    "an instruction after the transfer is neither Memo nor Lighthouse",
    ({ instructions }) =>
      instructions.slice(3).every(({ program }) => program === memoProgram || program === lighthouseProgram)
  ],
  [`the compute limit exceeds ${computeUnitsMax}`, (it) => (computeLimit(it) ?? Infinity) <= computeUnitsMax],
  [
    `the compute price exceeds ${computeUnitPriceMax} millionths of a lamport`,
    (it) => (computePrice(it) ?? 0n) <= BigInt(computeUnitPriceMax)
  ],
  [`the priority fee exceeds ${priorityFeeLamportsMax} lamports`, (it) => isPriorityFeeLow(it)],
  ["the mint is not USDC's", ({ transfer }, { mint }) => transfer.mint === mint],
  [`the transfer does not state ${usdcDecimals} decimals`, ({ transfer }) => transfer.decimals === usdcDecimals],
  [
    "the destination is not our associated token account",
    ({ transfer }, { destination }) => transfer.destination === destination
  ],
  ["the amount is not the one asked for", ({ transfer }, { units }) => transfer.units === units],
  ["the fee payer cannot be the payer", ({ transfer }, { feePayer }) => transfer.authority !== feePayer],
  // A transfer between our own accounts brings no money.
  ["the recipient cannot be the payer", ({ transfer }, { payTo }) => transfer.authority !== payTo],
  [
    "the source is an account of ours",
    ({ transfer }, { destination, feePayerHolding }) =>
      transfer.source !== destination && transfer.source !== feePayerHolding
  ],
  [
    "the fee payer stands in an instruction",
    ({ instructions }, { feePayer }) =>
      instructions.every(({ program, accounts }) => program !== feePayer && !accounts.includes(feePayer))
  ],
  [
    "the payer is no signer",
    ({ accounts, signatures, transfer }) => isSigner(accounts, signatures, transfer.authority)
  ],
  ["a signature is missing or not valid", (it) => areSignaturesValid(it)]
]

const isSigner = (accounts: ReadonlyArray<Address>, signatures: ReadonlyArray<unknown>, one: Address): boolean =>
  accounts.slice(0, signatures.length).includes(one)

/** All signatures except the fee payer's, which we add. */
const areSignaturesValid = ({ accounts, signatures, messageBytes }: SvmTransaction): boolean =>
  signatures.every((signature, at) => {
    const signer = accounts[at]
    if (at === 0) return true
    if (signature === undefined || signer === undefined) return false
    return ed25519Verify(signature, messageBytes, new Uint8Array(getAddressEncoder().encode(signer)))
  })

const limitTag = 2
const limitBytes = 5
const priceTag = 3
const priceBytes = 9

const computeLimit = ({ instructions: [first] }: SvmTransaction): number | undefined => {
  if (!isBudget(first, limitTag, limitBytes)) return undefined
  return getSetComputeUnitLimitInstructionDataDecoder().decode(first.data).units
}

const computePrice = ({ instructions: [, second] }: SvmTransaction): bigint | undefined => {
  if (!isBudget(second, priceTag, priceBytes)) return undefined
  return getSetComputeUnitPriceInstructionDataDecoder().decode(second.data).microLamports
}

const isBudget = (one: SvmInstruction | undefined, tag: number, bytes: number): one is SvmInstruction =>
  one?.program === COMPUTE_BUDGET_PROGRAM_ADDRESS && one.data.length === bytes && one.data[0] === tag

const microLamportsPerLamport = 1_000_000n

const isPriorityFeeLow = (transaction: SvmTransaction): boolean => {
  const microLamports = BigInt(computeLimit(transaction) ?? 0) * (computePrice(transaction) ?? 0n)
  return microLamports <= BigInt(priorityFeeLamportsMax) * microLamportsPerLamport
}
