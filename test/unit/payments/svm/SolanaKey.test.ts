import { describe, expect, it } from "vitest"
import { Redacted } from "effect"
import { ed25519Verify } from "@muniment/trust/Ed25519"
import { getAddressEncoder, getBase58Decoder } from "@solana/kit"
import { solanaSeeds } from "../../../../scripts/devchains/Wallets.ts"
import { parseSolanaKey } from "@muniment/payments/svm/SvmTransaction"
import { operator } from "./SvmPayments.ts"

const seed = solanaSeeds.operator
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const parse = (text: string) => parseSolanaKey(Redacted.make(text))

describe("parseSolanaKey", () => {
  it.each([
    ["a secret key in base58", operator.keyText],
    ["a secret key as solana-keygen writes it", JSON.stringify([...operator.keyBytes])],
    ["the same over several lines", JSON.stringify([...operator.keyBytes], null, 1)],
    ["a seed in base58", getBase58Decoder().decode(seed)],
    ["a seed in hex", hexOf(seed)],
    ["a seed in hex with 0x, between spaces", ` 0x${hexOf(seed)}\n`]
  ])("reads %s", (_, text) => {
    const key = parse(text)
    expect(key?.address).toBe(operator.address)
    const message = new TextEncoder().encode("message")
    const signature = key?.sign(message) ?? new Uint8Array()
    expect(ed25519Verify(signature, message, new Uint8Array(getAddressEncoder().encode(operator.address)))).toBe(true)
    expect(key?.sign(message)).toEqual(signature)
  })

  it.each([
    ["nothing", ""],
    ["words", "not a key"],
    ["an address and no more bytes than 31", getBase58Decoder().decode(seed.slice(1))],
    ["63 numbers", JSON.stringify(Array.from(operator.keyBytes.slice(1)))],
    ["a number that is no byte", JSON.stringify([256, ...operator.keyBytes.slice(1)])],
    [
      "a public half of another key",
      JSON.stringify(Array.from(operator.keyBytes.with(40, operator.keyBytes[40]! ^ 1)))
    ],
    ["more than a key", operator.keyText.repeat(20)]
  ])("refuses %s", (_, text) => {
    expect(parse(text)).toBeUndefined()
  })

  it("shows the seed in no text that a log could take", () => {
    const key = parse(operator.keyText)
    expect(JSON.stringify(key)).toBe(JSON.stringify({ address: operator.address }))
  })
})
