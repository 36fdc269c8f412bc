/**
 * A Solana chain on this machine that looks like devnet or mainnet: the real runtime and SPL programs, with USDC's
 * mint at that cluster's address. Its own accounts (who has how much) are set from outside; transactions come through
 * `rpcUrl` from any client.
 */
import type { Address, Signature } from "@solana/kit"
import { SolanaLedger } from "./SolanaLedger.ts"
import { solanaRpc, type SolanaCluster } from "./SolanaRpc.ts"
import { startSolanaServer } from "./SolanaServer.ts"
import { holdingOf, tokenAccount, tokenAccountAddress, usdcMintAccount, usdcMints } from "./SolanaTokens.ts"
import { systemProgram } from "./SolanaVm.ts"
import { solanaSeeds, solanaWallet } from "./Wallets.ts"

export interface SolanaChainOptions {
  readonly cluster?: SolanaCluster
  /** Default: a free one. */
  readonly port?: number
  readonly blockTimeMillis?: number
  /** From landing to "confirmed". */
  readonly confirmDelayMillis?: number
}

export interface SolanaChain {
  readonly rpcUrl: string
  /** Same port. */
  readonly wsUrl: string
  readonly network: "solana" | "solana-devnet"
  /** Mint of USDC. */
  readonly usdc: Address
  readonly airdrop: (to: Address, lamports: bigint) => void
  /** Makes the owner's token account for USDC, or overwrites it; returns its address. */
  readonly setTokenBalance: (owner: Address, units: bigint) => Promise<Address>
  /** Millionths; undefined if the owner has no token account. */
  readonly tokenBalance: (owner: Address) => Promise<bigint | undefined>
  /** When a blockhash that was given out expired, milliseconds; undefined: it serves still. */
  readonly blockhashEndedAt: (blockhash: string) => number | undefined
  /** Undoes that transaction; later ones are replayed without it. */
  readonly reorg: (signature: Signature) => void
  /** One block. */
  readonly tick: () => void
  /** Like `tick`, many slots later: after 151 every earlier blockhash has expired. */
  readonly advance: (slots: number) => void
  /** Stops making blocks; transactions wait for the next one. */
  readonly pause: () => void
  readonly resume: () => void
  readonly stop: () => Promise<void>
}

const blockTimeMillisDefault = 400

export const startSolanaChain = async (options: SolanaChainOptions = {}): Promise<SolanaChain> => {
  const { cluster = "devnet", port = 0, blockTimeMillis = blockTimeMillisDefault, confirmDelayMillis = 0 } = options
  const ledger = new SolanaLedger(confirmDelayMillis)
  const usdc = usdcMints[cluster]
  const mintAuthority = await solanaWallet(solanaSeeds.operator)
  ledger.write(usdc, () => usdcMintAccount(ledger.vm, usdc, mintAuthority.address))

  const rpc = solanaRpc(ledger, cluster)
  const server = await startSolanaServer(
    ledger,
    (method, params) => {
      const answer = rpc(method, params)
      // Callers that wait for it need not wait for the next slot.
      if (method === "sendTransaction") setTimeout(() => server.notifySignatures(), confirmDelayMillis).unref()
      return answer
    },
    port
  )
  const advance = (slots: number): void => {
    ledger.advance(slots)
    server.notifySlot()
    server.notifySignatures()
  }
  let blocks = setInterval(() => advance(1), blockTimeMillis)
  return {
    rpcUrl: `http://127.0.0.1:${server.port}`,
    wsUrl: `ws://127.0.0.1:${server.port}`,
    network: cluster === "mainnet" ? "solana" : "solana-devnet",
    usdc,
    airdrop: (to, lamports) => airdrop(ledger, to, lamports),
    setTokenBalance: async (owner, units) => {
      const address = await tokenAccountAddress(owner, usdc)
      ledger.write(address, () => tokenAccount(ledger.vm, address, { owner, mint: usdc, units }))
      return address
    },
    tokenBalance: async (owner) =>
      holdingOf(ledger.vm, ledger.vm.account(await tokenAccountAddress(owner, usdc)))?.units,
    blockhashEndedAt: (blockhash) => ledger.blockhashEndedAt(blockhash),
    reorg: (signature) => ledger.reorg(signature),
    tick: () => advance(1),
    advance,
    pause: () => {
      ledger.isPaused = true
      clearInterval(blocks)
    },
    resume: () => {
      ledger.isPaused = false
      advance(1)
      clearInterval(blocks)
      blocks = setInterval(() => advance(1), blockTimeMillis)
    },
    stop: async () => {
      clearInterval(blocks)
      await server.close()
    }
  }
}

const airdrop = (ledger: SolanaLedger, address: Address, lamports: bigint): void =>
  ledger.write(address, (account) => ({
    ...(account ?? { address, programAddress: systemProgram, data: new Uint8Array(), isExecutable: false }),
    lamports: (account?.lamports ?? 0n) + lamports
  }))
