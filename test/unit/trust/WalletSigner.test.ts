/** Wallet keys as people have them on disk. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { base58 } from "@scure/base"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { InvalidWalletKey, walletSignerOf } from "@muniment/trust/WalletSigner"
import { verifyWalletSignature } from "@muniment/trust/SignatureVerifier"
import { evmWallet, solWallet } from "../../support/TrustVectors.ts"
import { it } from "../../support/it.ts"

const seed = new Uint8Array(32).fill(0x3e)
const pair = Uint8Array.from([...seed, ...ed25519PublicKey(seed)])

describe("WalletSigner", () => {
  it.effect("reads hex for EVM, base58 and byte lists for Solana, and signs what verifies", function* () {
    const hex = "1c".repeat(32)
    for (const text of [hex, `0x${hex}\n`, base58.encode(pair), JSON.stringify([...pair])]) {
      const signer = walletSignerOf(text)
      expect([evmWallet.wallet, solWallet.wallet]).toContainEqual(signer.wallet)
      const signature = yield* Effect.promise(() => signer.sign("text"))
      expect(yield* verifyWalletSignature({ wallet: signer.wallet, message: "text", signature })).toBe(true)
    }
  })

  it("refuses what is no key, an address among it, without repeating it", () => {
    const wrongHalf = Uint8Array.from([...seed, ...new Uint8Array(32).fill(1)])
    const texts = [
      "",
      "0".repeat(64),
      "f".repeat(64),
      solWallet.wallet.address,
      evmWallet.wallet.address,
      base58.encode(wrongHalf),
      "[1,2,3]",
      `[${Array(64).fill(256).join()}]`,
      "[",
      "x".repeat(10_000)
    ]
    for (const text of texts) {
      const thrown = (() => {
        try {
          return walletSignerOf(text)
        } catch (error) {
          return error
        }
      })()
      expect(thrown, text.slice(0, 70)).toBeInstanceOf(InvalidWalletKey)
      if (text.length > 20) expect(String(thrown)).not.toContain(text.slice(0, 20))
    }
  })
})
