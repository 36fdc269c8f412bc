/** `deposit` over the real wire format: what is shown, what is signed, and that it is signed once. */
import { paymentNetworks } from "@muniment/domain/Payment"
import { ed25519Verify } from "@muniment/trust/Ed25519"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { verifyWalletRequest } from "@muniment/trust/WalletRequest"
import { getAddressEncoder, getTransactionDecoder } from "@solana/kit"
import { Effect } from "effect"
import { getAddress, type Hex, verifyTypedData } from "viem"
import { describe, expect, it } from "vitest"
import { startSolanaChain } from "../../../scripts/devchains/SolanaChain.ts"
import { solanaSeeds, solanaWallet } from "../../../scripts/devchains/Wallets.ts"
import type { WireAnswer, WireRequest } from "../client/WireServer.ts"
import { evm, evmKey, KeyFiles, solanaKey } from "./KeyFiles.ts"
import { type CliRun, ok, refused, runCli, type Typist } from "./runCli.ts"

const payTo = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
const evmUsdc = paymentNetworks["base-sepolia"].usdc
const entry = {
  scheme: "exact",
  network: "base-sepolia",
  maxAmountRequired: "500000",
  resource: "http://127.0.0.1/v1/credits/deposit",
  description: "500 credits for 0.50 USD",
  mimeType: "application/json",
  payTo,
  maxTimeoutSeconds: 60,
  asset: evmUsdc,
  extra: { name: "USDC", version: "2" }
}
const demand = (...accepts: ReadonlyArray<object>): WireAnswer => ({
  status: 402,
  body: { x402Version: 1, error: "payment is required", accepts, code: "payment_required" }
})
const pending: WireAnswer = {
  ...refused(202, "payment_pending", "the payment was accepted and is being processed"),
  headers: { "retry-after": "0" }
}
const base64Of = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64")
const done: WireAnswer = {
  ...ok({
    deposit: { amount_usd: 0.5, credits: 500 },
    balance: { credits: 1_250, usd: 1.25 },
    message: "500 credits were added."
  }),
  headers: {
    "payment-response": base64Of({ success: true, transaction: "0xfeed", network: "eip155:84532", payer: "0x1" })
  }
}

const inTurn =
  (...answers: ReadonlyArray<WireAnswer>) =>
  (_: WireRequest, index: number) =>
    answers[Math.min(index, answers.length - 1)]

interface Settings {
  readonly answer: (request: WireRequest, index: number) => WireAnswer | undefined
  /** Text of the key file. */
  readonly key?: string
  readonly flags?: ReadonlyArray<string>
  readonly network?: string
  readonly amount?: string
  readonly typist?: Typist
}

const deposit = async (settings: Settings): Promise<CliRun> => {
  using files = new KeyFiles()
  const { amount = "0.5", flags = ["--yes"], key = evmKey, network = "base-sepolia" } = settings
  const file = files.write("payer.key", key)
  return await runCli(
    (url) => ["deposit", "--amount", amount, "--network", network, "--key-file", file, "--url", url, ...flags],
    settings.answer,
    settings.typist
  )
}

const signatureOf = ({ headers }: WireRequest): string | undefined => headers["payment-signature"]?.toString()
const payloadOf = (request: WireRequest) =>
  JSON.parse(Buffer.from(signatureOf(request) ?? "", "base64").toString("utf8"))

type Authorization = { readonly [name in "from" | "to" | "nonce"]: Hex } & {
  readonly [name in "value" | "validAfter" | "validBefore"]: string
}

/** As the token contract verifies EIP-3009 (the domain is that of USDC on Base Sepolia). */
const isSignedBy = (address: Hex, { authorization, signature }: { authorization: Authorization; signature: Hex }) =>
  verifyTypedData({
    address,
    domain: { name: "USDC", version: "2", chainId: 84_532, verifyingContract: getAddress(evmUsdc) },
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
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore)
    },
    signature
  })

describe("deposit with an EVM key", () => {
  it("signs one authorization that the token would take, and repeats it until the service knows", async () => {
    const run = await deposit({ answer: inTurn(demand(entry), pending, pending, done) })
    expect(run.err).not.toContain("ERROR")
    expect(run.isSuccess).toBe(true)
    expect(run.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(4).fill("POST /v1/credits/deposit?amount_usd=0.5")
    )
    const [first, ...paid] = run.requests.map(signatureOf)
    expect(first).toBeUndefined()
    expect(new Set(paid).size).toBe(1)
    const { accepted, payload, x402Version } = payloadOf(run.requests[1]!)
    expect({ x402Version, network: accepted.network }).toEqual({ x402Version: 2, network: "eip155:84532" })
    expect(payload.authorization).toMatchObject({ to: getAddress(payTo), value: "500000" })
    expect(await isSignedBy(getAddress(evm.wallet.address), payload)).toBe(true)
  })

  it("prints deposit, balance and transaction", async () => {
    const { out } = await deposit({ answer: inTurn(demand(entry), done) })
    expect(out).toBe(
      [
        "deposit      500 credits for 0.50 USD",
        "balance      1250 credits (1.25 USD)",
        "transaction  0xfeed on eip155:84532"
      ].join("\n")
    )
  })

  it("shows what is paid, to whom and where, and who is credited", async () => {
    const { err } = await deposit({ answer: inTurn(demand(entry), done) })
    for (const shown of ["0.50 USD", "base-sepolia", payTo, evmUsdc, evm.wallet.address, "account of this wallet"]) {
      expect(err).toContain(shown)
    }
  })

  it("authenticates as the wallet, so that the wallet's own account is credited", async () => {
    const { requests } = await deposit({ answer: inTurn(demand(entry), done) })
    for (const { headers, method, url } of requests) {
      const outcome = await Effect.runPromise(
        verifyWalletRequest({
          method,
          url,
          body: new Uint8Array(),
          headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
          versionPrefix: "/v1",
          audience: {
            name: undefined,
            isOwn: (origin) => origin === `http://${String(headers["host"])}`,
            isRequired: true
          }
        }).pipe(Effect.provide(SignatureVerifier.layer))
      )
      expect(outcome).toEqual({ _tag: "Verified", wallet: evm.wallet })
    }
  })

  it("credits another account by its API key", async () => {
    const { err, requests } = await deposit({
      answer: inTurn(demand(entry), done),
      flags: ["--yes", "--api-key", "mun_alice"]
    })
    expect(requests.map(({ headers }) => headers["authorization"])).toEqual(Array(2).fill("Bearer mun_alice"))
    expect(err).toContain("account of the API key")
  })

  it("--json prints the service's answer with the receipt", async () => {
    const { out } = await deposit({ answer: inTurn(demand(entry), done), flags: ["--yes", "--json"] })
    expect(JSON.parse(out)).toMatchObject({ deposit: { credits: 500 }, receipt: { transaction: "0xfeed" } })
  })

  it.each(["0.29", "1.1", "1000"])("pays %s dollars to the unit", async (amount) => {
    const units = String(Math.round(Number(amount) * 1_000_000))
    const run = await deposit({ amount, answer: inTurn(demand({ ...entry, maxAmountRequired: units }), done) })
    expect(run.isSuccess).toBe(true)
    expect(payloadOf(run.requests[1]!).payload.authorization.value).toBe(units)
  })
})

describe("deposit with a Solana key", () => {
  it("signs the transaction that the service's fee payer completes", async () => {
    const chain = await startSolanaChain({ port: 0 })
    try {
      const [payer, operator, merchant] = await Promise.all([
        solanaWallet(solanaSeeds.payer),
        solanaWallet(solanaSeeds.operator),
        solanaWallet(solanaSeeds.payTo)
      ])
      await chain.setTokenBalance(payer.address, 1_000_000n)
      const offer = {
        ...entry,
        network: "solana-devnet",
        payTo: merchant.address,
        asset: chain.usdc,
        extra: { feePayer: operator.address }
      }
      const run = await deposit({
        key: JSON.stringify([...payer.keyBytes]),
        network: "solana-devnet",
        flags: ["--yes", "--solana-rpc", chain.rpcUrl],
        answer: inTurn(demand(entry, offer), pending, done)
      })
      expect(run.err).not.toContain("ERROR")
      expect(new Set(run.requests.slice(1).map(signatureOf)).size).toBe(1)
      const { payload } = payloadOf(run.requests[1]!)
      const signed = getTransactionDecoder().decode(Buffer.from(payload.transaction, "base64"))
      expect(Object.keys(signed.signatures)[0]).toBe(operator.address)
      const signature = signed.signatures[payer.address]!
      const publicKey = new Uint8Array(getAddressEncoder().encode(payer.address))
      expect(ed25519Verify(new Uint8Array(signature), new Uint8Array(signed.messageBytes), publicKey)).toBe(true)
    } finally {
      await chain.stop()
    }
  })

  it("says so when the key is of the other family, and signs nothing", async () => {
    const run = await deposit({ key: solanaKey, answer: inTurn(demand(entry), done) })
    expect(run.isSuccess).toBe(false)
    expect(run.err).toContain("base-sepolia is paid with an EVM key")
    expect(run.requests).toHaveLength(1)
  })
})

describe("deposit asks before it signs", () => {
  const asked = (typist: Typist) => deposit({ answer: inTurn(demand(entry), done), flags: [], typist })

  it.each(["y", "yes", " Y "])("and pays on %j", async (types) => {
    const run = await asked({ isAtTerminal: true, types })
    expect(run).toMatchObject({ err: expect.stringContaining("Pay? [y/N]"), isSuccess: true })
  })

  it.each(["", "n", "yeah", undefined])("and pays nothing on %j", async (types) => {
    const run = await asked({ isAtTerminal: true, ...(types !== undefined && { types }) })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("Nothing was paid") })
    expect(run.requests).toHaveLength(1)
  })

  it("and pays nothing without a terminal and without --yes", async () => {
    const run = await asked({ isAtTerminal: false, types: "y" })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("--yes") })
    expect(run.requests).toHaveLength(1)
  })
})

describe("deposit signs nothing", () => {
  const cases: ReadonlyArray<readonly [string, object, string]> = [
    ["when more is asked than --amount", { maxAmountRequired: "500001" }, "asks for 0.500001 USD, more than 0.50 USD"],
    ["when nothing is asked", { maxAmountRequired: "0" }, "no amount"],
    ["when the amount is no number", { maxAmountRequired: "5e5" }, "no amount"],
    ["for another token", { asset: payTo }, "not USDC"],
    ["that is good for longer than ten minutes", { maxTimeoutSeconds: 86_400 }, "86400 s"],
    ["on a network that the service does not take", { network: "base" }, "it takes base"],
    ["when the entry is of another form", { scheme: "upto" }, "it takes none"]
  ]
  it.each(cases)("%s", async (_, change, said) => {
    const run = await deposit({ answer: inTurn(demand({ ...entry, ...change }), done) })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining(said) })
    expect(run.requests).toHaveLength(1)
  })

  it("when the service takes no deposits", async () => {
    const run = await deposit({ answer: () => refused(403, "deposits_off", "deposits are not configured") })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("deposits are not configured") })
  })

  it.each(["0.05", "1000.01", "0.123"])("for an amount of %s", async (amount) => {
    const run = await deposit({ amount, answer: inTurn(demand(entry), done) })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("0.10 to 1000 US dollars") })
    expect(run.requests).toHaveLength(0)
  })
})

describe("a payment that does not end well", () => {
  const advice = "before you pay again"

  it("ends with the service's words when it was refused", async () => {
    const run = await deposit({ answer: inTurn(demand(entry), refused(409, "payment_already_used", "used already")) })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("used already") })
    expect(run.err).not.toContain(advice)
  })

  it("warns of paying twice when the outcome is unknown, and never shows the key", async () => {
    const run = await deposit({ answer: inTurn(demand(entry), refused(500, "internal_error", "it failed")) })
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining(advice) })
    expect(run.err).not.toContain(evmKey.slice(2))
  })
})
