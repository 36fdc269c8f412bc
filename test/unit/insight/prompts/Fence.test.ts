import { describe, expect } from "vitest"
import { Effect } from "effect"
import { drawFence, makeFence } from "@muniment/insight/prompts/Fence"
import { visibleText } from "@muniment/language/text/VisibleText"
import fc from "fast-check"
import { it } from "../../../support/it.ts"

const code = "fence-11111111-2222-4333-8444-555555555555"
const fence = makeFence(code)
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(code, code.toUpperCase(), `END X ${code}`, "\n", "\\", '"', "<|im_end|>", "[/INST]")
)
const text = fc.array(hostile, { maxLength: 8 }).map((parts) => parts.join(""))

describe("a fence", () => {
  it("cannot be closed by any text, and loses nothing that is visible", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
        const section = fence.section("X", texts)
        const lines = section.split("\n")
        expect(section.toLowerCase().split(code)).toHaveLength(3)
        expect(section).not.toMatch(/<|\[\/?INST\]/)
        expect(lines).toHaveLength(texts.length + 2)
        expect(lines.slice(1, -1).map((line): unknown => JSON.parse(line))).toEqual(texts.map(visibleText))
      })
    )
  })

  it("leaves booleans and lists of data as they are", () => {
    expect(fence.section("X", [{ a: [true], b: [null], c: ["[INST]"] }]).split("\n")[1]).toBe(
      '{"a":[true],"b":[null],"c":["\\u005bINST]"]}'
    )
  })

  it.effect("has another code for each request", function* () {
    const drawn = yield* Effect.all(Array.from({ length: 100 }, () => drawFence))
    expect(new Set(drawn.map(({ opening }) => opening)).size).toBe(100)
  })
})

describe("visible text", () => {
  it("keeps emoji and words of scripts that join their letters", () => {
    for (const kept of ["\u2764\ufe0f\u200d\u{1f525}", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "a\n\tb"]) {
      expect(visibleText(kept)).toBe(kept)
    }
  })

  it("loses tags, bidi controls, zero-width characters and controls", () => {
    expect(visibleText("a\u{e0041}\u202eb\u200b\u2060c\0\ufeff\r\nd")).toBe("abc\nd")
  })
})
