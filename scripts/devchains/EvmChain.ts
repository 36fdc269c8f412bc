/**
 * A real EVM chain on this machine that looks like Base or Base Sepolia: anvil with that chain id, and Circle's USDC
 * at that chain's address. Methods cover what tests do to a chain; everything else goes through `rpcUrl` with any
 * client.
 */
import {
  type Address,
  createTestClient,
  encodeFunctionData,
  type Hash,
  type Hex,
  http,
  publicActions,
  walletActions
} from "viem"
import { base, baseSepolia } from "viem/chains"
import { startAnvil } from "./AnvilProcess.ts"
import { deployUsdc, usdcAbi, type UsdcDomain } from "./UsdcContract.ts"
import { evmAddresses } from "./Wallets.ts"

export type EvmNetwork = "base" | "base-sepolia"

export interface EvmChainOptions {
  readonly network?: EvmNetwork
  /** Default: a free one. */
  readonly port?: number
  /** Default: a block for every transaction, at once. */
  readonly blockTimeSeconds?: number
}

/** One Transfer log of USDC; a reorganisation of its block removes it. */
export interface UsdcTransfer {
  readonly from: Address
  readonly to: Address
  readonly units: bigint
  readonly transactionHash: Hash
  readonly blockNumber: bigint
}

export interface EvmChain {
  readonly rpcUrl: string
  readonly network: EvmNetwork
  readonly chainId: number
  readonly usdc: UsdcDomain
  /** New USDC for `to`, in millionths; resolves when mined, so not while mining is off. */
  readonly mint: (to: Address, units: bigint) => Promise<void>
  readonly balanceOf: (owner: Address) => Promise<bigint>
  readonly transfersTo: (to: Address) => Promise<ReadonlyArray<UsdcTransfer>>
  readonly mine: (blocks?: number) => Promise<void>
  /** Moves the chain's clock, and mines a block that has the new time. */
  readonly increaseTime: (seconds: number) => Promise<void>
  /** Off: transactions wait for `mine`. On: each gets its block at once, also on a chain with a block time. */
  readonly setAutomine: (on: boolean) => Promise<void>
  /** Drops a pending transaction from the pool. */
  readonly dropTransaction: (hash: Hash) => Promise<void>
  /** Replaces the last `depth` blocks by empty ones, which undoes their transactions. */
  readonly reorg: (depth: number) => Promise<void>
  readonly snapshot: () => Promise<Hex>
  /** Back to the snapshot, which is used up by it. */
  readonly revert: (snapshot: Hex) => Promise<void>
  readonly stop: () => Promise<void>
}

const networks = {
  base: {
    chain: base,
    usdc: { address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", name: "USD Coin", version: "2" }
  },
  "base-sepolia": {
    chain: baseSepolia,
    usdc: { address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", name: "USDC", version: "2" }
  }
} as const

const { admin } = evmAddresses
const receiptPollMillis = 10
const receiptMillisMax = 10_000

export const startEvmChain = async (options: EvmChainOptions = {}): Promise<EvmChain> => {
  const { network = "base-sepolia", port = 0, blockTimeSeconds } = options
  const { chain, usdc } = networks[network]
  const anvil = await startAnvil(["--port", String(port), "--chain-id", String(chain.id)])
  try {
    const client = connect(anvil.rpcUrl, network)
    const call = adminCalls(client, network)
    await deployUsdc({ setCode: (address, bytecode) => client.setCode({ address, bytecode }), call }, usdc, admin)
    // Only after the deployment, which takes five blocks.
    if (blockTimeSeconds !== undefined) await client.setIntervalMining({ interval: blockTimeSeconds })
    return {
      rpcUrl: anvil.rpcUrl,
      network,
      chainId: chain.id,
      usdc,
      stop: anvil.stop,
      ...controls(client, network, call)
    }
  } catch (cause) {
    await anvil.stop()
    throw cause
  }
}

const connect = (rpcUrl: string, network: EvmNetwork) =>
  createTestClient({
    mode: "anvil",
    chain: networks[network].chain,
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: receiptPollMillis,
    cacheTime: 0
  })
    .extend(publicActions)
    .extend(walletActions)

type Client = ReturnType<typeof connect>

/** Resolves when the call is mined; rejects when it reverts. */
type AdminCall = (to: Address, data: Hex) => Promise<void>

/** One at a time: anvil gives two calls that come at once the same nonce. */
const adminCalls = (client: Client, network: EvmNetwork): AdminCall => {
  const { chain } = networks[network]
  let last: Promise<unknown> = Promise.resolve()
  return (to, data) => {
    const next = last.then(async () => {
      const hash = await client.sendTransaction({ account: admin, chain, to, data })
      const { status } = await client.waitForTransactionReceipt({ hash, timeout: receiptMillisMax })
      if (status !== "success") throw new Error(`transaction ${hash} reverted`)
    })
    // The caller gets the failure; the next call starts clean.
    last = next.catch(() => undefined)
    return next
  }
}

type Controls = Omit<EvmChain, "rpcUrl" | "network" | "chainId" | "usdc" | "stop">

const controls = (client: Client, network: EvmNetwork, call: AdminCall): Controls => {
  const { usdc } = networks[network]
  const contract = { address: usdc.address, abi: usdcAbi } as const
  return {
    mint: (to, units) =>
      call(usdc.address, encodeFunctionData({ abi: usdcAbi, functionName: "mint", args: [to, units] })),
    balanceOf: (owner) => client.readContract({ ...contract, functionName: "balanceOf", args: [owner] }),
    transfersTo: async (to) => {
      const logs = await client.getContractEvents({
        ...contract,
        eventName: "Transfer",
        args: { to },
        fromBlock: 0n,
        strict: true
      })
      return logs.map(({ args, transactionHash, blockNumber }) => ({
        from: args.from,
        to: args.to,
        units: args.value,
        transactionHash,
        blockNumber
      }))
    },
    mine: (blocks = 1) => client.mine({ blocks }),
    increaseTime: async (seconds) => {
      await client.increaseTime({ seconds })
      await client.mine({ blocks: 1 })
    },
    setAutomine: (on) => client.setAutomine(on),
    dropTransaction: (hash) => client.dropTransaction({ hash }),
    reorg: (depth) => client.request<AnvilReorg>({ method: "anvil_reorg", params: [depth, []] }),
    snapshot: () => client.snapshot(),
    revert: (id) => client.revert({ id })
  }
}

/** Not in viem's list; the second parameter would be transactions for the new blocks. */
interface AnvilReorg {
  readonly Method: "anvil_reorg"
  readonly Parameters: readonly [depth: number, transactions: readonly []]
  readonly ReturnType: void
}
