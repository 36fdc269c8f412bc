/** Wallet signatures: one accepted value per key and text; contract wallets only where configured. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import { base58, base64 } from "@scure/base"
import { ContractWallets, type ContractWalletQuestion, layerRpc } from "@muniment/trust/ContractWallets"
import { SignatureVerifier, verifyWalletSignature } from "@muniment/trust/SignatureVerifier"
import { evmWallet, otherEvmWallet, otherSolWallet, solWallet } from "../../support/TrustVectors.ts"
import { it } from "../../support/it.ts"

const message = "GET|/memories|e3b0|1800000000000"
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const evmSignature = Effect.promise(() => evmWallet.sign(message))
const solSignature = Effect.promise(() => solWallet.sign(message))
const isSigned = (signature: string, wallet = evmWallet.wallet) => verifyWalletSignature({ wallet, message, signature })

describe("WalletSignature", () => {
  it.effect("knows an EVM wallet's signature, with and without 0x, in any case", function* () {
    const signature = yield* evmSignature
    const spellings = [signature, signature.slice(2), `0x${signature.slice(2).toUpperCase()}`]
    for (const spelling of spellings) expect(yield* isSigned(spelling)).toBe(true)
  })

  it.effect("refuses the mirror of an EVM signature, which recovers the same address", function* () {
    const signature = yield* evmSignature
    const s = BigInt(`0x${signature.slice(66, 130)}`)
    const mirrored = (order - s).toString(16).padStart(64, "0")
    const v = signature.endsWith("1b") ? "1c" : "1b"
    expect(yield* isSigned(`${signature.slice(0, 66)}${mirrored}${v}`)).toBe(false)
  })

  it.effect("takes 27 and 28 alone for the recovery byte", function* () {
    const signature = yield* evmSignature
    for (const v of ["00", "01", "1a", "1d", "25", "26", ""]) {
      expect(yield* isSigned(signature.slice(0, 130) + v)).toBe(false)
    }
  })

  it.effect("knows a Solana wallet's signature in base64 and in base58", function* () {
    const signature = yield* solSignature
    expect(yield* isSigned(signature, solWallet.wallet)).toBe(true)
    expect(yield* isSigned(base58.encode(base64.decode(signature)), solWallet.wallet)).toBe(true)
  })

  it.effect("refuses the signature of another wallet, of the other family, and of no wallet", function* () {
    const [evm, sol] = [yield* evmSignature, yield* solSignature]
    expect(yield* isSigned(evm, otherEvmWallet.wallet)).toBe(false)
    expect(yield* isSigned(sol, otherSolWallet.wallet)).toBe(false)
    expect(yield* isSigned(evm, solWallet.wallet)).toBe(false)
    expect(yield* isSigned(sol, evmWallet.wallet)).toBe(false)
    const nothings = [
      "",
      "0x",
      "0".repeat(130),
      `0x${"0".repeat(128)}1b`,
      `0x${"f".repeat(128)}1b`,
      "==",
      "x".repeat(100_000)
    ]
    for (const nothing of nothings) {
      expect(yield* isSigned(nothing)).toBe(false)
      expect(yield* isSigned(nothing, solWallet.wallet)).toBe(false)
    }
  })

  it.effect("asks a contract only where contract wallets are configured, and never about Solana", function* () {
    const asked: Array<ContractWalletQuestion> = []
    const contracts = {
      isSignedBy: (question: ContractWalletQuestion) =>
        Effect.sync(() => asked.push(question)).pipe(Effect.as(question.signature === "0xc0ffee"))
    }
    expect(yield* isSigned("0xc0ffee")).toBe(false)
    const isSignedByContract = (signature: string, wallet = evmWallet.wallet) =>
      Effect.provideService(isSigned(signature, wallet), ContractWallets, contracts)
    expect(yield* isSignedByContract("0xc0ffee")).toBe(true)
    expect(yield* isSignedByContract("0xbad0")).toBe(false)
    expect(yield* isSignedByContract("0xc0ffee", solWallet.wallet)).toBe(false)
    expect(yield* isSignedByContract(yield* evmSignature)).toBe(true)
    expect(asked.map(({ signature }) => signature)).toEqual(["0xc0ffee", "0xbad0"])
  })

  it.live("asks the chain as ERC-1271 has it; no answer is no signature", function* () {
    const rpc = yield* contractChain(evmWallet.wallet.address)
    const verify = (wallet = evmWallet.wallet) =>
      SignatureVerifier.use((verifier) => verifier.verify({ wallet, message, signature: "0xc0ffee" })).pipe(
        Effect.provide(SignatureVerifier.layer.pipe(Layer.provide(layerRpc(rpc)), Layer.fresh))
      )
    expect(yield* verify()).toBe(true)
    expect(yield* verify(otherEvmWallet.wallet)).toBe(false)
    expect(
      yield* SignatureVerifier.use((verifier) =>
        verifier.verify({ wallet: evmWallet.wallet, message, signature: "0xc0ffee" })
      ).pipe(Effect.provide(SignatureVerifier.layer.pipe(Layer.provide(layerRpc("http://127.0.0.1:1")))))
    ).toBe(false)
  })
})

/** An RPC endpoint on loopback: the contract at `address` takes every signature, there is no other. */
const contractChain = (address: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
        const server = createServer((request, response) => {
          request.setEncoding("utf8")
          request.on("data", (body: string) => {
            const call = JSON.parse(body) as { readonly id: number; readonly params: [{ readonly to: string }] }
            const isContract = call.params[0].to.toLowerCase() === address
            const result = isContract ? `0x1626ba7e${"0".repeat(56)}` : "0x"
            response.setHeader("content-type", "application/json")
            response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result }))
          })
        }).listen(0, "127.0.0.1", () => {
          const bound = server.address()
          const port = typeof bound === "object" && bound !== null ? bound.port : 0
          resume(Effect.succeed({ port, close: () => server.close() }))
        })
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ port }) => `http://127.0.0.1:${port}`
  )
