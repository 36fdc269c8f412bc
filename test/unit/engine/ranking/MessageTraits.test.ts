import { describe, expect, it } from "vitest"
import { messageTrait, messageTraits } from "@muniment/engine/ranking/MessageTraits"

const { byUser, onlyAsks, states } = messageTrait

describe("messageTraits", () => {
  it.each([
    ["I live in Porto.", states],
    ["Nice! My sister lives there too. And you?", states],
    ["im in Porto now", states],
    ["Porto is lovely this time of year.", 0],
    ["Where do I know you from?", onlyAsks],
    ["Really?! Where is it?", onlyAsks],
    ["Did I tell you? Porto is lovely.", 0],
    ["...", 0],
    ["Immediately after Weimar", 0]
  ])("%s", (text, expected) => {
    expect(messageTraits("assistant", text)).toBe(expected)
    expect(messageTraits("user", text)).toBe(expected | byUser)
  })

  it("is linear in the text", () => {
    for (const part of ["a", "?", ".", "! ", "I ", "\n"])
      expect(messageTraits("system", part.repeat(100_000))).toBeGreaterThanOrEqual(0)
  })
})
