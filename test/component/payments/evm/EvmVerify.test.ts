import { Effect } from "effect"
import { concatHex, getAddress, type Hex, toHex } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { resetAssetContractCache } from "@x402/evm"
import { ExactEvmScheme } from "@x402/evm/exact/client"
import { paymentNetworks } from "@muniment/domain/Payment"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { isEvmChainAvailable } from "../../../../scripts/devchains/AnvilProcess.ts"
import { type EvmChain, startEvmChain } from "../../../../scripts/devchains/EvmChain.ts"
import { type FaultyRpc, type RpcCall, startFaultyRpc } from "../../../../scripts/devchains/FaultyRpc.ts"
import { evmAddresses, evmKeys } from "../../../../scripts/devchains/Wallets.ts"
import { cancel, chainOf, clientOf, code, malleated, nobody, nowSeconds, payloadFor } from "./EvmPayments.ts"
import { submitAs, type Terms, units, verifyOutcome } from "./EvmPayments.ts"

const why = isEvmChainAvailable() ? "" : " (skipped: anvil has no package for this platform)"

describe.skipIf(!isEvmChainAvailable())(`verify${why}`, () => {
  let local: EvmChain
  let proxy: FaultyRpc
  const { admin, payer } = evmAddresses
  const wallet = getAddress("0x00000000000000000000000000000000000c0de5")

  beforeAll(async () => {
    local = await startEvmChain()
    proxy = await startFaultyRpc(local.rpcUrl)
    await local.mint(payer, 100_000_000n)
    await local.mint(wallet, 100_000_000n)
  })
  beforeEach(() => proxy.up())
  afterAll(async () => {
    await proxy?.stop()
    await local?.stop()
  })

  const verified = async (bent: Partial<Terms> = {}) => verifyOutcome(chainOf(local), await payloadFor(local, bent))

  it("takes a good payment, as often as it is asked", async () => {
    const payload = await payloadFor(local)
    const chain = chainOf(local)
    expect([await verifyOutcome(chain, payload), await verifyOutcome(chain, payload)]).toEqual(["ok", "ok"])
  })

  it("takes what the stock client signs for our quote, on either network", async () => {
    const mainnet = await startEvmChain({ network: "base" })
    try {
      await mainnet.mint(payer, 100_000_000n)
      for (const one of [local, mainnet]) {
        const chain = chainOf(one)
        const { asset, extra, maxTimeoutSeconds, payTo } = chain.requirement({ units, resource: "r", description: "d" })
        const client = new ExactEvmScheme(privateKeyToAccount(evmKeys.payer))
        const network = paymentNetworks[one.network].caip2
        const requirements = { scheme: "exact", network, asset, amount: String(units), payTo, maxTimeoutSeconds, extra }
        const { payload } = await client.createPaymentPayload(2, requirements)
        expect(await verifyOutcome(chain, payload)).toBe("ok")
      }
    } finally {
      await mainnet.stop()
    }
  })

  const now = nowSeconds()
  it.each<readonly [string, string, Partial<Terms>]>([
    ["a unit less", "value must be exactly", { value: BigInt(units - 1) }],
    ["a unit more", "value must be exactly", { value: BigInt(units + 1) }],
    ["another receiver", "to must be", { to: nobody }],
    ["a payer that is the receiver", "is the receiver", { key: evmKeys.payTo, from: evmAddresses.payTo }],
    ["one that is not valid yet", "not valid yet", { validAfter: BigInt(now + 600) }],
    ["one that expired", "has expired", { validBefore: BigInt(now - 1) }],
    ["one that expires in seconds", "has expired, or will", { validBefore: BigInt(now + 4) }],
    ["one that never expires", "must expire within", { validBefore: 2n ** 256n - 1n }],
    ["the domain of another token name", "not the payer's", { domain: { name: "USD Coin" } }],
    ["the domain of another version", "not the payer's", { domain: { version: "1" } }],
    ["the domain of another chain", "not the payer's", { domain: { chainId: 8_453 } }],
    ["the signature of somebody else", "not the payer's", { key: evmKeys.admin }]
  ])("refuses %s", async (_, reason, bent) => {
    const said = await verified(bent)
    expect(said).toMatch(/^PaymentInvalid: /)
    expect(said).toContain(reason)
  })

  it("refuses a payer without enough money", async () => {
    const key = generatePrivateKey()
    const from = privateKeyToAccount(key).address
    expect(await verified({ key, from })).toBe("PaymentInvalid: the payer's balance is too low: 0 units")
    await local.mint(from, BigInt(units - 1))
    expect(await verified({ key, from })).toContain("balance is too low")
    await local.mint(from, 1n)
    expect(await verified({ key, from })).toBe("ok")
  })

  it("refuses a nonce that is used, and one that is cancelled", async () => {
    const [used, cancelled] = [await payloadFor(local), await payloadFor(local)]
    await submitAs(local, admin, used)
    await cancel(local, cancelled.authorization.nonce)
    const said = "PaymentInvalid: the authorization is used or cancelled"
    expect([await verifyOutcome(chainOf(local), used), await verifyOutcome(chainOf(local), cancelled)]).toEqual([
      said,
      said
    ])
  })

  it("refuses the other spelling of a signature", async () => {
    const payload = await payloadFor(local)
    const said = await verifyOutcome(chainOf(local), { ...payload, signature: malleated(payload.signature) })
    expect(said).toContain("upper half")
  })

  it("refuses a signature of a plain wallet that is bent in any way", async () => {
    const payload = await payloadFor(local)
    const { signature } = payload
    const bent: ReadonlyArray<Hex> = [
      concatHex([signature, "0x00"]),
      `${signature.slice(0, -2) as Hex}00`,
      `0x${"00".repeat(64)}1b`,
      `0x${"ff".repeat(32)}${"11".repeat(32)}1b`
    ]
    for (const one of bent) {
      expect(await verifyOutcome(chainOf(local), { ...payload, signature: one })).toMatch(
        /^PaymentInvalid: the signature/
      )
    }
  })

  it("refuses a wallet that is not deployed yet", async () => {
    const payload = await payloadFor(local)
    const signature = concatHex([payload.signature, `0x${"6492".repeat(16)}`])
    expect(await verifyOutcome(chainOf(local), { ...payload, signature })).toContain("ERC-6492")
  })

  it("asks a contract wallet whether it signed, whatever the length of its signature", async () => {
    const chain = chainOf(local)
    const setCode = (bytecode: Hex) => clientOf(local).setCode({ address: wallet, bytecode })
    const payload = await payloadFor(local, { from: wallet })
    const long = { ...payload, signature: toHex(new Uint8Array(300).fill(7)) }
    await setCode(code.yes)
    expect([await verifyOutcome(chain, payload), await verifyOutcome(chain, long)]).toEqual(["ok", "ok"])
    const { burns, copies, invalid, jumps, no, overflows, reverts, underflows, unknown } = code
    const halts = [burns, invalid, unknown, underflows, overflows, jumps, copies]
    for (const refusing of [no, reverts, "0x00", ...halts] as const) {
      await setCode(refusing)
      expect(await verifyOutcome(chain, long), refusing).toContain("does not take the signature (ERC-1271)")
    }
  })

  it("does not take the key's signature of a wallet that has become a contract", async () => {
    const key = generatePrivateKey()
    const from = privateKeyToAccount(key).address
    await local.mint(from, BigInt(units))
    await clientOf(local).setCode({ address: from, bytecode: code.no })
    expect(await verified({ key, from })).toContain("ERC-1271")
  })

  it("goes by the chain's clock too", async () => {
    const ahead = await startEvmChain()
    try {
      await ahead.mint(payer, 100_000_000n)
      const payload = await payloadFor(ahead)
      await ahead.increaseTime(300)
      expect(await verifyOutcome(chainOf(ahead), payload)).toContain("has expired")
    } finally {
      await ahead.stop()
    }
  })

  it("says that the node is away, not that the payment is bad", async () => {
    const payload = await payloadFor(local)
    const behind = chainOf({ ...local, rpcUrl: proxy.url })
    proxy.down()
    expect(await verifyOutcome(behind, payload)).toMatch(/^ChainUnavailable: eth_chainId/)
    proxy.up()
    expect(await verifyOutcome(behind, payload)).toBe("ok")
  })

  it("says so at whichever call it happens, by our rules and by the library's", async () => {
    const payload = await payloadFor(local)
    const behind = chainOf({ ...local, rpcUrl: proxy.url })
    expect(await verifyOutcome(behind, payload)).toBe("ok")
    const before = proxy.calls()
    expect(await verifyOutcome(behind, payload)).toBe("ok")
    const calls = proxy.calls() - before
    expect(calls).toBeGreaterThanOrEqual(7)
    for (let failing = 0; failing < calls; failing++) {
      let seen = 0
      proxy.failNext(() => seen++ === failing, failing % 2 === 0 ? "refuse" : "http-500")
      expect([failing, await verifyOutcome(behind, payload)]).toEqual([
        failing,
        expect.stringMatching(/^ChainUnavailable/)
      ])
      proxy.up()
    }
  })

  it("outlives a node that fails at the library's first look at the token", async () => {
    const rejections: Array<unknown> = []
    const note = (reason: unknown) => void rejections.push(reason)
    process.on("unhandledRejection", note)
    try {
      const chain = chainOf({ ...local, rpcUrl: proxy.url })
      // The library remembers for a while that the token is a contract.
      resetAssetContractCache()
      const isTokens = ({ method, params }: RpcCall) =>
        method === "eth_getCode" && JSON.stringify(params).toLowerCase().includes(local.usdc.address.toLowerCase())
      proxy.failNext(isTokens, "refuse")
      expect(await verifyOutcome(chain, await payloadFor(local))).toMatch(/^ChainUnavailable/)
      expect(await verifyOutcome(chain, await payloadFor(local))).toBe("ok")
      expect(rejections).toEqual([])
    } finally {
      process.off("unhandledRejection", note)
    }
  })

  it("does not take the word of another chain's node", async () => {
    const payload = await payloadFor(local)
    const wrong = chainOf({ ...local, network: "base" })
    expect(await verifyOutcome(wrong, payload)).toBe("ChainUnavailable: the node serves chain 84532; expected 8453")
  })

  it("does not take a token that payers would sign another domain for", async () => {
    const bare = await startEvmChain()
    try {
      await clientOf(bare).setCode({ address: bare.usdc.address, bytecode: code.no })
      expect(await verifyOutcome(chainOf(bare), await payloadFor(bare))).toMatch(/^ChainUnavailable: .*EIP-712 domain/)
    } finally {
      await bare.stop()
    }
  })

  it("tells neither the node's address nor the signature in an error", async () => {
    const payload = await payloadFor(local)
    const behind = chainOf({ ...local, rpcUrl: `${proxy.url}/secret-path` })
    proxy.failNext("eth_call", "http-500", 9)
    const error = await Effect.runPromise(
      Effect.flip(Effect.flatMap(behind.claim(payload), (claim) => behind.verify(claim, units)))
    )
    const told = `${JSON.stringify(error)} ${String(error)} ${error.stack ?? ""}`
    expect(told).toContain("eth_call")
    expect(told).not.toContain("secret-path")
    expect(told).not.toContain(payload.signature.slice(2, 40))
  })
})
