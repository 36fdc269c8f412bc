import { describe, expect, it } from "vitest"
import { SvmLifetimes } from "@muniment/payments/svm/SvmView"

describe("SvmLifetimes", () => {
  it("knows nothing of a payment that it was told nothing of", () => {
    expect(new SvmLifetimes().lastHeightOf("one")).toBeUndefined()
  })

  it("keeps the earliest of the bounds, as all of them hold", () => {
    const lifetimes = new SvmLifetimes()
    lifetimes.seenAt("one", 1_000n)
    expect(lifetimes.lastHeightOf("one")).toBe(1_300n)
    lifetimes.seenValid("one", 1_010n)
    expect(lifetimes.lastHeightOf("one")).toBe(1_192n)
    lifetimes.seenValid("one", 1_100n)
    lifetimes.seenAt("one", 1_100n)
    expect(lifetimes.lastHeightOf("one")).toBe(1_192n)
    lifetimes.forget("one")
    expect(lifetimes.lastHeightOf("one")).toBeUndefined()
  })

  it("forgets the oldest of too many", () => {
    const lifetimes = new SvmLifetimes()
    for (let at = 0; at <= 4_096; at++) lifetimes.seenAt(String(at), 0n)
    expect([lifetimes.lastHeightOf("0"), lifetimes.lastHeightOf("1"), lifetimes.lastHeightOf("4096")]).toEqual([
      undefined,
      300n,
      300n
    ])
  })
})
