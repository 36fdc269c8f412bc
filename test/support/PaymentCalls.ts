/**
 * Payers with the unmodified stock clients of both protocol versions, accounts that deposit, and the
 * proof that is due after every case: money is neither lost nor made.
 */
import { createKeyPairSignerFromPrivateKeyBytes } from "@solana/kit"
import { ExactEvmScheme } from "@x402/evm"
import { ExactSvmScheme } from "@x402/svm/exact/client"
import { wrapFetchWithPayment as wrapV2, x402Client } from "@x402/fetch"
import { createHash } from "node:crypto"
import type { Hex } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { expect } from "vitest"
import { wrapFetchWithPayment as wrapV1 } from "x402-fetch"
import { paymentNetworks } from "@muniment/domain/Payment"
import { evmSigner, solanaSigner, type WalletSigner } from "@muniment/trust/WalletSigner"
import { type PaymentChains, type TestNetwork, testNetworks } from "./PaymentChains.ts"
import { type Answer, type CallOptions, patienceMillis, type ServerCalls } from "./TestServer.ts"

/** Of the protocol: `x402-fetch` speaks 1, `@x402/fetch` speaks 2. */
export type ProtocolVersion = 1 | 2
export const protocolVersions: ReadonlyArray<ProtocolVersion> = [1, 2]

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>

export interface Payer {
  readonly network: TestNetwork
  readonly address: string
  /** EVM: the private key. Solana: the seed, in hex as well. */
  readonly key: Hex
  /** The stock client around `fetch`, which answers a 402 by a payment of any amount. */
  readonly paying: (version: ProtocolVersion, fetch?: typeof globalThis.fetch) => Fetch
}

export const unitsPerUsd = 1_000_000
const microCreditsPerUnit = 1_000
const fundedUsdDefault = 10_000
const spendableUnits = 100_000n * BigInt(unitsPerUsd)

let payerCount = 0

/** A wallet of its own with USDC in it; without coins for fees, which are ours to pay. */
export const newPayer = async (
  chains: PaymentChains,
  network: TestNetwork,
  fundedUsd = fundedUsdDefault
): Promise<Payer> => {
  const key: Hex = `0x${createHash("sha256").update(`payer ${++payerCount}`).digest("hex")}`
  const payer = network === "base-sepolia" ? evmPayer(key) : await solanaPayer(key, chains.solana.rpcUrl)
  await chains.fund(network, payer.address, BigInt(Math.round(fundedUsd * unitsPerUsd)))
  return payer
}

const evmPayer = (key: Hex): Payer => {
  const account = privateKeyToAccount(key)
  const v2 = x402Client.fromConfig({
    schemes: [{ network: paymentNetworks["base-sepolia"].caip2, client: new ExactEvmScheme(account) }],
    spendControls: false
  })
  return {
    network: "base-sepolia",
    address: account.address,
    key,
    paying: (version, fetch = globalThis.fetch) =>
      version === 1 ? wrapV1(fetch, account, spendableUnits) : wrapV2(fetch, v2)
  }
}

const solanaPayer = async (key: Hex, rpcUrl: string): Promise<Payer> => {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(Buffer.from(key.slice(2), "hex")))
  const v2 = x402Client.fromConfig({
    schemes: [{ network: paymentNetworks["solana-devnet"].caip2, client: new ExactSvmScheme(signer, { rpcUrl }) }],
    spendControls: false
  })
  return {
    network: "solana-devnet",
    address: signer.address,
    key,
    paying: (version, fetch = globalThis.fetch) =>
      version === 1 ? wrapV1(fetch, signer, spendableUnits, undefined, { svmConfig: { rpcUrl } }) : wrapV2(fetch, v2)
  }
}

/** The payer as a caller that signs its requests. */
export const payerSigner = ({ key, network }: Payer): WalletSigner =>
  network === "base-sepolia" ? evmSigner(key) : solanaSigner(new Uint8Array(Buffer.from(key.slice(2), "hex")))

/** An account of the service that deposits. */
export interface Depositor {
  readonly name: string
  readonly secret: string
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  /** Without payment headers it answers 402. `query`: as it stands in the URL. */
  readonly deposit: (query: string | number, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  /**
   * What the stock client would send for a deposit of so many dollars: asked for and signed, not sent.
   * The header is good for any number of calls, by anybody.
   */
  readonly sign: (payer: Payer, usd: number, version?: ProtocolVersion) => Promise<Readonly<Record<string, string>>>
  /** Paid balance in credits. */
  readonly balance: () => Promise<number>
}

export const depositPath = (usd: string | number): string => `/v1/credits/deposit?amount_usd=${usd}`

/** An account under the name given, made or known before: `secret` is its key. */
export const depositor = (server: ServerCalls, name: string, secret: string): Depositor => {
  const call: Depositor["call"] = (method, path, options) => server.call(method, path, { key: secret, ...options })
  return {
    name,
    secret,
    call,
    deposit: (query, headers = {}) => call("POST", depositPath(query), { headers }),
    sign: (payer, usd, version = 2) => signedHeaders(payer, version, `${server.url}${depositPath(usd)}`, secret),
    balance: async () => (await call("GET", "/v1/credits")).body.balance.credits
  }
}

let depositorCount = 0

export const newDepositor = async (server: ServerCalls, plan = "free"): Promise<Depositor> => {
  const name = `depositor-${++depositorCount}`
  return depositor(server, name, await server.newAccount(name, plan))
}

const paymentHeaderNames = new Set(["x-payment", "payment-signature"])

/** Runs the stock client up to the request that carries the payment, which stays here. */
const signedHeaders = async (
  payer: Payer,
  version: ProtocolVersion,
  url: string,
  secret: string
): Promise<Readonly<Record<string, string>>> => {
  let signed: Readonly<Record<string, string>> | undefined
  const capture: typeof globalThis.fetch = (input, init) => {
    const { headers } = new Request(input, init)
    const payment = [...headers].filter(([name]) => paymentHeaderNames.has(name))
    if (payment.length === 0) return fetch(input, init)
    signed = Object.fromEntries(payment)
    return Promise.resolve(Response.json({}))
  }
  const request = { method: "POST", headers: { authorization: `Bearer ${secret}` } }
  const last = await payer.paying(version, capture)(url, request)
  if (signed === undefined) {
    throw new Error(`the client signed no payment on ${payer.network} after ${last.status}: ${await last.text()}`)
  }
  return signed
}

/** The JSON inside a payment header, or inside the header that confirms one. */
export const decodeHeader = (text: string | null): Answer["body"] =>
  JSON.parse(Buffer.from(text ?? "", "base64").toString("utf8"))

export const encodeHeader = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString("base64")

/** A header of version 1 around a payload made by hand. */
export const paymentHeader = (network: TestNetwork, payload: unknown): Readonly<Record<string, string>> => ({
  "x-payment": encodeHeader({ x402Version: 1, scheme: "exact", network, payload })
})

/** An account of its own, and a payment for it that is signed and not sent. */
export const signedDeposit = async (server: ServerCalls, chains: PaymentChains, network: TestNetwork, usd = 1) => {
  const payer = await newPayer(chains, network)
  const who = await newDepositor(server)
  return { payer, who, payment: await who.sign(payer, usd) }
}

/** Its one deposit, nothing of it spent; 0: none yet. */
export const expectCredited = async (who: Depositor, credits: number): Promise<void> => {
  const { body } = await who.call("GET", "/v1/credits/transactions")
  const expected = credits === 0 ? [] : [{ kind: "deposit", purse: "balance", credits }]
  expect(body.transactions).toMatchObject(expected)
  expect(await who.balance()).toBe(credits)
}

/** The answer that makes nobody pay twice. */
export const expectUnknown = ({ body, headers, status }: Answer): void => {
  expect([status, body.code], JSON.stringify(body)).toEqual([202, "payment_pending"])
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
  expect([headers.get("x-payment-response"), headers.get("payment-response")]).toEqual([null, null])
}

/** As a good client, but faster: the same request with the same payment until the outcome is known. */
export const untilKnown = async (ask: () => Promise<Answer>): Promise<Answer> => {
  const deadline = Date.now() + patienceMillis
  for (let answer = await ask(); ; answer = await ask()) {
    if (answer.status !== 202 || Date.now() > deadline) return answer
    expectUnknown(answer)
  }
}

/** A row of the operator's list. */
export interface PaymentRow {
  readonly id: string
  readonly account: string
  readonly network: string
  readonly payer: string
  readonly amountUsd: number
  readonly state: string
  readonly transaction: string | null
  readonly createdAt: number
}

const shownPaymentsMax = 1_000

/** All payments; newest first. */
export const paymentsOf = async (server: ServerCalls): Promise<ReadonlyArray<PaymentRow>> => {
  const path = `/admin/payments?limit=${shownPaymentsMax}`
  const { body } = await server.asOperator("GET", path)
  expect(body.payments.length).toBeLessThan(shownPaymentsMax)
  return body.payments
}

const unfinishedStates = new Set(["verified", "broadcasting"])

/** Lets the server look at the chains now; -> how many payments are still neither credited nor failed. */
export const reconcile = async (server: ServerCalls): Promise<number> => {
  const { body, status } = await server.asOperator("POST", "/admin/payments/reconcile")
  expect(status, JSON.stringify(body)).toBe(200)
  return (await paymentsOf(server)).filter(({ state }) => unfinishedStates.has(state)).length
}

export interface Conservation {
  /** Payments that the case leaves without an outcome; default 0. */
  readonly unfinished?: number
  /** Credits that the operator gave, all accounts together. */
  readonly given?: number
}

const reconcileRoundsMax = 1_000
const reconcilePauseMillis = 100

/**
 * After every case: what the chains say that we got is what the ledger has, every payment stands behind
 * one deposit and every deposit behind a payment, and no purse holds more than came in. Reconciles
 * for a while, as long as payments are open or the chains say something else.
 */
export const expectMoneyConserved = async (
  server: ServerCalls,
  chains: PaymentChains,
  { given = 0, unfinished = 0 }: Conservation = {}
): Promise<void> => {
  for (let round = 0; round < reconcileRoundsMax && !(await isAtRest(server, chains, unfinished)); round++) {
    if (round > 0) await new Promise((wake) => setTimeout(wake, reconcilePauseMillis))
    // As on any chain that lives; what failed is certain by a second block only.
    if (round > 0) await chains.evm.mine()
    await reconcile(server)
  }
  const payments = await paymentsOf(server)
  const open = payments.filter(({ state }) => unfinishedStates.has(state))
  expect(open.length, JSON.stringify(open)).toBe(unfinished)

  const { body: proof } = await server.asOperator("GET", "/admin/ledger/check")
  expect({ ok: proof.ok, problems: proof.problems }).toEqual({ ok: true, problems: [] })
  const totals = new Map<string, { readonly debits: number; readonly credits: number }>(
    proof.balances.map((row: { readonly name: string }) => [row.name, row])
  )
  for (const network of testNetworks) {
    const { credits, debits } = totals.get(`asset:usdc:${network}`) ?? nothing
    expect({
      network,
      received: await chains.received(network),
      ledger: (debits - credits) / microCreditsPerUnit
    }).toEqual({ network, received: keptUnits(payments, network), ledger: keptUnits(payments, network) })
  }
  expectPursesFilledByPayments(payments, totals, given)
}

/** Whether journal and chains agree. */
const isAtRest = async (server: ServerCalls, chains: PaymentChains, unfinished: number): Promise<boolean> => {
  const payments = await paymentsOf(server)
  const open = payments.filter(({ state }) => unfinishedStates.has(state))
  const received = await Promise.all(testNetworks.map(chains.received))
  return open.length <= unfinished && testNetworks.every((network, at) => keptUnits(payments, network) === received[at])
}

const nothing = { debits: 0, credits: 0 }
/** The money is with us. */
const keptStates = new Set(["settled", "finalized"])
/** It was credited, whatever came later. */
const creditedStates = new Set([...keptStates, "reversed"])

const keptUnits = (payments: ReadonlyArray<PaymentRow>, network: TestNetwork): number =>
  unitsOf(payments, (payment) => payment.network === network && keptStates.has(payment.state))

const unitsOf = (payments: ReadonlyArray<PaymentRow>, isMeant: (payment: PaymentRow) => boolean): number =>
  payments.filter(isMeant).reduce((sum, { amountUsd }) => sum + Math.round(amountUsd * unitsPerUsd), 0)

const expectPursesFilledByPayments = (
  payments: ReadonlyArray<PaymentRow>,
  totals: ReadonlyMap<string, { readonly debits: number; readonly credits: number }>,
  given: number
): void => {
  const prefix = "liability:credits:"
  let filled = 0
  for (const [name, { credits, debits }] of totals) {
    if (!name.startsWith(prefix)) continue
    expect(debits, name).toBeLessThanOrEqual(credits)
    const account = name.slice(prefix.length)
    const paid = unitsOf(payments, (one) => one.account === account && creditedStates.has(one.state))
    if (given === 0) expect({ name, credits }).toEqual({ name, credits: paid * microCreditsPerUnit })
    filled += credits
  }
  const paid = unitsOf(payments, ({ state }) => creditedStates.has(state))
  expect(filled).toBe(paid * microCreditsPerUnit + given * 1_000_000)
}
