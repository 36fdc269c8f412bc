import {
  appendTransactionMessageInstruction,
  assertIsTransactionWithBlockhashLifetime,
  type Base64EncodedWireTransaction,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  devnet,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type KeyPairSigner,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Transaction
} from "@solana/kit"
import { getTransferCheckedInstruction } from "@solana-program/token"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type SolanaChain, startSolanaChain } from "../../../scripts/devchains/SolanaChain.ts"
import { tokenAccountAddress } from "../../../scripts/devchains/SolanaTokens.ts"
import { solanaSeeds, solanaWallet } from "../../../scripts/devchains/Wallets.ts"

const startUnits = 1_000_000n
const lamports = 1_000_000_000n
const lifetimeSlots = 151
const { signer: operator } = await solanaWallet(solanaSeeds.operator)
const { signer: payer } = await solanaWallet(solanaSeeds.payer)
const { signer: payTo } = await solanaWallet(solanaSeeds.payTo)

const connect = (url: string) => createSolanaRpc(devnet(url))

let chain: SolanaChain
let rpc: ReturnType<typeof connect>

beforeEach(async () => {
  chain = await startSolanaChain()
  rpc = connect(chain.rpcUrl)
  chain.airdrop(operator.address, lamports)
  await chain.setTokenBalance(payer.address, startUnits)
  await chain.setTokenBalance(payTo.address, 0n)
})

afterEach(() => chain.stop())

/** USDC from one to the other; the operator pays the fee, as a facilitator does. */
const transfer = async (units: bigint, from: KeyPairSigner = payer, to: KeyPairSigner = payTo) => {
  const { value: lifetime } = await rpc.getLatestBlockhash().send()
  const instruction = getTransferCheckedInstruction({
    source: await tokenAccountAddress(from.address, chain.usdc),
    mint: chain.usdc,
    destination: await tokenAccountAddress(to.address, chain.usdc),
    authority: from,
    amount: units,
    decimals: 6
  })
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(operator, empty),
    (payed) => setTransactionMessageLifetimeUsingBlockhash(lifetime, payed),
    (timed) => appendTransactionMessageInstruction(instruction, timed)
  )
  const transaction = await signTransactionMessageWithSigners(message)
  assertIsTransactionWithBlockhashLifetime(transaction)
  return {
    transaction,
    wire: getBase64EncodedWireTransaction(transaction),
    signature: getSignatureFromTransaction(transaction)
  }
}

const send = (wire: Base64EncodedWireTransaction, skipPreflight = false) =>
  rpc.sendTransaction(wire, { encoding: "base64", skipPreflight }).send()

/** As a paying client sends it to a facilitator: the fee payer is yet to sign. */
const withoutSignature = ({ signatures }: Transaction): Transaction["signatures"] => ({
  ...signatures,
  [operator.address]: null
})

const statusOf = async (signature: Awaited<ReturnType<typeof transfer>>["signature"]) =>
  (await rpc.getSignatureStatuses([signature]).send()).value[0]

const balances = async () => [await chain.tokenBalance(payer.address), await chain.tokenBalance(payTo.address)]

describe("startSolanaChain", () => {
  it("is devnet with its USDC, or mainnet with its own", async () => {
    const mainnet = await startSolanaChain({ cluster: "mainnet" })
    try {
      expect([chain.network, chain.usdc]).toEqual(["solana-devnet", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"])
      expect([mainnet.network, mainnet.usdc]).toEqual(["solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"])
      expect(await rpc.getGenesisHash().send()).not.toBe(await createSolanaRpc(mainnet.rpcUrl).getGenesisHash().send())
    } finally {
      await mainnet.stop()
    }
  })

  it("moves money by a transfer of the real token program", async () => {
    const { wire, signature } = await transfer(300n)
    expect((await rpc.simulateTransaction(wire, { encoding: "base64", sigVerify: true }).send()).value.err).toBeNull()
    expect(await balances()).toEqual([startUnits, 0n])
    expect(await send(wire)).toBe(signature)
    expect(await balances()).toEqual([startUnits - 300n, 300n])
    expect(await statusOf(signature)).toMatchObject({ err: null, confirmationStatus: "confirmed" })
  })

  it("keeps the transfer in its history, with balances and fee", async () => {
    const { wire, signature } = await transfer(300n)
    await send(wire)
    const config = { commitment: "confirmed", encoding: "json", maxSupportedTransactionVersion: 0 } as const
    const found = await rpc.getTransaction(signature, config).send()
    expect(found?.meta?.fee).toBe(10_000n)
    expect(found?.meta?.preTokenBalances?.map(({ uiTokenAmount }) => uiTokenAmount.amount).sort()).toEqual([
      "0",
      "1000000"
    ])
    expect(found?.meta?.postTokenBalances?.find(({ owner }) => owner === payTo.address)?.uiTokenAmount).toMatchObject({
      amount: "300",
      uiAmountString: "0.0003"
    })
    const account = await tokenAccountAddress(payTo.address, chain.usdc)
    const history = await rpc.getSignaturesForAddress(account, { commitment: "confirmed" }).send()
    expect(history.map((one) => one.signature)).toEqual([signature])
  })

  it("shows history at finalized only after 32 slots", async () => {
    const { wire, signature } = await transfer(300n)
    await send(wire)
    const config = { commitment: "finalized", encoding: "base64", maxSupportedTransactionVersion: 0 } as const
    expect(await rpc.getTransaction(signature, config).send()).toBeNull()
    chain.advance(32)
    expect((await rpc.getTransaction(signature, config).send())?.transaction).toEqual([wire, "base64"])
    expect(await statusOf(signature)).toMatchObject({ confirmationStatus: "finalized", confirmations: null })
  })

  it("refuses what has landed already", async () => {
    const { wire, signature } = await transfer(300n)
    await send(wire)
    await expect(send(wire)).rejects.toMatchObject({
      cause: { message: expect.stringContaining("already been processed") }
    })
    expect(await send(wire, true)).toBe(signature)
    expect(await balances()).toEqual([startUnits - 300n, 300n])
  })

  it("refuses an expired blockhash, and drops it without preflight", async () => {
    const { wire, signature } = await transfer(300n)
    chain.advance(lifetimeSlots)
    await expect(send(wire)).rejects.toMatchObject({ cause: { message: expect.stringContaining("lockhash") } })
    await send(wire, true)
    expect(await statusOf(signature)).toBeNull()
    expect(await balances()).toEqual([startUnits, 0n])
  })

  it("refuses to spend more than the balance, and records the failure if there was no preflight", async () => {
    const { wire, signature } = await transfer(startUnits + 1n)
    await expect(send(wire)).rejects.toThrow()
    expect(await statusOf(signature)).toBeNull()
    await send(wire, true)
    expect(await statusOf(signature)).toMatchObject({ err: { InstructionError: [0n, { Custom: 1n }] } })
    expect(await balances()).toEqual([startUnits, 0n])
  })

  it("refuses a signature that is not the signer's", async () => {
    const { wire } = await transfer(300n)
    const bytes = Buffer.from(wire, "base64")
    // The first signature begins at 1, behind the count.
    bytes[1] = bytes[1]! ^ 1
    const forged = bytes.toString("base64") as Base64EncodedWireTransaction
    await expect(send(forged)).rejects.toThrow(/signature verification/i)
    await send(forged, true)
    expect(await balances()).toEqual([startUnits, 0n])
  })

  it("simulates what is not signed yet, and does not land it", async () => {
    const { wire, transaction } = await transfer(300n)
    const unsigned = getBase64EncodedWireTransaction({ ...transaction, signatures: withoutSignature(transaction) })
    const encoding = "base64"
    expect((await rpc.simulateTransaction(unsigned, { encoding, sigVerify: false }).send()).value.err).toBeNull()
    const checked = await rpc.simulateTransaction(unsigned, { encoding, sigVerify: true }).send()
    expect(checked.value.err).toBe("SignatureFailure")
    await expect(send(unsigned)).rejects.toThrow(/signature verification/i)
    await send(unsigned, true)
    expect(await balances()).toEqual([startUnits, 0n])
    await send(wire)
    expect(await balances()).toEqual([startUnits - 300n, 300n])
  })

  it("simulates with a blockhash of its own when it is asked to", async () => {
    const { wire } = await transfer(300n)
    chain.advance(lifetimeSlots)
    const plain = await rpc.simulateTransaction(wire, { encoding: "base64" }).send()
    expect(plain.value.err).toBe("BlockhashNotFound")
    const replaced = await rpc.simulateTransaction(wire, { encoding: "base64", replaceRecentBlockhash: true }).send()
    expect(replaced.value.err).toBeNull()
  })

  it("notifies a subscriber that waits for its transaction", async () => {
    const { transaction } = await transfer(300n)
    const rpcSubscriptions = createSolanaRpcSubscriptions(devnet(chain.wsUrl))
    const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })
    await sendAndConfirm(transaction, { commitment: "confirmed" })
    expect(await balances()).toEqual([startUnits - 300n, 300n])
  })

  it("shows a transaction as processed until the delay of confirmation has passed", async () => {
    await chain.stop()
    chain = await startSolanaChain({ confirmDelayMillis: 60_000 })
    rpc = connect(chain.rpcUrl)
    chain.airdrop(operator.address, lamports)
    await chain.setTokenBalance(payer.address, startUnits)
    await chain.setTokenBalance(payTo.address, 0n)
    const { wire, signature } = await transfer(300n)
    await send(wire)
    expect(await statusOf(signature)).toMatchObject({ confirmationStatus: "processed" })
  })

  it("lands what was sent during a pause in the next block, if its blockhash still holds", async () => {
    chain.pause()
    const landing = await transfer(300n)
    await send(landing.wire)
    await send(landing.wire)
    expect(await statusOf(landing.signature)).toBeNull()
    chain.tick()
    expect(await statusOf(landing.signature)).toMatchObject({ err: null })
    const late = await transfer(400n)
    await send(late.wire)
    chain.advance(lifetimeSlots)
    chain.resume()
    expect(await statusOf(late.signature)).toBeNull()
    expect(await balances()).toEqual([startUnits - 300n, 300n])
  })
})

describe("SolanaChain.reorg", () => {
  it("undoes the transaction and what it moved; it may be sent again", async () => {
    const { wire, signature } = await transfer(300n)
    await send(wire)
    chain.reorg(signature)
    expect(await statusOf(signature)).toBeNull()
    expect(await balances()).toEqual([startUnits, 0n])
    expect((await rpc.getBalance(operator.address).send()).value).toBe(lamports)
    await send(wire)
    expect(await balances()).toEqual([startUnits - 300n, 300n])
  })

  it("keeps later transactions that did not depend on it", async () => {
    const first = await transfer(300n)
    await send(first.wire)
    const second = await transfer(200n)
    await send(second.wire)
    chain.airdrop(operator.address, 5n)
    const slot = (await statusOf(second.signature))?.slot
    chain.reorg(first.signature)
    expect(await statusOf(first.signature)).toBeNull()
    expect(await statusOf(second.signature)).toMatchObject({ err: null, slot })
    expect(await balances()).toEqual([startUnits - 200n, 200n])
    expect((await rpc.getBalance(operator.address).send()).value).toBe(lamports - 10_000n + 5n)
  })

  it("fails later transactions that spent the money", async () => {
    const first = await transfer(300n)
    await send(first.wire)
    const back = await transfer(250n, payTo, payer)
    await send(back.wire)
    expect(await statusOf(back.signature)).toMatchObject({ err: null })
    chain.reorg(first.signature)
    expect(await statusOf(back.signature)).toMatchObject({ err: { InstructionError: [0n, { Custom: 1n }] } })
    expect(await balances()).toEqual([startUnits, 0n])
  })

  it("undoes the creation of an account", async () => {
    const { wire, signature } = await transfer(300n)
    await send(wire)
    await chain.setTokenBalance(operator.address, 7n)
    chain.reorg(signature)
    expect(await chain.tokenBalance(operator.address)).toBe(7n)
    expect(() => chain.reorg(signature)).toThrow("no transaction")
  })
})
