/**
 * Payment chain of Solana: USDC by the SPL Token program, scheme "exact" of x402. The payer signs a transaction whose fee
 * we pay; it is valid only with our signature first, so only we can send it, unchanged. `resign` does not occur: a
 * message has one signature of ours.
 *
 * Without an RPC URL or a key the calls that need it fail as `ChainUnavailable`; a violated rule is `PaymentInvalid` even
 * then.
 */
import { Effect, type Redacted } from "effect"
import {
  address,
  type Address,
  type Base64EncodedWireTransaction,
  getBase58Decoder,
  SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED
} from "@solana/kit"
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token"
import { Limits } from "@muniment/domain/Limits"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import {
  ChainUnavailable,
  type PaymentChain,
  type PaymentClaim,
  PaymentInvalid,
  type ChainHealth,
  type SignedTransaction
} from "../chain/PaymentChain.ts"
import {
  decodeSvmPayload,
  parseSolanaKey,
  signAsFeePayer,
  type SolanaKey,
  svmClaim,
  type SvmTransaction
} from "./SvmTransaction.ts"
import {
  brokenSvmRule,
  priorityFeeLamportsMax,
  signersMax,
  type SvmTerms,
  verifySvmOffline,
  verifySvmOnChain
} from "./SvmVerify.ts"
import { lookAtSvm, type SvmConfirmations, SvmLifetimes, svmRpc, type SvmRpc, SvmRpcFailure } from "./SvmView.ts"

export interface SvmChainOptions {
  readonly network: Extract<PaymentNetwork, "solana" | "solana-devnet">
  /** Wallet, not token account. */
  readonly payTo: string
  readonly rpcUrl: string | undefined
  /** See `parseSolanaKey`; pays the fees. */
  readonly operatorKey: Redacted.Redacted<string> | undefined
  /** If a facilitator pays the fees. */
  readonly feePayer?: string
  readonly confirmations: SvmConfirmations
}

export interface SvmChain extends PaymentChain {
  /** The part of `verify` that needs neither network nor key; a facilitator does the rest. */
  readonly verifyOffline: (claim: PaymentClaim, units: number) => Effect.Effect<void, PaymentInvalid | ChainUnavailable>
}

/** Throws for an invalid address or key, without showing it. */
export const svmChain = (options: SvmChainOptions): SvmChain => {
  const { network, confirmations } = options
  const { feePayer, key } = payerOf(options)
  const payTo = address(options.payTo)
  const mint = address(paymentNetworks[network].usdc)
  const rpc = options.rpcUrl === undefined ? unreachable : svmRpc(network, options.rpcUrl)
  const lifetimes = new SvmLifetimes()

  const unavailable = (cause: unknown) => new ChainUnavailable({ network, cause })
  const asUnavailable = <A, E>(effect: Effect.Effect<A, E | SvmRpcFailure>) =>
    Effect.catchIf(effect, isRpcFailure, ({ method, reason }) => Effect.fail(unavailable(`${method}: ${reason}`)))
  const holdingOf = (owner: typeof payTo) =>
    Effect.map(
      Effect.promise(() => findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS })),
      ([holding]) => holding
    )
  const read = Effect.fn("SvmChain.read")(function* (claim: PaymentClaim, units: number, isJournalled: boolean) {
    if (feePayer === undefined) return yield* unavailable("the fee payer is not known yet")
    const transaction = yield* decodeSvmPayload(claim.payload)
    const ours = isJournalled
      ? { payTo: undefined, destination: transaction.transfer.destination }
      : { payTo, destination: yield* holdingOf(payTo) }
    const terms = { ...ours, feePayer, mint, feePayerHolding: yield* holdingOf(feePayer), units: BigInt(units) }
    return { id: claim.id, transaction, terms }
  })

  return {
    network,
    health: whereReachable(options, asUnavailable(svmHealth(rpc, key?.address, holdingOf(payTo)))),
    requirement: ({ units, resource, description }) => ({
      scheme: "exact",
      network,
      maxAmountRequired: String(units),
      resource,
      description,
      mimeType: "application/json",
      payTo,
      maxTimeoutSeconds: Limits.paymentTimeoutSeconds,
      asset: mint,
      extra: feePayer === undefined ? {} : { feePayer }
    }),
    receiverOf: (owner) => holdingOf(address(owner)),
    claim: (payload) => svmClaim(network, payload),
    verifyOffline: Effect.fn("SvmChain.verifyOffline")(function* (claim, units) {
      yield* verifySvmOffline(network, yield* read(claim, units, false))
    }),
    verify: Effect.fn("SvmChain.verify")(function* (claim, units, { committed = 0, isJournalled = false } = {}) {
      const verified = yield* read(claim, units, isJournalled)
      yield* verifySvmOffline(network, verified)
      yield* asUnavailable(verifySvmOnChain(rpc, lifetimes, key, verified, committed))
    }),
    sign: Effect.fn("SvmChain.sign")(function* (claim) {
      if (key === undefined) return yield* unavailable("there is no operator key")
      const { transaction, terms } = yield* read(claim, 0, true)
      return yield* signSvm(transaction, terms, key)
    }),
    broadcast: (_, { raw }) => asUnavailable(broadcastSvm(rpc, raw)),
    look: Effect.fn("SvmChain.look")(function* (claim, { hash }, units) {
      const transaction = yield* Effect.orDie(decodeSvmPayload(claim.payload))
      const viewed = { id: claim.id, transaction, signature: hash, units }
      return yield* asUnavailable(lookAtSvm(rpc, lifetimes, confirmations, viewed))
    })
  }
}

const whereReachable = <A>({ rpcUrl }: SvmChainOptions, effect: A): A | undefined =>
  rpcUrl === undefined ? undefined : effect

const payerOf = ({ feePayer, operatorKey }: SvmChainOptions) => {
  const key = operatorKey && parseSolanaKey(operatorKey)
  if (operatorKey !== undefined && key === undefined) throw new Error("the operator's Solana key cannot be read")
  const payer = feePayer === undefined ? key?.address : address(feePayer)
  if (key !== undefined && payer !== key.address) throw new Error("the fee payer is not the operator")
  return { key, feePayer: payer }
}

const isRpcFailure = (error: unknown): error is SvmRpcFailure => error instanceof SvmRpcFailure

const unreachable: SvmRpc = {
  ask: (method) => Effect.fail(new SvmRpcFailure({ method, reason: "there is no RPC URL", codes: [] }))
}

const signatureLamports = 5_000
/** Least balance of an account (rent exemption of an empty one). */
const leastLamports = 890_880
const lamportsPerSol = 1_000_000_000

/**
 * Whether the network can take payments now: its node answers, and the operator can pay the fees. `operator`: undefined
 * where a facilitator sends. `payee`: its token account.
 */
const svmHealth = Effect.fn("SvmChain.health")(function* (
  rpc: SvmRpc,
  operator: Address | undefined,
  payee: Effect.Effect<Address>
) {
  const holding = yield* payee
  const config = { commitment: "confirmed" } as const
  const { context, value: accounts } = yield* rpc.ask("getMultipleAccounts", (node, options) =>
    node.getMultipleAccounts([holding], { ...config, encoding: "base64" }).send(options)
  )
  const held =
    accounts[0] === null || accounts[0] === undefined
      ? 0
      : Number(
          (yield* rpc.ask("getTokenAccountBalance", (node, options) =>
            node.getTokenAccountBalance(holding, config).send(options)
          )).value.amount
        )
  const seen = { held, block: Number(context.slot) }
  if (operator === undefined) return { ...seen, feeBalance: undefined, isFunded: true } satisfies ChainHealth
  const { value: lamports } = yield* rpc.ask("getBalance", (node, options) =>
    node.getBalance(operator, config).send(options)
  )
  const needed = leastLamports + signersMax * signatureLamports + priorityFeeLamportsMax
  return {
    ...seen,
    feeBalance: Number(lamports) / lamportsPerSol,
    isFunded: Number(lamports) >= needed
  } satisfies ChainHealth
})

/**
 * Signs as fee payer, after the rules are checked again, except the units of `terms`, which the caller compares. Ed25519
 * signatures are deterministic: signing a payment again, also after a restart, gives the same transaction, which is
 * included at most once.
 */
const signSvm = Effect.fn("SvmChain.signAsFeePayer")(function* (
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
const broadcastSvm = (rpc: SvmRpc, raw: string): Effect.Effect<void, SvmRpcFailure> =>
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
