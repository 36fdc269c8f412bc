/**
 * A payment on an EVM chain: an EIP-3009 authorisation signed by the payer, which anyone may submit to the token
 * (https://github.com/coinbase/x402/blob/main/specs/schemes/exact/scheme_exact_evm.md).
 * Reads the payload, builds the payment's id, the signed data and the call.
 *
 * The id does not contain the signature: one nonce of one payer moves money once, whatever the signature.
 */
import { Effect, Result } from "effect"
import {
  type Address,
  encodeFunctionData,
  getAddress,
  hashTypedData,
  type Hex,
  hexToNumber,
  maxUint256,
  parseAbi,
  size,
  slice
} from "viem"
import { isJsonObject } from "@muniment/domain/Json"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { type PaymentClaim, PaymentInvalid } from "../chain/PaymentChain.ts"

export type EvmNetwork = Extract<PaymentNetwork, "base" | "base-sepolia">

/** USDC on one chain. */
export interface EvmToken {
  readonly network: PaymentNetwork
  readonly address: Address
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number }
}

/** Times are Unix seconds; the token requires `validAfter < block time < validBefore`. */
export interface EvmAuthorization {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes, chosen by the payer; lower case. */
  readonly nonce: Hex
  readonly signature: Hex
}

/** Bytes of an ECDSA signature: r, s and v. */
export const ecdsaBytes = 65
/** A contract wallet's signature can be long (a passkey's is about 600 bytes); we pay for it as call data. */
const signatureBytesMax = 2_048

const addressPattern = /^0x[0-9a-fA-F]{40}$/
const noncePattern = /^0x[0-9a-fA-F]{64}$/
const signaturePattern = /^0x(?:[0-9a-fA-F]{2})+$/
const decimalPattern = /^(?:0|[1-9][0-9]{0,77})$/

export const evmToken = (network: PaymentNetwork): EvmToken => {
  const { domain, usdc } = paymentNetworks[network]
  if (domain === undefined) throw new Error(`${network} has no EIP-712 domain`)
  return { network, address: getAddress(usdc), domain }
}

/** `{ signature, authorization: { from, to, value, validAfter, validBefore, nonce } }`; shapes only. */
export const readAuthorization = (payload: unknown): Result.Result<EvmAuthorization, PaymentInvalid> => {
  if (!isJsonObject(payload)) return invalid("the payload must be an object")
  if ("permit2Authorization" in payload)
    return invalid("Permit2 payments are not accepted; sign an EIP-3009 authorization")
  const { authorization, signature } = payload
  if (!isJsonObject(authorization)) return invalid("payload.authorization is missing (EIP-3009)")
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  if (!isHex(from, addressPattern)) return invalid("authorization.from must be an address")
  if (!isHex(to, addressPattern)) return invalid("authorization.to must be an address")
  if (!isHex(nonce, noncePattern)) return invalid("authorization.nonce must be 32 bytes of hex")
  const [units, after, before] = [uint256(value), uint256(validAfter), uint256(validBefore)]
  if (units === undefined) return invalid("authorization.value must be a decimal string")
  if (after === undefined) return invalid("authorization.validAfter must be a decimal string")
  if (before === undefined) return invalid("authorization.validBefore must be a decimal string")
  // Length first: the pattern reads the whole string.
  const isLong = typeof signature === "string" && signature.length > 2 + 2 * signatureBytesMax
  if (isLong || !isHex(signature, signaturePattern) || size(signature) < ecdsaBytes) {
    return invalid(`signature must be hex of ${ecdsaBytes} to ${signatureBytesMax} bytes`)
  }
  return Result.succeed({
    from: getAddress(from),
    to: getAddress(to),
    value: units,
    validAfter: after,
    validBefore: before,
    nonce: lower(nonce),
    signature: lower(signature)
  })
}

/** The payload in canonical form. */
export const payloadOf = ({ signature, ...signed }: EvmAuthorization): Readonly<Record<string, unknown>> => ({
  signature,
  authorization: {
    from: signed.from,
    to: signed.to,
    value: String(signed.value),
    validAfter: String(signed.validAfter),
    validBefore: String(signed.validBefore),
    nonce: signed.nonce
  }
})

/** `evm:<chain id>:<asset>:<from>:<nonce>`, lower case. */
const paymentId = ({ address, domain }: EvmToken, { from, nonce }: EvmAuthorization): string =>
  `evm:${domain.chainId}:${address}:${from}:${nonce}`.toLowerCase()

/** The payment's own claims. */
export const evmClaim = (network: PaymentNetwork, payload: unknown): Effect.Effect<PaymentClaim, PaymentInvalid> =>
  Effect.map(Effect.fromResult(readAuthorization(payload)), (authorization) => ({
    id: paymentId(evmToken(network), authorization),
    network,
    payer: authorization.from,
    payTo: authorization.to,
    payload: payloadOf(authorization)
  }))

/** Hash signed by the payer: EIP-712, 32 bytes. */
export const authorizationDigest = (token: EvmToken, message: Omit<EvmAuthorization, "signature">): Hex =>
  hashTypedData({
    domain: { ...token.domain, verifyingContract: token.address },
    types: {
      TransferWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" }
      ]
    },
    primaryType: "TransferWithAuthorization",
    message
  })

/** The token call that moves the money: simulated by `verify`, signed by `sign`. */
export const transferData = ({ signature, ...signed }: EvmAuthorization): Hex => {
  const { from, nonce, to, validAfter, validBefore, value } = signed
  const terms = [from, to, value, validAfter, validBefore, nonce] as const
  if (size(signature) !== ecdsaBytes) return encodeFunctionData({ abi: transferByBytes, args: [...terms, signature] })
  const { r, s, v } = ecdsaParts(signature)
  return encodeFunctionData({ abi: transferByParts, args: [...terms, v, r, s] })
}

/** Parts of a signature of 65 bytes. */
export const ecdsaParts = (signature: Hex): { readonly r: Hex; readonly s: Hex; readonly v: number } => ({
  r: slice(signature, 0, 32),
  s: slice(signature, 32, 64),
  v: hexToNumber(slice(signature, 64, ecdsaBytes))
})

const invalid = (reason: string) => Result.fail(new PaymentInvalid({ reason }))

const isHex = (value: unknown, pattern: RegExp): value is Hex => typeof value === "string" && pattern.test(value)

const lower = (hex: Hex): Hex => `0x${hex.slice(2).toLowerCase()}`

const uint256 = (value: unknown): bigint | undefined => {
  if (typeof value !== "string" || !decimalPattern.test(value)) return undefined
  const number = BigInt(value)
  return number <= maxUint256 ? number : undefined
}

/**
 * ABI of Circle's FiatToken (versions 2 to 2.2) as far as payments use it: EIP-3009. The two overloads of
 * `transferWithAuthorization` are separate constants, because the name alone is ambiguous.
 */
export const usdcAbi = parseAbi([
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "function balanceOf(address account) view returns (uint256)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)"
])

/** In every version; v, r and s are the 65 bytes of the other overload. */
export const transferByParts = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)"
])

/** Since 2.2: for signatures of contract wallets that are longer than 65 bytes. */
export const transferByBytes = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"
])

export const usdcEvents = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)"
])

/** ERC-1271. */
export const contractWalletAbi = parseAbi([
  "function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"
])
