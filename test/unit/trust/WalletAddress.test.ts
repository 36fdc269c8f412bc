/** Addresses: two families, one spelling each inside. */
import { describe, expect, it } from "@effect/vitest"
import { isSameAddress, parseWalletAddress, solanaAddress } from "@muniment/trust/WalletAddress"

const evm = `0x${"Ab".repeat(20)}`
const sol = solanaAddress(new Uint8Array(32).fill(9))

describe("WalletAddress", () => {
  it("takes EVM addresses in any case and keeps them in lower case", () => {
    expect(parseWalletAddress(evm)).toEqual({ family: "evm", address: evm.toLowerCase() })
  })

  it("takes Solana addresses as they are, also one of zeros", () => {
    expect(parseWalletAddress(sol)).toEqual({ family: "sol", address: sol })
    expect(parseWalletAddress("1".repeat(32))).toEqual({ family: "sol", address: "1".repeat(32) })
  })

  it("takes nothing else", () => {
    const others = ["", "0x", evm.slice(0, -1), `${evm}0`, evm.slice(2), `0X${evm.slice(2)}`, ` ${evm}`, `${evm}\n`]
    const near = [
      sol.slice(1),
      `${sol}1`,
      sol.replace(/.$/, "0"),
      `${sol} `,
      "1".repeat(33),
      "z".repeat(44),
      "1".repeat(100_000)
    ]
    for (const text of [...others, ...near]) expect(parseWalletAddress(text), text.slice(0, 60)).toBeUndefined()
  })

  it("ignores the case of EVM addresses when it compares, and of nothing else", () => {
    expect(isSameAddress(evm, evm.toLowerCase())).toBe(true)
    expect(isSameAddress(sol, sol.toLowerCase())).toBe(false)
    expect(isSameAddress("acc_A", "acc_a")).toBe(false)
    expect(isSameAddress("acc_A", "acc_A")).toBe(true)
  })
})
