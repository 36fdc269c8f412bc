/** Text that only its secret opens. */
import { describe, expect, it } from "vitest"
import { randomBytes } from "node:crypto"
import { nonceBytes, seal, unseal } from "@muniment/trust/KeyRing"

const sealed = (text: string) => seal(text, "secret", randomBytes(nonceBytes))

describe("a sealed text", () => {
  it("is opened by its secret, whatever it holds", () => {
    for (const text of ["", "a", "naïve 💩 \0 text", "x".repeat(100_000)]) {
      expect(unseal(sealed(text), "secret")).toBe(text)
    }
  })

  it("holds no byte of the text, and is another at every sealing", () => {
    const once = sealed("the word is zanzibar")
    expect(Buffer.from(once, "base64url").includes("zanzibar")).toBe(false)
    expect(sealed("the word is zanzibar")).not.toBe(once)
  })

  it("stays shut to another secret, and when a byte of it was changed or cut off", () => {
    const shut = sealed("text")
    expect(unseal(shut, "Secret")).toBeUndefined()
    const bytes = Buffer.from(shut, "base64url")
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      expect(unseal(changed.toString("base64url"), "secret")).toBeUndefined()
    }
    expect(unseal(shut.slice(0, -2), "secret")).toBeUndefined()
    expect(unseal("", "secret")).toBeUndefined()
  })
})
