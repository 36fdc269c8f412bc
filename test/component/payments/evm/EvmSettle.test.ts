import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerializedEIP1559 } from "viem"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { isEvmChainAvailable } from "../../../../scripts/devchains/AnvilProcess.ts"
import { type EvmChain, startEvmChain } from "../../../../scripts/devchains/EvmChain.ts"
import { type FaultyRpc, startFaultyRpc } from "../../../../scripts/devchains/FaultyRpc.ts"
import { evmAddresses } from "../../../../scripts/devchains/Wallets.ts"
import {
  chainOf,
  claimOf,
  clientOf,
  landed,
  outcome,
  payloadFor,
  sendSigned,
  spend,
  submitAs,
  viewOf
} from "./EvmPayments.ts"
import { it as effectIt } from "../../../support/it.ts"

const why = isEvmChainAvailable() ? "" : " (skipped: anvil has no package for this platform)"
const { admin, operator, payer } = evmAddresses

describe.skipIf(!isEvmChainAvailable())(`sign and broadcast${why}`, () => {
  let local: EvmChain
  let proxy: FaultyRpc

  beforeEach(async () => {
    local = await startEvmChain()
    proxy = await startFaultyRpc(local.rpcUrl)
    await local.mint(payer, 100_000_000n)
  })
  afterEach(async () => {
    await proxy.stop()
    await local.stop()
  })

  const take = async (rpcUrl = local.rpcUrl) => {
    const chain = chainOf({ ...local, rpcUrl })
    const payload = await payloadFor(local)
    return { chain, payload, claim: await claimOf(chain, payload) }
  }

  it("signs one transaction of the operator's to the token, and sends nothing", async () => {
    const { chain, claim } = await take(proxy.url)
    const { hash, raw } = await Effect.runPromise(chain.sign(claim))
    const serialized = raw as TransactionSerializedEIP1559
    const transaction = parseTransaction(serialized)
    expect(keccak256(serialized)).toBe(hash)
    expect(await recoverTransactionAddress({ serializedTransaction: serialized })).toBe(operator)
    expect(transaction).toMatchObject({ chainId: 84_532, to: local.usdc.address.toLowerCase(), type: "eip1559" })
    expect(transaction.value ?? 0n).toBe(0n)
    expect(transaction.gas).toBeLessThan(150_000n)
    expect(proxy.calls("eth_sendRawTransaction")).toBe(0)
  })

  it("takes a new nonce for each transaction that the chain knows, mined or not", async () => {
    const [one, other] = [await take(), await take()]
    await local.setAutomine(false)
    const signed = [await sendSigned(one.chain, one.claim), await sendSigned(other.chain, other.claim)]
    const [first, second] = signed.map(({ raw }) => parseTransaction(raw as TransactionSerializedEIP1559).nonce ?? 0)
    expect(second).toBe((first ?? 0) + 1)
    await local.mine()
    expect(await viewOf(one.chain, one.claim, signed[0] ?? { hash: "", raw: "" })).toBe("paid")
    expect(await viewOf(other.chain, other.claim, signed[1] ?? { hash: "", raw: "" })).toBe("paid")
  })

  it("signs nothing that would be reverted", async () => {
    const { chain, claim } = await take()
    await landed(local, await spend(local, 99_000_000n))
    expect(await outcome(chain.sign(claim))).toBe(
      "PaymentInvalid: the transfer would fail: ERC20: transfer amount exceeds balance"
    )
  })

  it("leaves it to the chain's view when the authorization is already used", async () => {
    const { chain, claim, payload } = await take()
    await submitAs(local, admin, payload)
    expect(await outcome(chain.sign(claim))).toMatch(/^ChainUnavailable: the authorization is already used/)
  })

  it("signs nothing without money for gas, and names the wallet", async () => {
    const { chain, claim } = await take()
    await clientOf(local).setBalance({ address: operator, value: 1_000n })
    expect(await outcome(chain.sign(claim))).toBe(
      `ChainUnavailable: the operator's wallet ${operator} does not have enough ETH for gas`
    )
  })

  it("signs nothing while gas is dearer than the cap, and again once it is not", async () => {
    const { chain, claim } = await take()
    await clientOf(local).setNextBlockBaseFeePerGas({ baseFeePerGas: 50_000_000_000n })
    await local.mine()
    expect(await outcome(chain.sign(claim))).toBe("ChainUnavailable: gas costs more than the limit of 5000000000 wei")
    // Twice the base fee would be above the cap; the fee itself is not.
    await clientOf(local).setNextBlockBaseFeePerGas({ baseFeePerGas: 3_500_000_000n })
    await local.mine()
    const { raw } = await Effect.runPromise(chain.sign(claim))
    expect(parseTransaction(raw as TransactionSerializedEIP1559).maxFeePerGas).toBe(5_000_000_000n)
  })

  it("says so when the node is away at any call", async () => {
    const { chain, claim } = await take(proxy.url)
    const signed = await Effect.runPromise(chain.sign(claim))
    const before = proxy.calls()
    await Effect.runPromise(chain.sign(claim))
    const calls = proxy.calls() - before
    for (let failing = 0; failing < calls; failing++) {
      let seen = 0
      proxy.failNext(() => seen++ === failing, "refuse")
      expect([failing, await outcome(chain.sign(claim))]).toEqual([failing, expect.stringMatching(/^ChainUnavailable/)])
      proxy.up()
    }
    proxy.down()
    expect(await outcome(chain.broadcast(claim, signed))).toBe(
      "ChainUnavailable: eth_sendRawTransaction: HttpRequestError"
    )
  })

  it("does not know what became of a transaction whose answer was lost, and the chain does", async () => {
    const { chain, claim } = await take(proxy.url)
    const signed = await Effect.runPromise(chain.sign(claim))
    proxy.failNext("eth_sendRawTransaction", "drop-response")
    expect(await outcome(chain.broadcast(claim, signed))).toMatch(/^ChainUnavailable/)
    await landed(local, signed.hash)
    expect(await viewOf(chain, claim, signed)).toBe("paid")
    expect(await outcome(chain.broadcast(claim, signed))).toBe("ok")
  })

  it("sends nothing that it has not signed", async () => {
    const { chain, claim } = await take()
    expect(await outcome(chain.broadcast(claim, { hash: "", raw: "" }))).toMatch(
      /^ChainUnavailable: there is no signed/
    )
    expect(await outcome(chain.broadcast(claim, { hash: "0x", raw: "0x02ff" }))).toMatch(/^ChainUnavailable/)
  })

  effectIt.effect("gives up on a silent node in time", function* () {
    const { chain, claim } = yield* Effect.promise(() => take(proxy.url))
    proxy.failNext("eth_chainId", "hang")
    const signing = yield* Effect.forkChild(Effect.flip(chain.sign(claim)))
    yield* TestClock.adjust(Limits.chainCallTimeoutMillis)
    expect(yield* Fiber.join(signing)).toMatchObject({ _tag: "ChainUnavailable", cause: "eth_chainId: timed out" })
  })
})
