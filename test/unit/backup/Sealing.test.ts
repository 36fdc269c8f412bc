/** The bytes of sealed parts, as the format of backups promises them, and what opens them. */
import { createPrivateKey } from "node:crypto"
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import {
  newNonce,
  newSealing,
  openPart,
  openSealing,
  type SealingHeader,
  sealPart
} from "@muniment/backup/BackupFormat"

/** PKCS #8 of an Ed25519 key of 32 zeros (RFC 8410, section 7). */
const seedKey = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32)])
const key = { bytes: Uint8Array.from({ length: 32 }, (_, at) => at) }
const nonce = Uint8Array.from({ length: 12 }, (_, at) => 0xa0 + at)
const place = { name: "objects/0123456789ab/1-2.20261122T220000123Z-5f3a/000000", part: 0, parts: 2 }
const plain = Buffer.from("memories", "utf8")

describe("a sealed part", () => {
  it("has the bytes of format 1", () => {
    expect(sealPart(key, place, plain, nonce).toString("hex")).toBe(
      "4d424b31a0a1a2a3a4a5a6a7a8a9aaab8b7d114237a267ccc27d7c5e3a3d31fab67efa5e7547802f"
    )
  })

  it("opens at its place only, and with no bit changed", () => {
    const sealed = sealPart(key, place, plain, nonce)
    expect(openPart(key, place, sealed)).toEqual(plain)
    for (const other of [{ part: 1 }, { parts: 3 }, { name: `${place.name}0` }]) {
      expect(openPart(key, { ...place, ...other }, sealed)).toBeUndefined()
    }
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(openPart(key, place, changed), `bit ${bit}`).toBeUndefined()
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(openPart(key, place, sealed.subarray(0, length))).toBeUndefined()
    }
  })

  it("has a nonce of its own", () => {
    expect(sealPart(key, place, plain, newNonce())).not.toEqual(sealPart(key, place, plain, newNonce()))
  })
})

describe("the key of a backup", () => {
  /** Made by this code; later releases must open it. */
  const header: SealingHeader = {
    kdf: { name: "scrypt", salt: "TcPNB2b+ThXzJG+T9oNmxw==", cost: 131072, blockSize: 8, parallelization: 1 },
    key: "TUJLMWaVJQzqGBKxl2BNhPvi5CzD9iX9HZ373czsa7b0c9Q4TQqffunnoXioBb0srr5bGv7kXDb/yEu1JR7R6Q=="
  }
  const text = "correct horse battery"

  it("opens with the passphrase of a header that an earlier release wrote", async () => {
    const opened = await Effect.runPromise(openSealing(header, { _tag: "Passphrase", text }))
    expect(Buffer.from(opened.bytes).toString("hex")).toBe(
      "1726a03d64e28eef720424a02a6bcbf334bc2d8b1ccd11405f36ac40c96bdf4c"
    )
  })

  it("opens with no other passphrase, and not with a key file", async () => {
    for (const secret of [
      { _tag: "Passphrase", text: "correct horse batterz" } as const,
      { _tag: "KeyFile", bytes: new Uint8Array(32) } as const
    ]) {
      expect(Exit.isFailure(await Effect.runPromiseExit(openSealing(header, secret)))).toBe(true)
    }
  })

  it("opens with the key file that it was made with", async () => {
    const bytes = new Uint8Array(40).fill(9)
    const made = await Effect.runPromise(newSealing({ _tag: "KeyFile", bytes }))
    const opened = await Effect.runPromise(openSealing(made.header, { _tag: "KeyFile", bytes }))
    expect(Buffer.from(opened.bytes)).toEqual(Buffer.from(made.key.bytes))
    const other = await Effect.runPromiseExit(openSealing(made.header, { _tag: "KeyFile", bytes: bytes.slice(1) }))
    expect(Exit.isFailure(other)).toBe(true)
  })

  it.each([
    ["more memory than it may", { cost: 2 ** 24 }],
    ["more memory than it may for all lanes", { parallelization: 2 ** 20 }],
    ["a cost that is no power of two", { cost: 131_073 }],
    ["too high a cost for its blocks", { cost: 65_536, blockSize: 1 }],
    ["nothing", { cost: 1, blockSize: 0, parallelization: 0 }]
  ])("does not let a header from elsewhere take %s", async (_, costs) => {
    const greedy = { ...header, kdf: { ...header.kdf, ...costs } } as SealingHeader
    const opened = Effect.runPromise(openSealing(greedy, { _tag: "Passphrase", text }))
    await expect(opened).rejects.toThrow("cost of scrypt is out of range")
    // OpenSSL's refusal would fail the next private key.
    expect(createPrivateKey({ key: seedKey, format: "der", type: "pkcs8" }).asymmetricKeyType).toBe("ed25519")
  })
})
