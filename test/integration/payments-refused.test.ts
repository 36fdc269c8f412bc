/**
 * Payments that must not be taken: wrong amounts, headers that are no payments, and every way to bend a
 * real one, signed for real, on both local chains. After each: nothing claimed, no fee spent, no money
 * moved, and the answer says how to pay.
 */
import { createPublicClient, http, type Hex, toHex } from "viem"
import { AccountRole, createSolanaRpc, type Instruction } from "@solana/kit"
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
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
import { missingChains, type TestNetwork, useChains } from "../support/PaymentChains.ts"
import { refusalOf } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { nobody, nowSeconds, payloadFor, submitAs } from "../component/payments/evm/EvmPayments.ts"
import {
  limit,
  operator,
  operatorHolding,
  payer as solanaPayer,
  paymentOf,
  type PaymentParts,
  price,
  stranger,
  strangerHolding,
  transfer,
  type TransferParts
} from "../unit/payments/svm/SvmPayments.ts"

type Headers = Readonly<Record<string, string>>

const usd = 5
const units = 5_000_000

describe.skipIf(missingChains !== "")(`a payment is refused${missingChains}`, () => {
  const chains = useChains()
  const server = useServer(() => ({ environment: chains.environment }))
  let who: Depositor
  beforeAll(async () => {
    await chains.fund("base-sepolia", evmAddresses.payer, 1_000_000_000n)
    await chains.fund("solana-devnet", solanaPayer.address, 1_000_000_000n)
    await chains.fund("solana-devnet", operator.address, 1_000_000_000n)
    await chains.fund("solana-devnet", stranger.address, 0n)
    who = await newDepositor(server)
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
        expect(refusalOf(await who.deposit(query, headers))).toEqual([400, code])
      }
    })
  })

  describe("for its header:", () => {
    const envelope = { x402Version: 1, scheme: "exact", network: "base-sepolia" }
    const malformed: ReadonlyArray<readonly [string, string]> = [
      ["nothing", ""],
      ["text that is no Base64", "please!"],
      ["another version", encodeHeader({ ...envelope, x402Version: 3, payload: {} })],
      ["a payload of another network", encodeHeader({ ...envelope, payload: { transaction: "AQ==" } })],
      ["JSON of a thousand levels", Buffer.from("[".repeat(1_000) + "]".repeat(1_000)).toString("base64")],
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
      ["another payee", () => ({ to: nobody }), /authorization.to/],
      ["an expired one", () => ({ validBefore: inSeconds(-1) }), /expired/],
      ["another key", () => ({ key: evmKeys.admin, from: evmAddresses.payer }), /not the payer's/],
      ["an empty wallet", () => ({ key: evmKeys.admin, from: evmAddresses.admin }), /balance is too low/]
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
      ["another payee", () => ({ instructions: [limit(), price(), good({ destination: strangerHolding })] }), /token/],
      ["our coins on the way", () => ({ instructions: [limit(), price(), good(), drain] }), /Memo nor Lighthouse/],
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

    it("bytes that are no transaction", async () => {
      for (const transaction of ["", "AQ==", "A".repeat(4_000), "not base64"]) {
        await expectRefused(paymentHeader("solana-devnet", { transaction }))
      }
    })
  })
})
