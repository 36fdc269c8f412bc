/**
 * The two real local chains that tests of payments pay on, each behind a proxy that fails on demand, and
 * the configuration by which a server takes deposits on both. The server talks to the proxies; payers and
 * tests talk to the chains themselves, so that a fault meets the server alone.
 */
import type { Address as SolanaAddress, Signature } from "@solana/kit"
import { type Address as EvmAddress, createPublicClient, createTestClient, type Hash, type Hex, http } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { isEvmChainAvailable } from "../../scripts/devchains/AnvilProcess.ts"
import { type EvmChain, startEvmChain } from "../../scripts/devchains/EvmChain.ts"
import { beforeTests } from "./beforeTests.ts"
import { type FaultyRpc, startFaultyRpc } from "../../scripts/devchains/FaultyRpc.ts"
import { type SolanaChain, startSolanaChain } from "../../scripts/devchains/SolanaChain.ts"
import { evmAddresses, evmKeys, solanaSeeds, type SolanaWallet, solanaWallet } from "../../scripts/devchains/Wallets.ts"

/** In the order of a 402 answer. */
export const testNetworks = ["base-sepolia", "solana-devnet"] as const
export type TestNetwork = (typeof testNetworks)[number]

export interface PaymentChains {
  readonly evm: EvmChain
  readonly solana: SolanaChain
  /** What stands between the server and each chain. */
  readonly rpc: Readonly<Record<TestNetwork, FaultyRpc>>
  /** For `startServer`: deposits on both networks, the calls of all accounts metered from the first on. */
  readonly environment: Readonly<Record<string, string>>
  /** Payees and operators, for an operator who changes them; those of `environment` are the first. */
  readonly rotations: ReadonlyArray<Readonly<Record<string, string>>>
  /** Units of USDC that reached us since the start, at all payees, as the chain has it now. */
  readonly received: (network: TestNetwork) => Promise<number>
  /** New USDC for a wallet that had none. */
  readonly fund: (network: TestNetwork, address: string, units: bigint) => Promise<void>
  /** The chain is reorganised: the transaction has not happened, nor on an EVM chain any later one. */
  readonly reorg: (network: TestNetwork, hash: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** The call by which a signed payment reaches the chain. */
export const sendMethods: Readonly<Record<TestNetwork, string>> = {
  "base-sepolia": "eth_sendRawTransaction",
  "solana-devnet": "sendTransaction"
}

/** Why tests of payments cannot run on this platform; empty where they can. For the name of a skipped suite. */
export const missingChains: string = isEvmChainAvailable()
  ? ""
  : ` (skipped: @foundry-rs/anvil has no package for ${process.platform} ${process.arch})`

export interface PaymentChainsOptions {
  readonly solanaBlockTimeMillis?: number
}

/** Enough for the fees of every payment of a run. */
const operatorLamports = 1_000_000_000_000n
const operatorWei = 10n ** 22n

export const startPaymentChains = async (options: PaymentChainsOptions = {}): Promise<PaymentChains> => {
  const { solanaBlockTimeMillis } = options
  const [evm, solana] = await Promise.all([
    startEvmChain({ network: "base-sepolia" }),
    startSolanaChain({
      cluster: "devnet",
      ...(solanaBlockTimeMillis !== undefined && { blockTimeMillis: solanaBlockTimeMillis })
    })
  ])
  const rpc = { "base-sepolia": await startFaultyRpc(evm.rpcUrl), "solana-devnet": await startFaultyRpc(solana.rpcUrl) }
  const parties = [await firstParties(), await otherParties()]
  const ether = createTestClient({ mode: "anvil", transport: http(evm.rpcUrl, { retryCount: 0 }) })
  for (const { evmOperator, solanaOperator, solanaPayTo } of parties) {
    await ether.setBalance({ address: privateKeyToAccount(evmOperator).address, value: operatorWei })
    solana.airdrop(solanaOperator.address, operatorLamports)
    await solana.setTokenBalance(solanaPayTo.address, 0n)
  }
  const rotations = parties.map(({ evmOperator, evmPayTo, solanaOperator, solanaPayTo }) => ({
    MUNIMENT_EVM_PAY_TO: evmPayTo,
    MUNIMENT_EVM_OPERATOR_KEY: evmOperator,
    MUNIMENT_SOLANA_PAY_TO: solanaPayTo.address,
    MUNIMENT_SOLANA_OPERATOR_KEY: solanaOperator.keyText
  }))
  return {
    evm,
    solana,
    rpc,
    environment: {
      MUNIMENT_PAYMENT_NETWORKS: testNetworks.join(","),
      ...rotations[0],
      MUNIMENT_EVM_RPC_URL: rpc["base-sepolia"].url,
      MUNIMENT_SOLANA_RPC_URL: rpc["solana-devnet"].url,
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_MONTHLY_ALLOWANCE: "0"
    },
    rotations,
    received: async (network) => {
      const balances = await Promise.all(
        parties.map(({ evmPayTo, solanaPayTo }) =>
          network === "base-sepolia" ? evm.balanceOf(evmPayTo) : solana.tokenBalance(solanaPayTo.address)
        )
      )
      return Number(balances.reduce((sum: bigint, units) => sum + (units ?? 0n), 0n))
    },
    fund: async (network, address, units) => {
      if (network === "base-sepolia") await evm.mint(address as EvmAddress, units)
      else await solana.setTokenBalance(address as SolanaAddress, units)
    },
    reorg: async (network, hash) => {
      if (network === "solana-devnet") solana.reorg(hash as Signature)
      else await evm.reorg(await blocksSince(evm, hash as Hash))
    },
    stop: async () => {
      await Promise.all(Object.values(rpc).map((proxy) => proxy.stop()))
      await Promise.all([evm.stop(), solana.stop()])
    }
  }
}

interface Parties {
  readonly evmPayTo: EvmAddress
  readonly evmOperator: Hex
  readonly solanaPayTo: SolanaWallet
  readonly solanaOperator: SolanaWallet
}

const firstParties = async (): Promise<Parties> => ({
  evmPayTo: evmAddresses.payTo,
  evmOperator: evmKeys.operator,
  solanaPayTo: await solanaWallet(solanaSeeds.payTo),
  solanaOperator: await solanaWallet(solanaSeeds.operator)
})

const otherParties = async (): Promise<Parties> => ({
  evmPayTo: privateKeyToAccount(`0x${"a7".repeat(32)}`).address,
  evmOperator: `0x${"b7".repeat(32)}`,
  solanaPayTo: await solanaWallet(new Uint8Array(32).fill(0x44)),
  solanaOperator: await solanaWallet(new Uint8Array(32).fill(0x55))
})

/** How many blocks from the transaction's own to the newest. */
const blocksSince = async ({ rpcUrl }: EvmChain, hash: Hash): Promise<number> => {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0 }), cacheTime: 0 })
  const { blockNumber } = await client.getTransactionReceipt({ hash })
  return Number((await client.getBlockNumber()) - blockNumber) + 1
}

/** Chains for the tests of a file or of a describe block. */
export const useChains = (options: PaymentChainsOptions = {}): PaymentChains =>
  beforeTests(
    () => startPaymentChains(options),
    (chains) => chains.stop()
  )
