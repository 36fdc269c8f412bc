/**
 * Payments that must not be taken: wrong amounts, headers that are no payments, and every way to bend a
 * real one, signed for real, on both local chains. After each: nothing claimed, no fee spent, no money
 * moved, and the answer says how to pay.
 */
import { createPublicClient, http, type Hex, toHex } from "viem"
import { AccountRole, createSolanaRpc, type Instruction } from "@solana/kit"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { systemProgram } from "../../scripts/devchains/SolanaVm.ts"
import { evmAddresses, evmKeys } from "../../scripts/devchains/Wallets.ts"
import {
  type Depositor,
  encodeHeader,
  expectMoneyConserved,
  newDepositor,
  newPayer,
  paymentHeader,
  paymentsOf
} from "../support/PaymentCalls.ts"
import { missingChains, type PaymentChains, startPaymentChains, type TestNetwork } from "../support/PaymentChains.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { cancel, malleated, nobody, nowSeconds, payloadFor, submitAs } from "../component/payments/evm/EvmPayments.ts"
import {
  limit,
  memo,
  operator,
  operatorHolding,
  payer as solanaPayer,
  paymentOf,
  type PaymentParts,
  price,
  stranger,
  strangerHolding,
  transfer,
  type TransferParts,
  withBytes
} from "../unit/payments/svm/SvmPayments.ts"

type Headers = Readonly<Record<string, string>>

const usd = 5
const units = 5_000_000

describe.skipIf(missingChains !== "")(`a payment is refused${missingChains}`, () => {
  let chains: PaymentChains
  let server: TestServer
  let who: Depositor
  beforeAll(async () => {
    chains = await startPaymentChains()
    server = await startServer({ environment: chains.environment })
    await chains.fund("base-sepolia", evmAddresses.payer, 1_000_000_000n)
    await chains.fund("solana-devnet", solanaPayer.address, 1_000_000_000n)
    await chains.fund("solana-devnet", operator.address, 1_000_000_000n)
    await chains.fund("solana-devnet", stranger.address, 0n)
    who = await newDepositor(server)
  })
  afterAll(async () => {
    await server.stop()
    await chains.stop()
  })

  /** Wei and lamports of the operator's wallets. */
  const operatorFunds = async () => [
    await createPublicClient({ transport: http(chains.evm.rpcUrl) }).getBalance({ address: evmAddresses.operator }),
    (await createSolanaRpc(chains.solana.rpcUrl).getBalance(operator.address).send()).value
  ]
  let funds: ReadonlyArray<bigint>
  let known: number
  beforeEach(async () => {
    funds = await operatorFunds()
    known = (await paymentsOf(server)).length
  })
  afterEach(async () => {
    expect(await operatorFunds()).toEqual(funds)
    expect(await paymentsOf(server)).toHaveLength(known)
    await expectMoneyConserved(server, chains)
  })

  const expectRefused = async (headers: Headers, reason: RegExp = /^the payment was refused: /) => {
    const { body, headers: answered, status } = await who.deposit(usd, headers)
    expect([status, body.code], JSON.stringify(body)).toEqual([402, "payment_invalid"])
    expect(body.error).toMatch(reason)
    expect(body.accepts).toHaveLength(2)
    expect(answered.get("payment-required")).not.toBeNull()
    expect([answered.get("x-payment-response"), answered.get("payment-response")]).toEqual([null, null])
  }

  describe("for its amount:", () => {
    const amounts = ["0.09", "0", "-5", "1000.01", "1e9", "5.001", "0.1000001", "abc", "5,00", "$5", "NaN", "Infinity"]
    const justOutOfRange = ["1000.0000000000001", "0.09999999999"]
    it.each([...amounts, ...justOutOfRange, "", "%20", "5&amount_usd=6"])("%j is 400, paid or not", async (query) => {
      const code = query.includes("&") ? "invalid_request" : "invalid_amount"
      const paid = paymentHeader("base-sepolia", await payloadFor(chains.evm))
      for (const headers of [{}, paid]) {
        const { body, status } = await who.deposit(query, headers)
        expect([status, body.code], JSON.stringify(body)).toEqual([400, code])
      }
    })
  })

  describe("for its header:", () => {
    const envelope = { x402Version: 1, scheme: "exact", network: "base-sepolia" }
    const malformed: ReadonlyArray<readonly [string, string]> = [
      ["nothing", ""],
      ["text that is no Base64", "please!"],
      ["Base64 of no JSON", Buffer.from("{").toString("base64")],
      ["Base64 of no UTF-8", Buffer.from([0xff, 0xfe, 0xfd]).toString("base64")],
      ["JSON that is no object", encodeHeader([])],
      ["null", encodeHeader(null)],
      ["an object without anything", encodeHeader({})],
      ["another version", encodeHeader({ ...envelope, x402Version: 3, payload: {} })],
      ["another scheme", encodeHeader({ ...envelope, scheme: "upto", payload: {} })],
      ["an unknown network", encodeHeader({ ...envelope, network: "tron", payload: {} })],
      ["no payload", encodeHeader(envelope)],
      ["a payload of another network", encodeHeader({ ...envelope, payload: { transaction: "AQ==" } })],
      ["JSON of a thousand levels", Buffer.from("[".repeat(1_000) + "]".repeat(1_000)).toString("base64")],
      ["a member twice", Buffer.from('{"x402Version":1,"x402Version":1}').toString("base64")],
      ["a prototype", Buffer.from('{"__proto__":{"x402Version":1}}').toString("base64")],
      ["twelve thousand characters", "A".repeat(12_000)]
    ]
    it.each(malformed)("%s", async (_, text) => {
      await expectRefused({ "x-payment": text })
      await expectRefused({ "payment-signature": text })
    })

    it("a real one, cut off anywhere", async () => {
      const payer = await newPayer(chains, "base-sepolia")
      const [[name, whole]] = Object.entries(await who.sign(payer, usd)) as [[string, string]]
      for (const share of [0.1, 0.5, 0.9, 0.99]) {
        await expectRefused({ [name]: whole.slice(0, Math.floor(whole.length * share)) })
      }
    })

    it("one that is larger than a request's headers may be is not even read", async () => {
      const { status } = await who.deposit(usd, { "x-payment": "A".repeat(40_000) })
      expect([402, 431]).toContain(status)
    })
  })

  describe("on EVM:", () => {
    type Bent = Parameters<typeof payloadFor>[1]
    const evm = async (bent: Bent, network: string = "base-sepolia") =>
      paymentHeader(network as TestNetwork, await payloadFor(chains.evm, { value: BigInt(units), ...bent }))
    const inSeconds = (seconds: number) => BigInt(nowSeconds() + seconds)

    const bends: ReadonlyArray<readonly [string, () => NonNullable<Bent>, RegExp]> = [
      ["a cent less", () => ({ value: 4_990_000n }), /exactly 5000000/],
      ["a millionth more", () => ({ value: 5_000_001n }), /exactly 5000000/],
      ["nothing", () => ({ value: 0n }), /exactly 5000000/],
      ["another payee", () => ({ to: nobody }), /authorization.to/],
      ["an expired one", () => ({ validBefore: inSeconds(-1) }), /expired/],
      ["one about to expire", () => ({ validBefore: inSeconds(4) }), /expired/],
      ["one for later", () => ({ validAfter: inSeconds(600), validBefore: inSeconds(900) }), /not valid yet/],
      ["one for years", () => ({ validBefore: inSeconds(100_000_000) }), /must expire/],
      ["another chain", () => ({ domain: { chainId: 8453 } }), /not the payer's/],
      ["another token's name", () => ({ domain: { name: "USD Coin" } }), /not the payer's/],
      ["another key", () => ({ key: evmKeys.admin, from: evmAddresses.payer }), /not the payer's/],
      ["an empty wallet", () => ({ key: evmKeys.admin, from: evmAddresses.admin }), /balance is too low/],
      ["our own wallet", () => ({ key: evmKeys.payTo, from: evmAddresses.payTo }), /the payer is the receiver/]
    ]
    it.each(bends)("%s", async (_, bent, reason) => expectRefused(await evm(bent()), reason))

    it("another token", async () => {
      const usdc = { ...chains.evm.usdc, address: nobody }
      const payload = await payloadFor({ ...chains.evm, usdc }, { value: BigInt(units) })
      await expectRefused(paymentHeader("base-sepolia", payload), /not the payer's/)
    })

    it.each(["base", "solana-devnet", "solana"])("one that is said to be on %s", async (network) =>
      expectRefused(await evm({}, network))
    )

    it("a signature in its other spelling, and one of noise", async () => {
      const payload = await payloadFor(chains.evm, { value: BigInt(units) })
      const signatures = [malleated(payload.signature), `0x${"5a".repeat(65)}`, "0x", `0x${"00".repeat(3_000)}`]
      for (const signature of signatures) await expectRefused(paymentHeader("base-sepolia", { ...payload, signature }))
    })

    it("one that the payer has cancelled", async () => {
      const nonce: Hex = toHex(7, { size: 32 })
      await cancel(chains.evm, nonce)
      await expectRefused(await evm({ nonce }), /used or cancelled/)
    })

    it("a nonce that another authorisation of the payer has used", async () => {
      const nonce: Hex = toHex(8, { size: 32 })
      await submitAs(chains.evm, evmAddresses.admin, await payloadFor(chains.evm, { to: nobody, value: 1n, nonce }))
      await expectRefused(await evm({ nonce }), /used or cancelled/)
    })
  })

  describe("on Solana:", () => {
    const latestBlockhash = async () =>
      (await createSolanaRpc(chains.solana.rpcUrl).getLatestBlockhash().send()).value.blockhash
    const svm = async (parts: PaymentParts) => paymentOf({ blockhash: await latestBlockhash(), ...parts })
    const good = (parts: TransferParts = {}) => transfer({ amount: units, ...parts })
    /** A coin of ours to a stranger. */
    const drain: Instruction = {
      programAddress: systemProgram,
      accounts: [
        { address: operator.address, role: AccountRole.WRITABLE_SIGNER },
        { address: stranger.address, role: AccountRole.WRITABLE }
      ],
      data: new Uint8Array([2, 0, 0, 0, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0])
    }

    const bends: ReadonlyArray<readonly [string, () => PaymentParts, RegExp]> = [
      ["a cent less", () => ({ instructions: [limit(), price(), good({ amount: 4_990_000 })] }), /amount/],
      ["a millionth more", () => ({ instructions: [limit(), price(), good({ amount: units + 1 })] }), /amount/],
      ["another payee", () => ({ instructions: [limit(), price(), good({ destination: strangerHolding })] }), /token/],
      ["another mint", () => ({ instructions: [limit(), price(), good({ mint: stranger.address })] }), /mint/],
      ["other decimals", () => ({ instructions: [limit(), price(), good({ decimals: 9 })] }), /decimals/],
      ["another fee payer", () => ({ feePayer: stranger.address, signers: [solanaPayer.signer] }), /fee payer/],
      ["no compute limit", () => ({ instructions: [price(), good()] }), /instructions/],
      ["only a transfer", () => ({ instructions: [good()] }), /instructions/],
      ["no transfer", () => ({ instructions: [limit(), price(), memo("paid")], signers: [] }), /TransferChecked/],
      ["two transfers", () => ({ instructions: [limit(), price(), good(), good()] }), /Memo nor Lighthouse/],
      ["our coins on the way", () => ({ instructions: [limit(), price(), good(), drain] }), /Memo nor Lighthouse/],
      ["our coins instead", () => ({ instructions: [limit(), price(), drain], signers: [] }), /TransferChecked/],
      ["an extreme price", () => ({ instructions: [limit(), price(4_000_000_000), good()] }), /compute price/],
      ["an extreme limit", () => ({ instructions: [limit(1_400_000), price(), good()] }), /compute limit/],
      ["a costly product", () => ({ instructions: [limit(400_000), price(5_000_000), good()] }), /priority fee/],
      [
        "eight instructions",
        () => ({ instructions: [limit(), price(), good(), ...[1, 2, 3, 4, 5].map((n) => memo(String(n)))] }),
        /instructions/
      ],
      [
        "our own USDC",
        () => ({
          instructions: [limit(), price(), good({ source: operatorHolding, authority: operator.signer })],
          signers: []
        }),
        /fee payer/
      ],
      ["no signature", () => ({ instructions: [limit(), price(), good()], signers: [] }), /signature/],
      [
        "a wallet with nothing in it",
        () => ({
          instructions: [limit(), price(), good({ source: strangerHolding, authority: stranger.signer })],
          signers: [stranger.signer]
        }),
        /balance/
      ]
    ]
    it.each(bends)("%s", async (_, parts, reason) =>
      expectRefused(paymentHeader("solana-devnet", await svm(parts())), reason)
    )

    it("a signature of other bytes", async () => {
      const payload = withBytes(await svm({ instructions: [limit(), price(), good(), memo("one")] }), (bytes) =>
        bytes.map((byte, at) => (at === bytes.length - 3 ? byte ^ 1 : byte))
      )
      await expectRefused(paymentHeader("solana-devnet", payload), /signature/)
    })

    it("bytes that are no transaction", async () => {
      for (const transaction of ["", "AQ==", "A".repeat(4_000), "not base64"]) {
        await expectRefused(paymentHeader("solana-devnet", { transaction }))
      }
    })

    it("a blockhash that has run out", async () => {
      const payload = await svm({ instructions: [limit(), price(), good()] })
      chains.solana.advance(151)
      await expectRefused(paymentHeader("solana-devnet", payload), /blockhash/)
    })
  })
})
