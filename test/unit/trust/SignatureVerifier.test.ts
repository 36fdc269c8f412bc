/** The verifier: remembers what is valid, for that text alone, and lets the event loop breathe. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { ContractWallets } from "@muniment/trust/ContractWallets"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { evmWallet, otherEvmWallet, solWallet } from "../../support/TrustVectors.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => SignatureVerifier.layer)

const { wallet } = evmWallet

describe("SignatureVerifier", () => {
  fresh.live("answers a repeat at once, and only for the same wallet, text and signature", function* () {
    const { verify } = yield* SignatureVerifier
    const signature = yield* Effect.promise(() => evmWallet.sign("text"))
    expect(yield* verify({ wallet, message: "text", signature })).toBe(true)
    const before = process.threadCpuUsage()
    for (let turn = 0; turn < 200; turn++) {
      expect(yield* verify({ wallet, message: "text", signature })).toBe(true)
    }
    // 200 verifications would take 150 ms of work at the very least, on any machine of today.
    const { system, user } = process.threadCpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(100)
    expect(yield* verify({ wallet, message: "texs", signature })).toBe(false)
    expect(yield* verify({ wallet: otherEvmWallet.wallet, message: "text", signature })).toBe(false)
    expect(yield* verify({ wallet, message: "text", signature: `${signature.slice(0, -2)}1d` })).toBe(false)
  })

  it.effect("asks a contract anew each time", function* () {
    const answers = [true, false]
    const contracts = Layer.succeed(ContractWallets, { isSignedBy: () => Effect.sync(() => answers.shift() === true) })
    yield* Effect.gen(function* () {
      const { verify } = yield* SignatureVerifier
      expect(yield* verify({ wallet, message: "text", signature: "0xc0ffee" })).toBe(true)
      expect(yield* verify({ wallet, message: "text", signature: "0xc0ffee" })).toBe(false)
    }).pipe(Effect.provide(SignatureVerifier.layer.pipe(Layer.provide(contracts))))
  })

  fresh.live("lets the event loop turn between verifications, however many wait", function* () {
    const { verify } = yield* SignatureVerifier
    const texts = Array.from({ length: 60 }, (_, index) => `text ${index}`)
    const signed = yield* Effect.promise(() =>
      Promise.all(
        texts.flatMap((message) =>
          [evmWallet, solWallet].map(async (signer) => ({
            wallet: signer.wallet,
            message,
            signature: await signer.sign(message)
          }))
        )
      )
    )
    let turns = 0
    const counting = setInterval(() => turns++, 0)
    const answers = yield* Effect.all(signed.map(verify), { concurrency: "unbounded" })
    clearInterval(counting)
    expect(answers.every((isSigned) => isSigned)).toBe(true)
    // In one go they would be a single stall; on a busy machine a turn may cover a few.
    expect(turns).toBeGreaterThan(20)
  })
})
