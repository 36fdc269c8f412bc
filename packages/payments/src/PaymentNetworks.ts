/**
 * Builds the configured chains. An error in the configuration stops the start and names the variable. The code of a
 * network family is loaded only if it is served.
 */
import { Data, Effect, type Redacted, Schedule, type Scope } from "effect"
import { PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { Rounds } from "@muniment/worker/Rounds"
import { overNodes } from "./chain/overNodes.ts"
import type { PaymentChain, PaymentClaim } from "./chain/PaymentChain.ts"

type EvmNetwork = Extract<PaymentNetwork, "base" | "base-sepolia">
type SvmNetwork = Exclude<PaymentNetwork, EvmNetwork>

/** A facilitator may change its fee payer; quotes with the old one are refused until it is read again. */
const feePayerRefreshMillis = 300_000
const feePayerRetryMillis = 5_000

export const paymentChains = Effect.fn("PaymentNetworks.chains")(function* (
  config: PaymentsConfig
): Effect.fn.Return<ReadonlyMap<PaymentNetwork, PaymentChain>, PaymentsMisconfigured, Scope.Scope> {
  const names = yield* networksOf(config.networks)
  if (!Number.isSafeInteger(config.confirmations) || config.confirmations < 1) {
    return yield* misconfigured("MUNIMENT_PAYMENT_CONFIRMATIONS must be a whole number of at least 1")
  }
  yield* requireUrl("MUNIMENT_FACILITATOR_URL", config.facilitatorUrl?.replaceAll(",", "%2C"))
  const chains = new Map<PaymentNetwork, PaymentChain>()
  for (const network of names) {
    chains.set(network, yield* isEvm(network) ? evm(network, config) : svm(network, config))
  }
  return chains
})

const networksOf = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const variable = "MUNIMENT_PAYMENT_NETWORKS"
  const known = PaymentNetwork.literals
  const networks = new Set<PaymentNetwork>()
  for (const name of names) {
    const network = known.find((one) => one === name)
    if (network === undefined) {
      return yield* misconfigured(`${variable}: unknown network "${name}"; known networks are ${known.join(", ")}`)
    }
    networks.add(network)
  }
  const families = [...networks].map((network) => paymentNetworks[network].family)
  if (new Set(families).size < families.length) {
    return yield* misconfigured(
      `${variable}: ${[...networks].join(" and ")} share one address and one node; choose one network of each family`
    )
  }
  return networks
})

const evm = Effect.fnUntraced(function* (network: EvmNetwork, config: PaymentsConfig) {
  const [{ evmChain, isOperatorKey }, { isAddress }] = yield* Effect.promise(() =>
    Promise.all([import("./evm/EvmChain.ts"), import("viem")])
  )
  const { facilitatorUrl, rpcUrl, ...wallets } = yield* familyOf("EVM", network, config.evm, config.facilitatorUrl)
  if (!isAddress(wallets.payTo)) return yield* misconfigured("MUNIMENT_EVM_PAY_TO is not an EVM address")
  const { operatorKey } = wallets
  if (operatorKey !== undefined && !isOperatorKey(operatorKey)) {
    return yield* misconfigured("MUNIMENT_EVM_OPERATOR_KEY is not a private key: 0x and 64 hex digits")
  }
  const chain = ofNodes(rpcUrl, (url) =>
    evmChain({ network, rpcUrl: url, ...wallets, operatorKey, confirmations: config.confirmations })
  )
  if (facilitatorUrl === undefined) return chain
  const [{ facilitatorChain }, { readAuthorization }] = yield* Effect.promise(() =>
    Promise.all([import("./facilitator/FacilitatorChain.ts"), import("./evm/EvmAuthorization.ts")])
  )
  const unitsOf = ({ payload }: PaymentClaim) =>
    Effect.map(Effect.orDie(Effect.fromResult(readAuthorization(payload))), ({ value }) => Number(value))
  return facilitatorChain(() => chain, { url: facilitatorUrl, hasRpc: rpcUrl !== undefined, unitsOf })
})

const svm = Effect.fnUntraced(function* (network: SvmNetwork, config: PaymentsConfig) {
  const [{ svmChain }, { parseSolanaKey }, { isAddress }] = yield* Effect.promise(() =>
    Promise.all([import("./svm/SvmChain.ts"), import("./svm/SvmTransaction.ts"), import("@solana/kit")])
  )
  const { facilitatorUrl, operatorKey, payTo, rpcUrl } = yield* familyOf(
    "SOLANA",
    network,
    config.solana,
    config.facilitatorUrl
  )
  if (!isAddress(payTo)) return yield* misconfigured("MUNIMENT_SOLANA_PAY_TO is not a Solana address")
  if (operatorKey !== undefined && parseSolanaKey(operatorKey) === undefined) {
    return yield* misconfigured(
      "MUNIMENT_SOLANA_OPERATOR_KEY is not a secret key: base58, or the JSON of solana-keygen"
    )
  }
  const confirmations = config.confirmations > 1 ? "finalized" : "confirmed"
  const common = { network, payTo, confirmations } as const
  if (facilitatorUrl === undefined) return ofNodes(rpcUrl, (url) => svmChain({ ...common, rpcUrl: url, operatorKey }))

  const [{ facilitatorChain, facilitatorFeePayer }, { decodeSvmPayload }] = yield* Effect.promise(() =>
    Promise.all([import("./facilitator/FacilitatorChain.ts"), import("./svm/SvmTransaction.ts")])
  )
  let known: string | undefined
  let chain = ofNodes(rpcUrl, (url) => svmChain({ ...common, rpcUrl: url, operatorKey: undefined }))
  const refresh = Effect.map(facilitatorFeePayer(facilitatorUrl, network), (feePayer) => {
    if (feePayer === undefined || feePayer === known || !isAddress(feePayer)) return
    known = feePayer
    chain = ofNodes(rpcUrl, (url) => svmChain({ ...common, rpcUrl: url, operatorKey: undefined, feePayer }))
  })
  yield* Rounds.add({
    name: "fee payer of the facilitator",
    schedule: Schedule.spaced(feePayerRefreshMillis),
    work: Effect.tapError(refresh, ({ cause }) =>
      Effect.logWarning("payment facilitator does not answer; its fee payer is unknown", { network, cause })
    ),
    isFirstNow: true,
    isCut: true,
    again: Effect.sleep(feePayerRetryMillis)
  })
  const unitsOf = ({ payload }: PaymentClaim) =>
    Effect.map(Effect.orDie(decodeSvmPayload(payload)), ({ transfer }) => Number(transfer.units))
  return facilitatorChain(() => chain, { url: facilitatorUrl, hasRpc: rpcUrl !== undefined, unitsOf })
})

/** Checks that transactions can be sent. With a facilitator our own key is not used. */
const familyOf = Effect.fnUntraced(function* (
  family: "EVM" | "SOLANA",
  network: PaymentNetwork,
  { operatorKey, payTo, rpcUrl }: FamilyConfig,
  facilitatorUrl: string | undefined
) {
  const names = {
    payTo: `MUNIMENT_${family}_PAY_TO`,
    operatorKey: `MUNIMENT_${family}_OPERATOR_KEY`,
    rpcUrl: `MUNIMENT_${family}_RPC_URL`
  }
  if (payTo === undefined)
    return yield* misconfigured(`${names.payTo} is missing: set the address that receives payments on ${network}`)
  yield* requireUrl(names.rpcUrl, rpcUrl)
  if (facilitatorUrl !== undefined) return { payTo, operatorKey: undefined, rpcUrl, facilitatorUrl }
  if (operatorKey === undefined || rpcUrl === undefined) {
    const missing = operatorKey === undefined ? names.operatorKey : names.rpcUrl
    return yield* misconfigured(
      `${missing} is missing: ${network} needs ${names.operatorKey} and ${names.rpcUrl}, or MUNIMENT_FACILITATOR_URL`
    )
  }
  return { payTo, operatorKey, rpcUrl, facilitatorUrl }
})

/** A chain by one URL, or over several nodes whose URLs are separated by commas. */
const ofNodes = (rpcUrl: string | undefined, chainOf: (url: string | undefined) => PaymentChain): PaymentChain => {
  const [first, ...others] = rpcUrl?.split(",").map((url) => url.trim()) ?? []
  const nodeOf = (url: string | undefined) => ({
    name: url === undefined ? "" : new URL(url).host,
    chain: chainOf(url)
  })
  return overNodes([nodeOf(first), ...others.map(nodeOf)])
}

/** One, or several separated by commas. */
const requireUrl = (variable: string, urls: string | undefined) =>
  urls === undefined || urls.split(",").every((url) => /^https?:$/.test(URL.parse(url.trim())?.protocol ?? ""))
    ? Effect.void
    : misconfigured(`${variable} is not an http(s) URL`)

const misconfigured = (message: string) => Effect.fail(new PaymentsMisconfigured({ message }))

const isEvm = (network: PaymentNetwork): network is EvmNetwork => paymentNetworks[network].family === "evm"

interface FamilyConfig {
  /** Address that receives the USDC. */
  readonly payTo?: string | undefined
  /** Pays the network's fees; holds no USDC. */
  readonly operatorKey?: Redacted.Redacted<string> | undefined
  readonly rpcUrl?: string | undefined
}

/** Configuration of payments; an error names the variable. */
export interface PaymentsConfig {
  /** Names of networks (`PaymentNetwork`); checked when the layer is built. */
  readonly networks: ReadonlyArray<string>
  readonly evm: FamilyConfig
  readonly solana: FamilyConfig
  /** Sends instead of the operator. */
  readonly facilitatorUrl?: string | undefined
  /** Confirmations before a payment is credited; above 1, a Solana payment must be final. */
  readonly confirmations: number
}

/** Stops the start. Never contains a key, or a URL, which may contain one. */
export class PaymentsMisconfigured extends Data.TaggedError("PaymentsMisconfigured")<{ readonly message: string }> {}
