/**
 * The wallets of the development chains. Their keys are public (anvil prints the EVM ones at every start): money sent
 * to them on a public chain is lost.
 */
import {
  createKeyPairSignerFromPrivateKeyBytes,
  getAddressEncoder,
  getBase58Decoder,
  type KeyPairSigner
} from "@solana/kit"
import type { Hex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

export const evmKeys = {
  operator: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  payer: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  payTo: "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
  /** Owns the USDC contract and mints. */
  admin: "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
} as const satisfies Readonly<Record<string, Hex>>

export const evmAddresses = {
  operator: privateKeyToAccount(evmKeys.operator).address,
  payer: privateKeyToAccount(evmKeys.payer).address,
  payTo: privateKeyToAccount(evmKeys.payTo).address,
  admin: privateKeyToAccount(evmKeys.admin).address
} as const

export interface SolanaWallet {
  readonly signer: KeyPairSigner
  readonly address: KeyPairSigner["address"]
  /** Seed and public key, 64 bytes, as `solana-keygen` writes them to its files. */
  readonly keyBytes: Uint8Array
  /** The same in base58, as wallets export it. */
  readonly keyText: string
}

const seedBytes = 32

export const solanaSeeds = {
  operator: new Uint8Array(seedBytes).fill(0x11),
  payer: new Uint8Array(seedBytes).fill(0x22),
  payTo: new Uint8Array(seedBytes).fill(0x33)
} as const

/** `seed` is an Ed25519 secret, 32 bytes. */
export const solanaWallet = async (seed: Uint8Array): Promise<SolanaWallet> => {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(seed)
  const keyBytes = new Uint8Array([...seed, ...getAddressEncoder().encode(signer.address)])
  return { signer, address: signer.address, keyBytes, keyText: getBase58Decoder().decode(keyBytes) }
}
