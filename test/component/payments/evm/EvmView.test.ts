import { Effect, Result } from "effect"
import { parseTransaction, type TransactionSerializedEIP1559 } from "viem"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { evmToken, readAuthorization } from "@muniment/payments/evm/EvmAuthorization"
import { evmRpc } from "@muniment/payments/evm/EvmRpc"
import { look } from "@muniment/payments/evm/EvmChain"
import type { PaymentClaim, SignedTransaction } from "@muniment/payments/chain/PaymentChain"
import { isEvmChainAvailable } from "../../../../scripts/devchains/AnvilProcess.ts"
import { type EvmChain, startEvmChain } from "../../../../scripts/devchains/EvmChain.ts"
import { type FaultyRpc, startFaultyRpc } from "../../../../scripts/devchains/FaultyRpc.ts"
import { evmAddresses } from "../../../../scripts/devchains/Wallets.ts"
import { cancel, chainOf, claimOf, clientOf, code, lifetimeSeconds, nobody, landed, nowSeconds } from "./EvmPayments.ts"
import {
  outcome,
  payloadFor,
  sendSigned,
  settle,
  spend,
  submitAs,
  submitTogether,
  units,
  viewOf
} from "./EvmPayments.ts"

const why = isEvmChainAvailable() ? "" : " (skipped: anvil has no package for this platform)"
const unsigned: SignedTransaction = { hash: "", raw: "" }
const { admin, payer, payTo } = evmAddresses

describe.skipIf(!isEvmChainAvailable())(`look${why}`, () => {
  let local: EvmChain
  let proxy: FaultyRpc

  // A chain for each test: they move its clock and undo its blocks.
  beforeEach(async () => {
    local = await startEvmChain()
    await local.mint(payer, 100_000_000n)
  })
  afterEach(() => local.stop())
  afterAll(() => proxy?.stop())

  const take = async (bent: Parameters<typeof payloadFor>[1] = {}) => {
    const chain = chainOf(local)
    const payload = await payloadFor(local, bent)
    return { chain, payload, claim: await claimOf(chain, payload) }
  }
  /** A look that sees a few blocks at a time, as if there were a thousand times as many. */
  const searched = (claim: PaymentClaim) => {
    const authorization = Result.getOrThrow(readAuthorization(claim.payload))
    const rpc = evmRpc(evmToken(local.network), local.rpcUrl)
    return Effect.runPromise(look(rpc, authorization, unsigned, { units, confirmations: 1, windowBlocks: 8n }))
  }
  const expire = () => local.increaseTime(2 * lifetimeSeconds)

  it("sees the money once it is there, and how deep", async () => {
    const { chain, claim } = await take()
    const signed = await Effect.runPromise(chain.sign(claim))
    expect(await viewOf(chain, claim, signed)).toBe("resend")
    await Effect.runPromise(chain.broadcast(claim, signed))
    await landed(local, signed.hash)
    const seen = () => Effect.runPromise(chain.look(claim, signed, units))
    expect(await seen()).toEqual({ _tag: "Paid", hash: signed.hash, confirmations: 1, isFinal: false })
    await local.mine(5)
    expect(await seen()).toEqual({ _tag: "Paid", hash: signed.hash, confirmations: 6, isFinal: false })
    await local.mine(100)
    expect(await seen()).toEqual({ _tag: "Paid", hash: signed.hash, confirmations: 106, isFinal: true })
    expect(await local.balanceOf(payTo)).toBe(BigInt(units))
  })

  it("sees nothing but the units that were agreed", async () => {
    const { chain, claim } = await take()
    const signed = await settle(local, chain, claim)
    const less = await Effect.runPromise(chain.look(claim, signed, units - 1))
    expect(less).toEqual({ _tag: "Unpaid", next: "wait" })
    await expire()
    const later = await Effect.runPromise(chain.look(claim, signed, units - 1))
    expect(later).toEqual({ _tag: "Never", block: await clientOf(local).getBlockNumber() })
  })

  it("judges a payment by its own payee, whatever address is configured by now", async () => {
    const { chain, claim, payload } = await take()
    const moved = chainOf(local, { payTo: nobody })
    expect(await outcome(moved.verify(claim, units))).toContain("authorization.to must be")
    expect(await outcome(moved.verify(claim, units, { isJournalled: true }))).toBe("ok")
    const signed = await settle(local, chain, claim)
    expect(await viewOf(moved, claim, signed)).toBe("paid")
    await expire()
    expect(await viewOf(moved, claim, unsigned)).toBe("paid")
    expect(payload.authorization.to).toBe(payTo)
  })

  it("waits while the transaction waits, and sends it again when it is lost", async () => {
    const { chain, claim } = await take()
    await local.setAutomine(false)
    const signed = await sendSigned(chain, claim)
    expect(await viewOf(chain, claim, signed)).toBe("wait")
    await local.dropTransaction(signed.hash as `0x${string}`)
    expect(await viewOf(chain, claim, signed)).toBe("resend")
    await Effect.runPromise(chain.broadcast(claim, signed))
    await Effect.runPromise(chain.broadcast(claim, signed))
    await local.mine()
    await Effect.runPromise(chain.broadcast(claim, signed))
    expect(await viewOf(chain, claim, signed)).toBe("paid")
  })

  it("wants a signature where there is none", async () => {
    const { chain, claim } = await take()
    expect(await viewOf(chain, claim, unsigned)).toBe("resign")
    await expire()
    expect(await viewOf(chain, claim, unsigned)).toBe("never")
  })

  it("gives up once the chain's time is past, though not before", async () => {
    const { chain, claim } = await take()
    const signed = await Effect.runPromise(chain.sign(claim))
    await local.increaseTime(lifetimeSeconds / 2)
    expect(await viewOf(chain, claim, signed)).toBe("resend")
    await expire()
    expect(await viewOf(chain, claim, signed)).toBe("never")
  })

  it("gives up no sooner than so many blocks deep", async () => {
    const { claim } = await take()
    const chain = chainOf(local, { confirmations: 3 })
    await expire()
    expect(await viewOf(chain, claim, unsigned)).toBe("resign")
    await local.mine(1)
    expect(await viewOf(chain, claim, unsigned)).toBe("resign")
    await local.mine(1)
    expect(await viewOf(chain, claim, unsigned)).toBe("never")
  })

  it("finds the money when somebody else handed the authorization in", async () => {
    const { chain, claim, payload } = await take()
    const signed = await Effect.runPromise(chain.sign(claim))
    const hash = await submitAs(local, admin, payload)
    for (const ours of [unsigned, signed]) {
      const view = await Effect.runPromise(chain.look(claim, ours, units))
      expect(view).toEqual({ _tag: "Paid", hash, confirmations: 1, isFinal: false })
    }
    await Effect.runPromise(chain.broadcast(claim, signed).pipe(Effect.ignore))
    await local.mine(3)
    expect(await viewOf(chain, claim, signed)).toBe("paid")
    expect(await local.balanceOf(payTo)).toBe(BigInt(units))
  })

  it("finds it among many blocks, and long after it has expired", async () => {
    const { claim, payload } = await take({ validAfter: 0n })
    await local.mine(60)
    const hash = await submitAs(local, admin, payload)
    expect(await searched(claim)).toMatchObject({ _tag: "Paid", hash })
    await local.mine(50)
    expect(await searched(claim)).toMatchObject({ _tag: "Paid", hash })
    await local.increaseTime(30 * 86_400)
    await local.mine(300)
    expect(await searched(claim)).toMatchObject({ _tag: "Paid", hash })
  })

  it("counts a transfer for the nonce that it belongs to, and for no other in the same transaction", async () => {
    // Two deposits; of the first nonce the payer has a second authorization, to somebody else.
    const first = await take()
    const second = await take()
    const { nonce } = first.payload.authorization
    const diverted = await payloadFor(local, { nonce, to: nobody })
    const hash = await submitTogether(local, [diverted, second.payload])
    expect(await local.balanceOf(payTo)).toBe(BigInt(units))
    expect(await viewOf(first.chain, first.claim, unsigned)).toBe("wait")
    expect(await Effect.runPromise(second.chain.look(second.claim, unsigned, units))).toMatchObject({
      _tag: "Paid",
      hash
    })
    await expire()
    expect(await viewOf(first.chain, first.claim, unsigned)).toBe("never")
  })

  it("counts two deposits that somebody hands in together as two", async () => {
    const [one, other] = [await take(), await take()]
    await submitTogether(local, [one.payload, other.payload])
    expect([await viewOf(one.chain, one.claim, unsigned), await viewOf(other.chain, other.claim, unsigned)]).toEqual([
      "paid",
      "paid"
    ])
  })

  it("gives up a cancelled authorization once it has expired, also one that is cancelled after it has expired", async () => {
    const early = await take()
    const late = await take()
    await cancel(local, early.payload.authorization.nonce)
    expect(await viewOf(early.chain, early.claim, unsigned)).toBe("wait")
    await local.mine(30)
    await expire()
    expect(await viewOf(early.chain, early.claim, unsigned)).toBe("never")
    await local.mine(40)
    await cancel(local, late.payload.authorization.nonce)
    await local.mine(40)
    expect(await searched(late.claim)).toEqual({ _tag: "Never", block: expect.any(BigInt) })
  })

  it("gives up a cancelled one no sooner than so many blocks deep", async () => {
    const { claim, payload } = await take()
    const chain = chainOf(local, { confirmations: 2 })
    await expire()
    await cancel(local, payload.authorization.nonce)
    expect(await viewOf(chain, claim, unsigned)).toBe("wait")
    await local.mine()
    expect(await viewOf(chain, claim, unsigned)).toBe("never")
  })

  it("says what a reorganised chain says", async () => {
    const { chain, claim } = await take()
    const signed = await settle(local, chain, claim)
    expect(await viewOf(chain, claim, signed)).toBe("paid")
    await local.reorg(1)
    expect(["wait", "resend"]).toContain(await viewOf(chain, claim, signed))
    await Effect.runPromise(chain.broadcast(claim, signed))
    await local.mine()
    expect(await viewOf(chain, claim, signed)).toBe("paid")
    expect(await local.balanceOf(payTo)).toBe(BigInt(units))
  })

  it("signs anew when two were signed before either was sent", async () => {
    const one = await take()
    const other = await take()
    const signedOne = await Effect.runPromise(one.chain.sign(one.claim))
    const signedOther = await Effect.runPromise(other.chain.sign(other.claim))
    await Effect.runPromise(one.chain.broadcast(one.claim, signedOne))
    await landed(local, signedOne.hash)
    await Effect.runPromise(other.chain.broadcast(other.claim, signedOther))
    expect(await viewOf(one.chain, one.claim, signedOne)).toBe("paid")
    expect(await viewOf(other.chain, other.claim, signedOther)).toBe("resign")
    const again = await Effect.runPromise(other.chain.sign(other.claim, signedOther))
    await Effect.runPromise(other.chain.broadcast(other.claim, again))
    await landed(local, again.hash)
    expect(await viewOf(other.chain, other.claim, again)).toBe("paid")
    expect(await local.balanceOf(payTo)).toBe(2n * BigInt(units))
  })

  it("signs anew after a revert, while the payment is good", async () => {
    const { chain, claim } = await take()
    await local.setAutomine(false)
    const signed = await sendSigned(chain, claim)
    // The payer's own transaction pays more for its gas and comes first.
    await spend(local, 99_000_000n)
    await local.mine()
    const { status } = await clientOf(local).getTransactionReceipt({ hash: signed.hash as `0x${string}` })
    expect(status).toBe("reverted")
    expect(await viewOf(chain, claim, signed)).toBe("resign")
    expect(await outcome(chain.sign(claim, signed))).toMatch(/^PaymentInvalid: the transfer would fail: .*balance/)
    await local.setAutomine(true)
    await local.mint(payer, BigInt(units))
    const again = await Effect.runPromise(chain.sign(claim, signed))
    await Effect.runPromise(chain.broadcast(claim, again))
    await landed(local, again.hash)
    expect(await viewOf(chain, claim, again)).toBe("paid")
  })

  it("pays for the revert of a contract wallet once", async () => {
    const wallet = nobody
    await clientOf(local).setCode({ address: wallet, bytecode: code.yesUntilMined })
    await local.mint(wallet, 100_000_000n)
    const { chain, claim } = await take({ from: wallet })
    expect(await outcome(chain.verify(claim, units))).toBe("ok")
    const signed = await settle(local, chain, claim)
    expect(await viewOf(chain, claim, signed)).toBe("wait")
    await expire()
    expect(await viewOf(chain, claim, signed)).toBe("never")
  })

  it("knows a stuck transaction by its fee, and replaces it", async () => {
    const { chain, claim } = await take({ validBefore: BigInt(nowSeconds() + 600) })
    const client = clientOf(local)
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1_000_000_000n })
    await local.mine()
    await local.setAutomine(false)
    const signed = await sendSigned(chain, claim)
    const baseFee = 3_200_000_000n
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: baseFee })
    await local.mine()
    expect(await viewOf(chain, claim, signed)).toBe("resign")
    const again = await Effect.runPromise(chain.sign(claim, signed))
    const nonces = [signed, again].map(({ raw }) => parseTransaction(raw as TransactionSerializedEIP1559).nonce)
    expect(nonces[0]).toBe(nonces[1])
    await Effect.runPromise(chain.broadcast(claim, again))
    await local.mine()
    expect(await viewOf(chain, claim, again)).toBe("paid")
    expect(await viewOf(chain, claim, signed)).toBe("paid")
  })

  it("works for another operator than the one who signed", async () => {
    const { chain, claim } = await take()
    const signed = await settle(local, chain, claim)
    const successor = chainOf(local, { operatorKey: undefined })
    expect(await viewOf(successor, claim, signed)).toBe("paid")
    expect(await outcome(successor.sign(claim))).toMatch(/^ChainUnavailable: no operator key/)
  })

  it("never takes a silent node for an answer", async () => {
    const { claim } = await take()
    proxy = await startFaultyRpc(local.rpcUrl)
    const behind = chainOf({ ...local, rpcUrl: proxy.url })
    const signed = await Effect.runPromise(behind.sign(claim))
    const before = proxy.calls()
    expect(await viewOf(behind, claim, signed)).toBe("resend")
    const calls = proxy.calls() - before
    for (let failing = 0; failing < calls; failing++) {
      let seen = 0
      proxy.failNext(() => seen++ === failing, "refuse")
      const result = await Effect.runPromise(Effect.result(behind.look(claim, signed, units)))
      expect([failing, Result.isFailure(result) ? result.failure._tag : result.success]).toEqual([
        failing,
        "ChainUnavailable"
      ])
      proxy.up()
    }
  })
})
