/** API keys: enough randomness, only digests stored, nothing shown but a start. */
import { describe, expect, it } from "@effect/vitest"
import {
  apiKeyBytes,
  displayPrefix,
  hashApiKey,
  isSameSecret,
  isUsableSecret,
  makeApiKey
} from "@muniment/trust/ApiKeys"

const bytes = (fill: number) => new Uint8Array(apiKeyBytes).fill(fill)

describe("ApiKeys", () => {
  it("is the prefix and 40 url-safe characters of at least 128 random bits", () => {
    for (const fill of [0, 251, 255]) expect(makeApiKey("mun_", bytes(fill))).toMatch(/^mun_[A-Za-z0-9_-]{40}$/)
    expect(apiKeyBytes * 8).toBeGreaterThanOrEqual(128)
    expect(makeApiKey("mun_", bytes(1))).not.toBe(makeApiKey("mun_", bytes(2)))
    expect(() => makeApiKey("mun_", new Uint8Array(4))).toThrow(/30 random bytes/)
  })

  it("stores the SHA-256 of the whole secret", () => {
    expect(hashApiKey("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  })

  it("shows the prefix and six characters at most", () => {
    const secret = makeApiKey("mun_", bytes(7))
    expect(displayPrefix(secret, "mun_")).toBe(secret.slice(0, 10))
    expect(displayPrefix("another-secret-of-an-operator", "mun_")).toBe("anothe")
    expect(displayPrefix("another-secret-of-an-operator")).toBe("anothe")
  })

  it("accepts brought secrets that are long enough for 128 bits and fit a header", () => {
    expect(isUsableSecret("x".repeat(22))).toBe(true)
    for (const secret of ["x".repeat(21), "x".repeat(257), `${"x".repeat(30)} y`, `${"x".repeat(30)}\n`]) {
      expect(isUsableSecret(secret)).toBe(false)
    }
  })

  it("compares secrets of any lengths", () => {
    expect([isSameSecret("token", "token"), isSameSecret("token", "tokem"), isSameSecret("token", "")]).toEqual([
      true,
      false,
      false
    ])
  })
})
