/**
 * Verification of a payment before we sign it: our rules, the library's, then the chain's state.
 *
 * The library (`ExactSvmScheme.verify`) must agree as a second opinion, with its caps set. Its last step is a simulation
 * that reports an invalid payment and a node that is down alike; so its simulation is disabled, and ours, with our
 * signature, distinguishes the two.
 */
import { Effect } from "effect"
import {
  type Address,
  address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  getAddressEncoder,
  getBase64Encoder,
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_TRANSACTION_SIGNATURE_VERIFICATION_FAILURE,
  type TransactionError
} from "@solana/kit"
import { AccountState, getTokenDecoder, getTokenSize, type Token, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token"
import { ExactSvmScheme } from "@x402/svm/exact/facilitator"
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getSetComputeUnitLimitInstructionDataDecoder,
  getSetComputeUnitPriceInstructionDataDecoder
} from "@solana-program/compute-budget"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { Limits } from "@muniment/domain/Limits"
import { ed25519Verify } from "@muniment/trust/Ed25519"
import { PaymentInvalid } from "../chain/PaymentChain.ts"
import { type SvmLifetimes, type SvmRpc, SvmRpcFailure } from "./SvmView.ts"
import {
  signAsFeePayer,
  type SolanaKey,
  type SvmInstruction,
  type SvmTransaction,
  transferOf
} from "./SvmTransaction.ts"

interface SvmVerified {
  readonly id: string
  readonly transaction: SvmTransaction
  readonly terms: SvmTerms
}

/** Rules that need no network: ours and, before a payment is journalled, the library's. */
export const verifySvmOffline = Effect.fn("SvmVerify.offline")(function* (
  network: PaymentNetwork,
  { transaction, terms }: SvmVerified
) {
  const { payTo } = terms
  const reason =
    brokenSvmRule(transaction, terms) ??
    (payTo === undefined ? undefined : yield* libraryReason(network, transaction, { ...terms, payTo }))
  if (reason !== undefined) return yield* new PaymentInvalid({ reason })
})

/** Rules that need the chain; without a key the simulation is without our signature. */
export const verifySvmOnChain = Effect.fn("SvmVerify.onChain")(function* (
  rpc: SvmRpc,
  lifetimes: SvmLifetimes,
  key: SolanaKey | undefined,
  verified: SvmVerified,
  committed: number
) {
  const { transaction, terms } = verified
  const [isBlockhashValid, [source, destination], fault] = yield* Effect.all(
    [seeBlockhash(rpc, lifetimes, verified), holdings(rpc, transaction), simulate(rpc, transaction, key)],
    { concurrency: "unbounded" }
  )
  // Only we could have sent it, before a crash: the state machine finds out what it moved.
  if (fault === "AlreadyProcessed") return
  const ourFault = destinationFault(destination, terms)
  if (ourFault !== undefined) return yield* new SvmRpcFailure({ method: holdingsMethod, reason: ourFault, codes: [] })
  const reason = isBlockhashValid
    ? (sourceFault(source, transaction, terms, committed) ?? faultReason(fault))
    : "the blockhash of the transaction is not valid (any more): sign a new one"
  if (reason !== undefined) return yield* new PaymentInvalid({ reason })
})

const libraryReason = (
  network: PaymentNetwork,
  { wire }: SvmTransaction,
  terms: SvmTerms & { readonly payTo: Address }
) => {
  const requirements = {
    scheme: "exact",
    network: paymentNetworks[network].caip2,
    asset: terms.mint,
    amount: String(terms.units),
    payTo: terms.payTo,
    maxTimeoutSeconds: Limits.paymentTimeoutSeconds,
    extra: { feePayer: terms.feePayer }
  }
  const payload = { x402Version: 2, accepted: requirements, payload: { transaction: wire } }
  return Effect.promise(() => libraryScheme(terms.feePayer).verify(payload, requirements)).pipe(
    Effect.map(({ isValid, invalidReason }) => (isValid ? undefined : (invalidReason ?? "refused by the x402 scheme")))
  )
}

const libraryScheme = (feePayer: Address): ExactSvmScheme => {
  const notItsTask = () => Promise.reject(new Error("the scheme verifies only"))
  return new ExactSvmScheme(
    {
      getAddresses: () => [feePayer],
      simulateTransaction: () => Promise.resolve(),
      signTransaction: notItsTask,
      sendTransaction: notItsTask,
      confirmTransaction: notItsTask
    },
    undefined,
    {
      maxComputeUnits: computeUnitsMax,
      maxPriorityFeeMicroLamports: computeUnitPriceMax,
      maxRequiredSignatures: signersMax
    }
  )
}

/**
 * The newest block decides, because it is the strictest about age. No RPC call returns the rest of a lifetime: a payment
 * that expires under way fails without moving money.
 */
const seeBlockhash = Effect.fn("SvmVerify.seeBlockhash")(function* (
  rpc: SvmRpc,
  lifetimes: SvmLifetimes,
  { id, transaction }: SvmVerified
) {
  const config = { commitment: "processed" } as const
  const { context, value: isValid } = yield* rpc.ask("isBlockhashValid", (node, options) =>
    node.isBlockhashValid(transaction.blockhash as Blockhash, config).send(options)
  )
  if (!isValid) return false
  yield* rpc
    .ask("getEpochInfo", (node, options) =>
      node.getEpochInfo({ ...config, minContextSlot: context.slot }).send(options)
    )
    .pipe(
      Effect.map(({ blockHeight }) => lifetimes.seenValid(id, blockHeight)),
      // Another node behind the same URL may lag; the first `look` then sets a later bound.
      Effect.ignore
    )
  return true
})

const holdingsMethod = "getMultipleAccounts"

/** Source and destination of the transfer; undefined if it is not an account of the Token program. */
const holdings = (rpc: SvmRpc, { transfer: { source, destination } }: SvmTransaction) =>
  rpc
    .ask(holdingsMethod, (node, options) =>
      node.getMultipleAccounts([source, destination], { commitment: "confirmed", encoding: "base64" }).send(options)
    )
    .pipe(Effect.map(({ value }) => [holdingOf(value[0]), holdingOf(value[1])] as const))

interface EncodedAccount {
  readonly owner: string
  readonly data: readonly [string, "base64"]
}

const holdingOf = (account: EncodedAccount | null | undefined): Token | undefined => {
  if (account?.owner !== TOKEN_PROGRAM_ADDRESS) return undefined
  const data = getBase64Encoder().encode(account.data[0])
  return data.length === getTokenSize() ? getTokenDecoder().decode(data) : undefined
}

/** The operator must create it once; not the payer's fault. */
const destinationFault = (holding: Token | undefined, { mint, payTo }: SvmTerms): string | undefined => {
  if (holding === undefined) return "the recipient has no token account for USDC"
  const isOwned = payTo === undefined || holding.owner === payTo
  const isOurs = isOwned && holding.mint === mint && holding.state === AccountState.Initialized
  return isOurs ? undefined : "the recipient's token account takes no payments"
}

const sourceFault = (
  holding: Token | undefined,
  { transfer }: SvmTransaction,
  { mint, units }: SvmTerms,
  committed: number
): string | undefined => {
  if (holding === undefined) return "the payer has no token account for USDC"
  if (holding.mint !== mint) return "the source holds no USDC"
  if (holding.owner !== transfer.authority) return "the source does not belong to the payer"
  if (holding.state !== AccountState.Initialized) return "the source is frozen"
  const needed = units + BigInt(committed)
  return holding.amount < needed
    ? `the payer's balance is ${holding.amount} units, ${needed} are needed together with the payments under way`
    : undefined
}

/** Failures of the fee payer or the cluster; not the payment's fault. */
const faultsOfOurs: ReadonlySet<unknown> = new Set([
  "AccountInUse",
  "AccountNotFound",
  "ClusterMaintenance",
  "InsufficientFundsForFee",
  "InvalidAccountForFee",
  "WouldExceedMaxBlockCostLimit",
  "WouldExceedMaxAccountCostLimit",
  "WouldExceedAccountDataBlockLimit"
])
/** A node refuses the transaction before executing it. */
const refusals: ReadonlySet<number> = new Set<number>([
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_TRANSACTION_SIGNATURE_VERIFICATION_FAILURE
])
const simulationMethod = "simulateTransaction"

/** Null if it would succeed. */
const simulate = (rpc: SvmRpc, transaction: SvmTransaction, key: SolanaKey | undefined) => {
  const raw = key === undefined ? transaction.wire : signAsFeePayer(transaction, key).raw
  const config = { encoding: "base64", commitment: "processed", sigVerify: key !== undefined } as const
  return rpc
    .ask(simulationMethod, (node, options) =>
      node.simulateTransaction(raw as Base64EncodedWireTransaction, config).send(options)
    )
    .pipe(
      Effect.map(({ value }): TransactionError | "Refused" | null => value.err),
      Effect.catchIf(
        ({ codes }) => codes.some((code) => refusals.has(code)),
        () => Effect.succeed("Refused" as const)
      ),
      Effect.filterOrFail(
        (fault) => !faultsOfOurs.has(fault),
        (fault) => new SvmRpcFailure({ method: simulationMethod, reason: faultText(fault), codes: [] })
      )
    )
}

const faultReason = (fault: TransactionError | "Refused" | null): string | undefined =>
  fault === null ? undefined : `the transaction would fail: ${faultText(fault)}`

const faultText = (fault: unknown): string =>
  JSON.stringify(fault, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value))

/**
 * Terms of the offline rules: those of
 * https://github.com/coinbase/x402/blob/main/specs/schemes/exact/scheme_exact_svm.md, and those that the libraries lack.
 *
 * We pay the fee of a transaction that a stranger wrote, so only listed instructions are allowed: compute limit, compute
 * price, one TransferChecked, then Memo and Lighthouse. An instruction that could move our lamports or tokens needs our
 * account, which none may contain. A durable nonce is not allowed either: a payment lives as long as its blockhash.
 */
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

const usdcDecimals = 6
/** Stock clients request 6,000 to 20,000 units; Lighthouse's assertions are added. */
export const computeUnitsMax = 400_000
/** Millionths of a lamport per compute unit; the library's own bound. */
const computeUnitPriceMax = 5_000_000
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
