import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { createPublicClient, createWalletClient, domainSeparator, getAddress, http, toHex } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { base, baseSepolia } from "viem/chains"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isEvmChainAvailable } from "../../../scripts/devchains/AnvilProcess.ts"
import { type EvmChain, startEvmChain } from "../../../scripts/devchains/EvmChain.ts"
import { startSolanaChain } from "../../../scripts/devchains/SolanaChain.ts"
import { usdcAbi } from "../../../scripts/devchains/UsdcContract.ts"
import { evmAddresses, evmKeys } from "../../../scripts/devchains/Wallets.ts"

const authorizationSeconds = 600
const reason = isEvmChainAvailable() ? "" : " (skipped: anvil has no package for this platform)"
const { payer, payTo } = evmAddresses
const nowhere = getAddress("0x000000000000000000000000000000000000dEaD")

const clientOf = ({ rpcUrl, network }: EvmChain) =>
  createPublicClient({ chain: network === "base" ? base : baseSepolia, transport: http(rpcUrl), pollingInterval: 10 })

const operatorOf = ({ rpcUrl, network }: EvmChain) =>
  createWalletClient({
    account: privateKeyToAccount(evmKeys.operator),
    chain: network === "base" ? base : baseSepolia,
    transport: http(rpcUrl)
  })

/** The payer's signature under "these units may go to payTo", as x402 has it. */
const authorize = async ({ usdc, chainId }: EvmChain, units: bigint) => {
  const message = {
    from: payer,
    to: payTo,
    value: units,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1_000) + authorizationSeconds),
    nonce: toHex(randomBytes(32))
  }
  const signature = await privateKeyToAccount(evmKeys.payer).signTypedData({
    domain: { name: usdc.name, version: usdc.version, chainId, verifyingContract: usdc.address },
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
  const { from, to, value, validAfter, validBefore, nonce } = message
  return { nonce, args: [from, to, value, validAfter, validBefore, nonce, signature] as const }
}

type Authorization = Awaited<ReturnType<typeof authorize>>

/** -> its hash; it may not be mined yet. */
const submit = (chain: EvmChain, { args }: Authorization) =>
  operatorOf(chain).writeContract({
    address: chain.usdc.address,
    abi: usdcAbi,
    functionName: "transferWithAuthorization",
    args
  })

const settle = async (chain: EvmChain, authorization: Authorization) =>
  clientOf(chain).waitForTransactionReceipt({ hash: await submit(chain, authorization) })

describe.skipIf(!isEvmChainAvailable())(`startEvmChain${reason}`, () => {
  let chain: EvmChain

  beforeAll(async () => {
    chain = await startEvmChain()
    await chain.mint(payer, 1_000_000n)
  })

  afterAll(() => chain?.stop())

  it("has USDC with the EIP-712 domain of Base Sepolia", async () => {
    const { usdc, chainId } = chain
    const separator = await clientOf(chain).readContract({
      address: usdc.address,
      abi: usdcAbi,
      functionName: "DOMAIN_SEPARATOR"
    })
    expect([chainId, usdc.name, usdc.version]).toEqual([84_532, "USDC", "2"])
    expect(await clientOf(chain).getChainId()).toBe(84_532)
    expect(separator).toBe(
      domainSeparator({ domain: { name: "USDC", version: "2", chainId, verifyingContract: usdc.address } })
    )
  })

  it("has USDC with the EIP-712 domain of Base", async () => {
    const mainnet = await startEvmChain({ network: "base" })
    try {
      const { usdc, chainId } = mainnet
      const separator = await clientOf(mainnet).readContract({
        address: usdc.address,
        abi: usdcAbi,
        functionName: "DOMAIN_SEPARATOR"
      })
      // Of the contract on Base itself.
      expect(separator).toBe("0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f")
      expect([chainId, usdc.name]).toEqual([8_453, "USD Coin"])
    } finally {
      await mainnet.stop()
    }
  })

  it("moves money by a signed authorisation, once", async () => {
    const authorization = await authorize(chain, 300n)
    const before = await chain.balanceOf(payTo)
    const { status, blockNumber, transactionHash } = await settle(chain, authorization)
    expect(status).toBe("success")
    expect(await chain.balanceOf(payTo)).toBe(before + 300n)
    expect(await chain.transfersTo(payTo)).toContainEqual({
      from: payer,
      to: payTo,
      units: 300n,
      transactionHash,
      blockNumber
    })
    await expect(settle(chain, authorization)).rejects.toThrow("authorization is used or canceled")
    expect(await chain.balanceOf(payTo)).toBe(before + 300n)
  })

  it("refuses an authorisation for another receiver than the signed one", async () => {
    const { nonce, args } = await authorize(chain, 300n)
    const [from, , units, validAfter, validBefore, , signature] = args
    const altered = [from, nowhere, units, validAfter, validBefore, nonce, signature] as const
    await expect(settle(chain, { nonce, args: altered })).rejects.toThrow("invalid signature")
  })

  it("undoes the last blocks, and their transfers with them", async () => {
    const before = await chain.balanceOf(payTo)
    const authorization = await authorize(chain, 500n)
    await settle(chain, authorization)
    expect(await chain.balanceOf(payTo)).toBe(before + 500n)
    await chain.reorg(1)
    expect(await chain.balanceOf(payTo)).toBe(before)
    expect((await chain.transfersTo(payTo)).map(({ units }) => units)).not.toContain(500n)
    await settle(chain, authorization)
    expect(await chain.balanceOf(payTo)).toBe(before + 500n)
  })

  it("goes back to a snapshot", async () => {
    const snapshot = await chain.snapshot()
    await chain.mint(nowhere, 5n)
    expect(await chain.balanceOf(nowhere)).toBe(5n)
    await chain.revert(snapshot)
    expect(await chain.balanceOf(nowhere)).toBe(0n)
  })

  it("keeps transactions waiting while mining is off, and forgets one that is dropped", async () => {
    const before = await chain.balanceOf(payTo)
    await chain.setAutomine(false)
    try {
      const dropped = await submit(chain, await authorize(chain, 700n))
      await chain.dropTransaction(dropped)
      const kept = await submit(chain, await authorize(chain, 900n))
      expect(await chain.balanceOf(payTo)).toBe(before)
      await chain.mine()
      expect((await clientOf(chain).getTransactionReceipt({ hash: kept })).status).toBe("success")
      await expect(clientOf(chain).getTransaction({ hash: dropped })).rejects.toThrow("could not be found")
      expect(await chain.balanceOf(payTo)).toBe(before + 900n)
    } finally {
      await chain.setAutomine(true)
    }
  })

  it("mints for many at once", async () => {
    const before = await chain.balanceOf(payer)
    await Promise.all([1n, 2n, 3n].map((units) => chain.mint(payer, units)))
    expect(await chain.balanceOf(payer)).toBe(before + 6n)
  })

  it("moves its clock, which ends an authorisation", async () => {
    const authorization = await authorize(chain, 300n)
    const { timestamp } = await clientOf(chain).getBlock()
    await chain.increaseTime(2 * authorizationSeconds)
    expect((await clientOf(chain).getBlock()).timestamp).toBeGreaterThanOrEqual(
      timestamp + BigInt(authorizationSeconds)
    )
    await expect(settle(chain, authorization)).rejects.toThrow("authorization is expired")
  })

  it("makes blocks by time if asked to, and with automine still mines at once", async () => {
    const timed = await startEvmChain({ blockTimeSeconds: 60 })
    try {
      const hash = await submit(timed, await authorize(timed, 0n))
      await expect(clientOf(timed).getTransactionReceipt({ hash })).rejects.toThrow("could not be found")
      await timed.setAutomine(true)
      await timed.mint(payer, 1n)
      expect((await clientOf(timed).getTransactionReceipt({ hash })).status).toBe("success")
    } finally {
      await timed.stop()
    }
  })

  it("reports anvil's output if it cannot start", async () => {
    const squatter = createServer()
    await new Promise<void>((resolve) => squatter.listen(0, "127.0.0.1", resolve))
    const address = squatter.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    try {
      await expect(startEvmChain({ port })).rejects.toThrow(/in use/i)
    } finally {
      squatter.close()
    }
  })

  it("ends when it is stopped", async () => {
    const brief = await startEvmChain()
    await brief.stop()
    await brief.stop()
    await expect(fetch(brief.rpcUrl, { method: "POST", body: "{}" })).rejects.toThrow("fetch failed")
  })

  it("starts together with the Solana chain", async () => {
    const both = await Promise.all([startEvmChain(), startSolanaChain()])
    for (const { rpcUrl } of both)
      expect((await fetch(rpcUrl, { method: "POST", body: "{}" })).status).toBeLessThan(500)
    await Promise.all(both.map((one) => one.stop()))
  })
})
