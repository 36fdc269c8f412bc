/**
 * Payment chain of Base and Base Sepolia: USDC by EIP-3009. Without an RPC endpoint quotes and claims still work; signing
 * also needs the operator's key.
 *
 * Loads viem: import this module only if payments are configured.
 */
import { Clock, Effect, Redacted, Result } from "effect"
import { getAddress, type Address, formatEther } from "viem"
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts"
import { Limits } from "@muniment/domain/Limits"
import type { PaymentRequirement } from "@muniment/domain/Payment"
import {
  ChainUnavailable,
  type PaymentChain,
  type PaymentClaim,
  PaymentInvalid,
  type ChainHealth
} from "../chain/PaymentChain.ts"
import { evmClaim, type EvmNetwork, type EvmToken, evmToken, readAuthorization } from "./EvmAuthorization.ts"
import { evmRpc, type EvmRpc } from "./EvmRpc.ts"
import { broadcast, sign, feePerGasWeiMax } from "./EvmSettle.ts"
import { brokenTerm, expired, lifetimeSecondsMax, verify, gasMax } from "./EvmVerify.ts"
import { look } from "./EvmView.ts"

export interface EvmChainOptions {
  readonly network: EvmNetwork
  /** An address in any case. */
  readonly payTo: string
  readonly rpcUrl: string | undefined
  /** `0x` and 64 hex digits; pays the gas. */
  readonly operatorKey: Redacted.Redacted<string> | undefined
  /** Confirmations after which a block ends a payment. */
  readonly confirmations: number
}

/** Throws for an invalid address or key (see `isOperatorKey`). */
export const evmChain = (options: EvmChainOptions): PaymentChain => {
  const { confirmations, network, operatorKey, rpcUrl } = options
  const token = evmToken(network)
  const payTo = getAddress(options.payTo)
  const operator = operatorKey === undefined ? undefined : operatorAccount(operatorKey)
  const unavailable = (cause: string) => Effect.fail(new ChainUnavailable({ network, cause }))
  const rpc =
    rpcUrl === undefined ? unavailable("no RPC endpoint is configured") : Effect.succeed(evmRpc(token, rpcUrl))
  const authorizationOf = (claim: PaymentClaim) => Effect.fromResult(readAuthorization(claim.payload))
  return {
    network,
    health:
      rpcUrl === undefined
        ? undefined
        : Effect.flatMap(rpc, (node) => evmHealth(node, { payTo, operator: operator?.address })),
    requirement: (quote) => requirement(token, payTo, quote),
    receiverOf: (address) => Effect.sync(() => getAddress(address)),
    claim: (payload) => evmClaim(network, payload),
    verify: Effect.fnUntraced(function* (claim, units, { committed = 0, isJournalled = false } = {}) {
      const authorization = yield* authorizationOf(claim)
      const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
      const payee = isJournalled ? authorization.to : payTo
      const reason = brokenTerm(authorization, { payTo: payee, units, nowSeconds })
      // An authorisation that somebody else submitted may be presented for a day after its end.
      const isExpired = reason === expired && authorization.validBefore > BigInt(nowSeconds - lifetimeSecondsMax)
      if (reason !== undefined && !isExpired) return yield* new PaymentInvalid({ reason })
      const terms = { payTo: payee, units, committed, operator: operator?.address, isExpired }
      yield* verify(yield* rpc, authorization, terms)
    }),
    sign: Effect.fnUntraced(function* (claim, previous) {
      const authorization = yield* authorizationOf(claim)
      if (operator === undefined) return yield* unavailable("no operator key is configured")
      return yield* sign(yield* rpc, operator, authorization, previous)
    }),
    broadcast: (_, transaction) => Effect.flatMap(rpc, (node) => broadcast(node, transaction)),
    look: Effect.fnUntraced(function* (claim, transaction, units) {
      // A journalled claim was read before: one that cannot be read now is a defect.
      const authorization = yield* Effect.orDie(authorizationOf(claim))
      return yield* look(yield* rpc, authorization, transaction, { units, confirmations })
    })
  }
}

/** True for a private key that can sign. */
export const isOperatorKey = (key: Redacted.Redacted<string>): boolean => Result.isSuccess(accountOf(key))

const operatorAccount = (key: Redacted.Redacted<string>): PrivateKeyAccount =>
  Result.getOrThrowWith(accountOf(key), () => new Error("the operator's EVM key is not a private key"))

const keyPattern = /^0x[0-9a-fA-F]{64}$/

const accountOf = (key: Redacted.Redacted<string>): Result.Result<PrivateKeyAccount, "not a key"> => {
  const text = Redacted.value(key)
  if (!isHexKey(text)) return Result.fail("not a key")
  // Zero and numbers beyond the curve's order; the library's message may contain the key.
  return Result.try({ try: () => privateKeyToAccount(text), catch: () => "not a key" as const })
}

const isHexKey = (text: string): text is `0x${string}` => keyPattern.test(text)

const requirement = (
  { address, domain, network }: EvmToken,
  payTo: string,
  quote: { readonly units: number; readonly resource: string; readonly description: string }
): PaymentRequirement => ({
  scheme: "exact",
  network,
  maxAmountRequired: String(quote.units),
  resource: quote.resource,
  description: quote.description,
  mimeType: "application/json",
  payTo,
  maxTimeoutSeconds: Limits.paymentTimeoutSeconds,
  asset: address,
  extra: { name: domain.name, version: domain.version }
})

/**
 * Whether the network can take payments now: its node answers, and the operator can pay the gas. `operator`: undefined
 * where a facilitator sends.
 */
const evmHealth = Effect.fn("EvmChain.health")(function* (
  rpc: EvmRpc,
  { operator, payTo }: { readonly payTo: Address; readonly operator: Address | undefined }
) {
  const held = Number(yield* rpc.balanceOf(payTo))
  const { baseFeePerGas, number } = yield* rpc.ask("eth_getBlockByNumber", (node) =>
    node.getBlock({ blockTag: "latest" })
  )
  const seen = { held, block: Number(number) }
  if (operator === undefined) return { ...seen, feeBalance: undefined, isFunded: true } satisfies ChainHealth
  const balance = yield* rpc.ask("eth_getBalance", (node) => node.getBalance({ address: operator }))
  // As a payment is signed: the base fee may double.
  const generous = 2n * (baseFeePerGas ?? 0n) + tipWei
  const price = generous < feePerGasWeiMax ? generous : feePerGasWeiMax
  return {
    ...seen,
    feeBalance: Number(formatEther(balance)),
    isFunded: balance >= gasMax * price
  } satisfies ChainHealth
})

/** A tip with which a payment is included soon on Base. */
const tipWei = 1_000_000n
