import { Effect, Redacted, Result } from "effect"
import { decodeFunctionData, size } from "viem"
import { describe, expect, it } from "vitest"
import fc from "fast-check"
import { evmChain, isOperatorKey } from "@muniment/payments/evm/EvmChain"
import {
  payloadOf,
  readAuthorization,
  transferByBytes,
  transferByParts,
  transferData
} from "@muniment/payments/evm/EvmAuthorization"
import { evmAddresses, evmKeys } from "../../../../scripts/devchains/Wallets.ts"
import { it as effectIt } from "../../../support/it.ts"

const chain = evmChain({
  network: "base",
  payTo: evmAddresses.payTo.toLowerCase(),
  rpcUrl: undefined,
  operatorKey: undefined,
  confirmations: 1
})

const authorization = {
  from: evmAddresses.payer,
  to: evmAddresses.payTo,
  value: "5000000",
  validAfter: "0",
  validBefore: "1900000000",
  nonce: `0x${"Ab".repeat(32)}`
}
const payload = { signature: `0x${"11".repeat(64)}1B`, authorization }
const uint256Max = (2n ** 256n - 1n).toString()

const claimError = (bent: unknown) =>
  Effect.runPromise(Effect.match(chain.claim(bent), { onSuccess: () => "ok", onFailure: ({ reason }) => reason }))

describe("claim", () => {
  it("names a payment by chain, asset, payer and nonce, in lower case", async () => {
    const claim = await Effect.runPromise(chain.claim(payload))
    expect(claim.id).toBe(
      `evm:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913:${evmAddresses.payer.toLowerCase()}:0x${"ab".repeat(32)}`
    )
    expect(claim.payer).toBe(evmAddresses.payer)
  })

  it("names it the same however it is spelled and whatever signs it", async () => {
    const spelled = {
      signature: `0x${"22".repeat(65)}`,
      authorization: {
        ...authorization,
        from: authorization.from.toLowerCase(),
        nonce: authorization.nonce.toLowerCase(),
        value: "1"
      }
    }
    const ids = await Promise.all([payload, spelled].map((one) => Effect.runPromise(chain.claim(one))))
    expect(ids[0]?.id).toBe(ids[1]?.id)
  })

  it("keeps a payload that it can read again, without what it does not know", async () => {
    const claim = await Effect.runPromise(chain.claim({ ...payload, note: "x" }))
    const again = await Effect.runPromise(chain.claim(JSON.parse(JSON.stringify(claim.payload))))
    expect(again).toEqual(claim)
    expect(Object.keys(claim.payload)).toEqual(["signature", "authorization"])
  })

  it.each<readonly [string, unknown]>([
    ["must be an object", "text"],
    ["must be an object", [payload]],
    ["must be an object", null],
    ["authorization is missing", { signature: payload.signature }],
    ["Permit2", { signature: payload.signature, permit2Authorization: {} }],
    ["from must be an address", { ...payload, authorization: { ...authorization, from: "0x12" } }],
    ["to must be an address", { ...payload, authorization: { ...authorization, to: `${evmAddresses.payTo}0` } }],
    ["nonce must be 32 bytes", { ...payload, authorization: { ...authorization, nonce: "0xabcd" } }],
    ["nonce must be 32 bytes", { ...payload, authorization: { ...authorization, nonce: `0x${"zz".repeat(32)}` } }],
    ...["-1", "+1", "01", " 1", "1 ", "1.0", "1e3", "0x10", "", 5, null, `${uint256Max}0`, "9".repeat(78)].map(
      (value) => ["value must be a decimal", { ...payload, authorization: { ...authorization, value } }] as const
    ),
    ["validAfter must be", { ...payload, authorization: { ...authorization, validAfter: 0 } }],
    ["validBefore must be", { ...payload, authorization: { ...authorization, validBefore: "soon" } }],
    ["signature must be hex", { ...payload, signature: `0x${"11".repeat(64)}` }],
    ["signature must be hex", { ...payload, signature: `0x${"11".repeat(65)}1` }],
    ["signature must be hex", { ...payload, signature: `0x${"11".repeat(3_000)}` }],
    ["signature must be hex", { ...payload, signature: "11".repeat(65) }],
    ["signature must be hex", { ...payload, signature: 65 }]
  ])("refuses: %s", async (reason, bent) => {
    expect(await claimError(bent)).toContain(reason)
  })

  it("takes the largest number that the chain takes", async () => {
    expect(await claimError({ ...payload, authorization: { ...authorization, value: uint256Max } })).toBe("ok")
  })

  it("answers whatever it is given", () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.record({
            signature: fc.string(),
            authorization: fc.dictionary(fc.constantFrom(...Object.keys(authorization)), fc.string())
          })
        ),
        (anything) => {
          const read = readAuthorization(anything)
          if (Result.isSuccess(read)) expect(readAuthorization(payloadOf(read.success))).toEqual(read)
        }
      )
    ))
})

describe("transferData", () => {
  const dataFor = (signature: string) => {
    const read = readAuthorization({ signature, authorization })
    return transferData(Result.getOrThrow(read))
  }

  it("hands 65 bytes in as v, r and s", () => {
    const { args } = decodeFunctionData({ abi: transferByParts, data: dataFor(payload.signature) })
    expect(args.slice(6)).toEqual([27, `0x${"11".repeat(32)}`, `0x${"11".repeat(32)}`])
  })

  it("hands a longer signature in as it is", () => {
    const { args } = decodeFunctionData({ abi: transferByBytes, data: dataFor(`0x${"33".repeat(96)}`) })
    expect(size(args[6])).toBe(96)
  })
})

describe("without a network", () => {
  it("quotes as protocol version 1 spells it", () => {
    const quote = { units: 10_000_000, resource: "https://memory.example/v1/credits/deposit", description: "10 USD" }
    expect(chain.requirement(quote)).toEqual({
      scheme: "exact",
      network: "base",
      maxAmountRequired: "10000000",
      resource: quote.resource,
      description: "10 USD",
      mimeType: "application/json",
      payTo: evmAddresses.payTo,
      maxTimeoutSeconds: 60,
      asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
      extra: { name: "USD Coin", version: "2" }
    })
  })

  effectIt.effect("can neither verify, sign, send nor look", function* () {
    const claim = yield* chain.claim({ ...payload, authorization: { ...authorization, validBefore: "600" } })
    const signed = { hash: `0x${"44".repeat(32)}`, raw: "0x02" }
    const asked = yield* Effect.all(
      [
        chain.verify(claim, 5_000_000),
        chain.sign(claim),
        chain.broadcast(claim, signed),
        chain.look(claim, signed, 5_000_000)
      ].map(Effect.flip)
    )
    expect(asked.map(({ _tag }) => _tag)).toEqual(Array.from({ length: 4 }, () => "ChainUnavailable"))
  })

  effectIt.effect("still refuses what breaks a rule on its face", function* () {
    const claim = yield* chain.claim(payload)
    const error = yield* Effect.flip(chain.verify(claim, 4_000_000))
    expect(error).toMatchObject({ _tag: "PaymentInvalid", reason: "authorization.value must be exactly 4000000" })
  })
})

describe("the operator's key", () => {
  it("is 32 bytes of hex and a point of the curve", () => {
    const keys = [evmKeys.operator, evmKeys.operator.slice(2), `0x${"00".repeat(32)}`, `0x${"ff".repeat(32)}`, "secret"]
    expect(keys.map((key) => isOperatorKey(Redacted.make(key)))).toEqual([true, false, false, false, false])
  })

  it("is not told by the error of a bad one", () => {
    const key = `0x${"ff".repeat(32)}`
    const options = { network: "base", payTo: evmAddresses.payTo, rpcUrl: undefined, confirmations: 1 } as const
    const make = () => evmChain({ ...options, operatorKey: Redacted.make(key) })
    expect(make).toThrow("not a private key")
    expect(make).not.toThrow("ff")
  })
})
