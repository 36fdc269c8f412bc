/** Solana payments against the real runtime: stock clients, hostile circumstances, and what became of a payment. */
import { afterEach, beforeEach, describe, expect } from "vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type Server } from "node:http"
import { Readable } from "node:stream"
import { createKeyPairSignerFromBytes, createSolanaRpc, type Signature } from "@solana/kit"
import { ExactSvmScheme } from "@x402/svm/exact/client"
import { ExactSvmSchemeV1 } from "@x402/svm/exact/v1/client"
import { createPaymentHeader } from "x402/client"
import { decodePayment } from "x402/schemes"
import { Limits } from "@muniment/domain/Limits"
import { paymentNetworks } from "@muniment/domain/Payment"
import { type FaultyRpc, startFaultyRpc } from "../../../../scripts/devchains/FaultyRpc.ts"
import { type SolanaChain, startSolanaChain } from "../../../../scripts/devchains/SolanaChain.ts"
import { ChainUnavailable, PaymentInvalid } from "../../../../packages/payments/src/chain/PaymentChain.ts"
import { svmChain, type SvmChainOptions } from "../../../../packages/payments/src/svm/SvmChain.ts"
import {
  limit,
  memo,
  operator,
  payer,
  paymentOf,
  type PaymentParts,
  payTo,
  price,
  stranger,
  strangerHolding,
  transfer,
  units
} from "../../../unit/payments/svm/SvmPayments.ts"
import { it } from "../../../support/it.ts"

const lamports = 1_000_000_000n
const startUnits = 1_000_000n
/** From signing on, past every block in which a payment that this process has verified may land. */
const slotsOfVerified = 183
const slotsOfRestarted = 301

let solana: SolanaChain
let faults: FaultyRpc

beforeEach(async () => {
  solana = await startSolanaChain()
  solana.pause()
  solana.tick()
  faults = await startFaultyRpc(solana.rpcUrl)
  solana.airdrop(operator.address, lamports)
  await solana.setTokenBalance(payer.address, startUnits)
  await solana.setTokenBalance(payTo.address, 0n)
})

afterEach(async () => {
  await faults.stop()
  await solana.stop()
})

const chainOf = (options: Partial<SvmChainOptions> = {}) =>
  svmChain({
    network: "solana-devnet",
    payTo: payTo.address,
    rpcUrl: faults.url,
    operatorKey: Redacted.make(operator.keyText),
    confirmations: "confirmed",
    ...options
  })
type Chain = ReturnType<typeof chainOf>

const latestBlockhash = async () => {
  const { value } = await createSolanaRpc(solana.rpcUrl).getLatestBlockhash().send()
  return value.blockhash
}

const claimed = (chain: Chain, parts: PaymentParts = {}) =>
  Effect.promise(async () => paymentOf({ blockhash: await latestBlockhash(), ...parts })).pipe(
    Effect.flatMap(chain.claim)
  )

/** Verified and signed, not yet sent. */
const signed = Effect.fn(function* (chain: Chain, parts?: PaymentParts) {
  const claim = yield* claimed(chain, parts)
  yield* chain.verify(claim, units)
  return { claim, transaction: yield* chain.sign(claim) }
})

const sent = Effect.fn(function* (chain: Chain, parts?: PaymentParts) {
  const payment = yield* signed(chain, parts)
  yield* chain.broadcast(payment.claim, payment.transaction)
  return payment
})

const refusal = Effect.fn(function* (chain: Chain, parts?: PaymentParts) {
  const error = yield* Effect.flip(Effect.flatMap(claimed(chain, parts), (claim) => chain.verify(claim, units)))
  return error instanceof PaymentInvalid ? error.reason : `${error._tag}: ${String(error.cause)}`
})

const received = () => Effect.promise(() => solana.tokenBalance(payTo.address))
const next = (what: "wait" | "resend") => ({ _tag: "Unpaid", next: what })
const never = { _tag: "Never", block: expect.any(BigInt) }

const requirement = (chain: Chain) =>
  chain.requirement({ units, resource: "https://example.org/deposit", description: "Deposit" })

const payAsV1 = (chain: Chain) =>
  Effect.promise(async () => {
    // The client wants a key pair of the one library that it knows.
    const signer = await createKeyPairSignerFromBytes(payer.keyBytes)
    const header = await createPaymentHeader(signer, 1, requirement(chain), { svmConfig: { rpcUrl: solana.rpcUrl } })
    return decodePayment(header).payload
  })

const payAsV2 = (chain: Chain) =>
  Effect.promise(async () => {
    const { maxAmountRequired: amount, ...facts } = requirement(chain)
    const requirements = { ...facts, amount, network: paymentNetworks["solana-devnet"].caip2 }
    const client = new ExactSvmScheme(payer.signer, { rpcUrl: solana.rpcUrl })
    return (await client.createPaymentPayload(2, requirements)).payload
  })

const payAsV1OfV2 = (chain: Chain) =>
  Effect.promise(async () => {
    const client = new ExactSvmSchemeV1(payer.signer, { rpcUrl: solana.rpcUrl })
    // As over the wire: the client's types know no names of networks of version 1.
    const requirements = JSON.parse(JSON.stringify(requirement(chain)))
    return (await client.createPaymentPayload(1, requirements)).payload
  })

describe("a deposit by Solana", () => {
  const clients = [
    ["x402-fetch 1.2.0", payAsV1],
    ["@x402/fetch 2.27, version 2", payAsV2],
    ["@x402/fetch 2.27, version 1", payAsV1OfV2]
  ] as const
  it.effect.each(clients)("made by %s moves the money once", function* ([, pay]) {
    const chain = chainOf()
    solana.resume()
    const claim = yield* Effect.flatMap(pay(chain), chain.claim)
    yield* chain.verify(claim, units)
    const transaction = yield* chain.sign(claim)
    expect(yield* received()).toBe(0n)
    yield* chain.broadcast(claim, transaction)
    yield* chain.broadcast(claim, transaction)
    expect(yield* chain.look(claim, transaction, units)).toMatchObject({
      _tag: "Paid",
      hash: transaction.hash,
      isFinal: false
    })
    expect(yield* received()).toBe(BigInt(units))
  })

  it.effect("is the same transaction however often it is signed, also after a restart", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* signed(chain)
    expect(yield* chain.sign(claim)).toEqual(transaction)
    expect(yield* chainOf().sign(claim)).toEqual(transaction)
  })

  it.effect("of a client without memo is one payment with its twin of the same blockhash", function* () {
    const chain = chainOf()
    const claims = yield* Effect.all([payAsV1(chain), payAsV1(chain)].map(Effect.flatMap(chain.claim)))
    expect(claims[0]).toEqual(claims[1])
  })

  it.effect("that landed before a crash could be journalled verifies still, and is sent in vain", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    const restarted = chainOf()
    yield* restarted.verify(claim, units)
    yield* restarted.broadcast(claim, transaction)
    solana.tick()
    expect(yield* received()).toBe(BigInt(units))
  })
})

describe("verify, on the chain", () => {
  const isRefused = (label: string, prepare: () => unknown, parts: PaymentParts | undefined, reason: string) =>
    it.effect(`refuses ${label}`, function* () {
      yield* Effect.promise(async () => prepare())
      expect(yield* refusal(chainOf(), parts)).toContain(reason)
    })
  const fromStranger = [limit(), price(), transfer({ source: strangerHolding })]

  isRefused(
    "a balance below the amount",
    () => solana.setTokenBalance(payer.address, BigInt(units - 1)),
    undefined,
    "the payer's balance is 499999 units, 500000 are needed"
  )
  isRefused(
    "a payer without a token account",
    () => undefined,
    {
      instructions: [limit(), price(), transfer({ source: strangerHolding, authority: stranger.signer })],
      signers: [stranger.signer]
    },
    "the payer has no token account for USDC"
  )
  isRefused(
    "somebody else's tokens",
    () => solana.setTokenBalance(stranger.address, startUnits),
    { instructions: fromStranger },
    "the source does not belong to the payer"
  )
  isRefused(
    "a compute limit that is too low for it",
    () => undefined,
    { instructions: [limit(200), price(), transfer()] },
    "the transaction would fail"
  )
  isRefused(
    "an assertion that does not hold",
    () => undefined,
    { instructions: [limit(), price(), transfer(), { ...memo("x"), data: new Uint8Array([0xff, 0xfe]) }] },
    "the transaction would fail"
  )

  it.effect("refuses a blockhash that has run out", function* () {
    const chain = chainOf()
    const claim = yield* claimed(chain)
    solana.advance(151)
    expect(yield* Effect.flip(chain.verify(claim, units))).toMatchObject({
      _tag: "PaymentInvalid",
      reason: expect.stringContaining("blockhash")
    })
  })

  it.effect("takes a missing token account of ours for the operator's fault, and says so", function* () {
    const chain = chainOf({ payTo: stranger.address })
    const instructions = [limit(), price(), transfer({ destination: strangerHolding })]
    expect(yield* refusal(chain, { instructions })).toBe(
      "ChainUnavailable: getMultipleAccounts: the recipient has no token account for USDC"
    )
  })

  it.effect("does not blame the payer for an operator without lamports", function* () {
    const poor = stranger
    const chain = chainOf({ operatorKey: Redacted.make(poor.keyText) })
    expect(yield* refusal(chain, { feePayer: poor.address })).toContain("ChainUnavailable: simulateTransaction")
  })
})

describe("a node that fails", () => {
  it.effect("is never the payment's fault, whichever call it fails", function* () {
    const chain = chainOf()
    const claim = yield* claimed(chain)
    for (const method of ["getGenesisHash", "isBlockhashValid", "getMultipleAccounts", "simulateTransaction"]) {
      for (const kind of ["refuse", "http-500", "drop-response"] as const) {
        faults.failNext(method, kind)
        const error = yield* Effect.flip(chain.verify(claim, units))
        expect([method, kind, error._tag]).toEqual([method, kind, "ChainUnavailable"])
        expect(JSON.stringify(error)).not.toContain(faults.url)
      }
    }
    yield* chain.verify(claim, units)
  })

  it.effect("may fail to say its block height without consequence", function* () {
    const chain = chainOf()
    const claim = yield* claimed(chain)
    faults.failNext("getEpochInfo", "http-500")
    yield* chain.verify(claim, units)
  })

  it.effect("leaves it open whether a transaction was sent; the chain tells later", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* signed(chain)
    faults.failNext("sendTransaction", "drop-response")
    expect(yield* Effect.flip(chain.broadcast(claim, transaction))).toBeInstanceOf(ChainUnavailable)
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toMatchObject({ _tag: "Paid" })
    faults.down()
    expect(yield* Effect.flip(chain.look(claim, transaction, units))).toBeInstanceOf(ChainUnavailable)
  })

  it.effect("of another cluster is told by its genesis", function* () {
    const mainnet = chainOf({ network: "solana" })
    const destination = requirement(mainnet).payTo
    expect(destination).toBe(payTo.address)
    const error = yield* Effect.flip(mainnet.look(yield* claimed(mainnet), { hash: "1".repeat(64), raw: "" }, units))
    expect(error.cause).toBe("getGenesisHash: the node does not serve solana")
  })

  it.effect("and does not answer is given up after five seconds", function* () {
    const { url, asked, server } = yield* Effect.promise(silentNode)
    const chain = chainOf({ rpcUrl: url })
    const claim = yield* claimed(chain)
    const fiber = yield* Effect.forkChild(Effect.flip(chain.verify(claim, units)))
    yield* Effect.promise(() => asked)
    yield* TestClock.adjust(Limits.chainCallTimeoutMillis)
    expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "ChainUnavailable" })
    server.closeAllConnections()
    server.close()
  })

  it.effect("is not asked with its key in what an error shows", function* () {
    const chain = chainOf({ rpcUrl: "http://127.0.0.1:1/?api-key=s3cret" })
    const error = yield* Effect.flip(Effect.flatMap(claimed(chain), (claim) => chain.verify(claim, units)))
    expect(String(error) + JSON.stringify(error)).not.toContain("s3cret")
    expect(JSON.stringify(error)).toContain("unreadable answer")
  })
})

const silentNode = async (): Promise<{ url: string; asked: Promise<void>; server: Server }> => {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const server = createServer(() => resolve())
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked, server }
}

describe("look", () => {
  it.effect("asks to send again what the chain does not know, as long as it may land", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* signed(chain)
    for (const slots of [0, 150, 31]) {
      solana.advance(slots)
      expect(yield* chain.look(claim, transaction, units)).toEqual(next("resend"))
    }
  })

  it.effect("says never once the blockhash has run out for certain", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* signed(chain)
    solana.advance(slotsOfVerified)
    expect(yield* chain.look(claim, transaction, units)).toEqual(never)
    expect(yield* chain.look(claim, transaction, units)).toEqual(never)
    yield* chain.broadcast(claim, transaction)
    solana.tick()
    expect(yield* received()).toBe(0n)
  })

  it.effect(
    "takes a while longer for never after a restart, as it cannot know when the payment was made",
    function* () {
      const { claim, transaction } = yield* signed(chainOf())
      solana.advance(slotsOfVerified)
      const restarted = chainOf()
      expect(yield* restarted.look(claim, transaction, units)).toEqual(next("resend"))
      solana.advance(slotsOfVerified)
      expect(yield* restarted.look(claim, transaction, units)).toEqual(next("resend"))
      solana.advance(slotsOfRestarted - slotsOfVerified)
      expect(yield* restarted.look(claim, transaction, units)).toEqual(never)
    }
  )

  it.effect("says never of nothing while the node is behind its cluster", function* () {
    const { claim, transaction } = yield* signed(chainOf())
    const restarted = chainOf()
    faults.failNext("getHealth", "http-500")
    expect(yield* Effect.flip(restarted.look(claim, transaction, units))).toBeInstanceOf(ChainUnavailable)
  })

  it.effect("waits for what is on its way into a block, then counts confirmations until it is final", function* () {
    yield* Effect.promise(() => slowToConfirm())
    const chain = chainOf()
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toEqual(next("wait"))
  })

  it.effect("shows confirmations, at first one, then as many as blocks, at last that it is final", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* sent(chain)
    const paid = { _tag: "Paid", hash: transaction.hash, isFinal: false }
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toEqual({ ...paid, confirmations: 1 })
    solana.advance(5)
    expect(yield* chain.look(claim, transaction, units)).toEqual({ ...paid, confirmations: 5 })
    solana.advance(32)
    const final = { ...paid, confirmations: 32, isFinal: true }
    expect(yield* chain.look(claim, transaction, units)).toEqual(final)
    solana.advance(1_000)
    expect(yield* chainOf().look(claim, transaction, units)).toEqual(final)
  })

  it.effect("waits for finality where the operator wants it", function* () {
    const chain = chainOf({ confirmations: "finalized" })
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toEqual(next("wait"))
    solana.advance(32)
    expect(yield* chain.look(claim, transaction, units)).toMatchObject({ _tag: "Paid", isFinal: true })
  })

  it.effect("says never of what has landed and failed, once its blockhash has run out", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* signed(chain)
    yield* Effect.promise(() => solana.setTokenBalance(payer.address, 1n))
    yield* chain.broadcast(claim, transaction)
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toEqual({ ...next("wait"), isReverted: true })
    solana.advance(slotsOfVerified)
    expect(yield* chain.look(claim, transaction, units)).toEqual(never)
  })

  it.effect("asks to send again what a reorganisation has undone, and it lands again", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toMatchObject({ _tag: "Paid" })
    solana.reorg(transaction.hash as Signature)
    expect(yield* received()).toBe(0n)
    expect(yield* chain.look(claim, transaction, units)).toEqual(next("resend"))
    yield* chain.broadcast(claim, transaction)
    solana.tick()
    expect(yield* chain.look(claim, transaction, units)).toMatchObject({ _tag: "Paid" })
    expect(yield* received()).toBe(BigInt(units))
  })

  it.effect("says never of what a reorganisation has undone and nobody sent again in time", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    solana.reorg(transaction.hash as Signature)
    solana.advance(slotsOfVerified)
    expect(yield* chain.look(claim, transaction, units)).toEqual(never)
  })

  it.effect("concludes nothing about a transaction whose signature is another's", function* () {
    const chain = chainOf()
    const one = yield* sent(chain)
    const other = yield* sent(chain, { instructions: [limit(), price(), transfer(), memo("other")] })
    solana.tick()
    const looked = chain.look(one.claim, { ...one.transaction, hash: other.transaction.hash }, units)
    expect(yield* Effect.flip(looked)).toBeInstanceOf(ChainUnavailable)
  })

  it.effect("finds a transaction whose signature was not told among those of the payer", function* () {
    const chain = chainOf()
    const unnamed = { hash: "", raw: "" }
    const { claim } = yield* signed(chain)
    const other = yield* sent(chain, { instructions: [limit(), price(), transfer(), memo("other")] })
    solana.tick()
    expect(yield* chain.look(claim, unnamed, units)).toEqual(next("resend"))
    expect(yield* chain.look(other.claim, unnamed, units)).toMatchObject({ _tag: "Paid", hash: other.transaction.hash })
    solana.advance(slotsOfVerified)
    expect(yield* chain.look(claim, unnamed, units)).toEqual(never)
  })

  it.effect(
    "judges a payment by its own token account, whatever address and fee payer are configured by now",
    function* () {
      const chain = chainOf()
      const moved = chainOf({ payTo: stranger.address })
      const { claim, transaction } = yield* signed(chain)
      expect(yield* Effect.flip(moved.verify(claim, units))).toMatchObject({ _tag: "PaymentInvalid" })
      yield* moved.verify(claim, units, { isJournalled: true })
      expect(yield* moved.sign(claim)).toEqual(transaction)
      yield* chain.broadcast(claim, transaction)
      solana.tick()
      const successor = chainOf({ payTo: stranger.address, operatorKey: Redacted.make(stranger.keyText) })
      expect(yield* successor.look(claim, transaction, units)).toMatchObject({ _tag: "Paid" })
    }
  )

  it.effect("credits nothing that the node's own balances contradict", function* () {
    const chain = chainOf()
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    const error = yield* Effect.flip(chain.look(claim, transaction, units + 1))
    expect(error.cause).toBe("getTransaction: the transaction moved 500000 units, not 500001")
  })
})

/** The node as it is, but for what it says to one method. */
const nodeThatSays = async (method: string, change: (result: Answer) => unknown) => {
  const server = createServer(async (request, response) => {
    const body = await new Response(Readable.toWeb(request)).text()
    const answered = await fetch(solana.rpcUrl, { method: "POST", headers: json, body })
    const answer = (await answered.json()) as { result: Answer }
    const isMeant = JSON.parse(body).method === method
    const told = isMeant ? { ...answer, result: change(answer.result) } : answer
    response.writeHead(200, json).end(JSON.stringify(told))
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, server }
}

interface Answer {
  readonly context: { readonly slot: number }
  readonly value: unknown
}

const json = { "content-type": "application/json" }

describe("a node that contradicts itself", () => {
  const contradictions: ReadonlyArray<readonly [string, string, (result: Answer) => unknown]> = [
    ["calls the blockhash valid still", "isBlockhashValid", (result) => ({ ...result, value: true })],
    [
      "looks for the signature in older blocks only",
      "getSignatureStatuses",
      ({ context, value }) => ({ context: { ...context, slot: context.slot - 1 }, value })
    ]
  ]
  it.effect.each(contradictions)("and %s fails no payment", function* ([, method, change]) {
    const { url, server } = yield* Effect.promise(() => nodeThatSays(method, change))
    const chain = chainOf({ rpcUrl: url })
    const { claim, transaction } = yield* signed(chain)
    solana.advance(slotsOfVerified)
    expect(yield* chain.look(claim, transaction, units)).toEqual(next("resend"))
    server.closeAllConnections()
    server.close()
  })
})

describe("a node that reports a payment as confirmed", () => {
  const blind: ReadonlyArray<readonly [string, (result: Answer) => unknown]> = [
    ["has no transaction of it", () => null],
    ["does not say what it moved", (result) => ({ ...result, meta: null })]
  ]
  it.effect.each(blind)("and %s has not shown that it is paid", function* ([, change]) {
    const { url, server } = yield* Effect.promise(() => nodeThatSays("getTransaction", change))
    const chain = chainOf({ rpcUrl: url })
    const { claim, transaction } = yield* sent(chain)
    solana.tick()
    expect(yield* Effect.flip(chain.look(claim, transaction, units))).toBeInstanceOf(ChainUnavailable)
    server.closeAllConnections()
    server.close()
  })
})

/** A chain on which nothing is confirmed for a minute. */
const slowToConfirm = async (): Promise<void> => {
  await faults.stop()
  await solana.stop()
  solana = await startSolanaChain({ confirmDelayMillis: 60_000 })
  solana.pause()
  solana.tick()
  faults = await startFaultyRpc(solana.rpcUrl)
  solana.airdrop(operator.address, lamports)
  await solana.setTokenBalance(payer.address, startUnits)
  await solana.setTokenBalance(payTo.address, 0n)
}
