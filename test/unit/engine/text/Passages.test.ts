import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { denseTexts, memoryUnits, messageTraits } from "@muniment/engine/text/MemoryText"
import { passagesOf } from "@muniment/language/text/Passages"
import { tokenize } from "@muniment/language/text/Tokenizer"

const textsOf = (text: string, lengthMax?: number) =>
  passagesOf(text, lengthMax).map(({ end, start }) => text.slice(start, end))

describe("passages", () => {
  it("are the whole text if it is short", () => {
    expect(passagesOf("x".repeat(800))).toEqual([{ start: 0, end: 800 }])
    expect(passagesOf("")).toEqual([{ start: 0, end: 0 }])
  })

  it("hold as many whole sentences as fit", () => {
    const text = "One is here. Two is there! Three? Four came at 3.30 p.m. today.\nFive"
    expect(textsOf(text, 30)).toEqual([
      "One is here. Two is there! ",
      "Three? ",
      "Four came at 3.30 p.m. today.\n",
      "Five"
    ])
  })

  it("cut a sentence without end after a word, and never a character", () => {
    expect(textsOf("aaaa bbbb cccc dddd", 10)).toEqual(["aaaa bbbb ", "cccc dddd"])
    expect(textsOf("aaaaaaaaaaaaaaa", 10)).toEqual(["aaaaaaaaaa", "aaaaa"])
    expect(textsOf(`${"a".repeat(9)}😀😀`, 10)).toEqual(["a".repeat(9), "😀😀"])
  })

  it("follow each other without gap or overlap, and none is longer than allowed", () => {
    const pieces = fc.constantFrom("word", " ", ". ", "? ", "\n", "😀", "他们说。", "a".repeat(30), "e.g. ")
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), fc.integer({ min: 4, max: 60 }), (parts, lengthMax) => {
        const text = parts.join("")
        const passages = passagesOf(text, lengthMax)
        expect(passages.map(({ end, start }) => text.slice(start, end)).join("")).toBe(text)
        for (const [at, { end, start }] of passages.entries()) {
          expect(start).toBe(at === 0 ? 0 : passages[at - 1]!.end)
          expect(end - start).toBeLessThanOrEqual(lengthMax)
          if (text !== "") expect(end).toBeGreaterThan(start)
          expect(text.slice(start, end).isWellFormed()).toBe(text.isWellFormed())
        }
      })
    )
  })
})

describe("the units of a long message", () => {
  const said = `I moved to Rome. ${"Nothing else happened on that day. ".repeat(30)}Where did you go? ${"Was it far? ".repeat(70)}`
  const message = { kind: conversationMessageKind, data: { role: "user", name: "Ann", text: said }, tags: ["home"] }

  it("have words and traits of their own, and the speaker, date and tags of the message", () => {
    const units = memoryUnits({ ...message, when: "2024-02-29T08:00:00.000Z" })
    expect(units.length).toBeGreaterThan(2)
    const texts = units.map(({ passage }) => said.slice(passage!.start, passage!.end))
    expect(texts.join("")).toBe(said)
    for (const [at, { columns }] of units.entries()) {
      expect(columns.main).toEqual(tokenize(texts[at]!))
      expect(columns).toMatchObject({ subject: ["ann"], tags: ["home"] })
      expect(columns.when).toContain("2024")
    }
    expect(units[0].traits & messageTraits.states).not.toBe(0)
    expect(units.at(-1)!.traits & messageTraits.states).toBe(0)
    expect(units.at(-1)!.traits & messageTraits.onlyAsks).not.toBe(0)
  })

  it("are embedded one by one, each with the speaker", () => {
    const texts = denseTexts(message)
    expect(texts).toHaveLength(memoryUnits(message).length)
    for (const text of texts) expect(text).toMatch(/^Ann: \S/)
  })

  it("are as they were cut before, if that is given", () => {
    const [first, second, ...others] = memoryUnits(message, [
      { start: 0, end: 5 },
      { start: 5, end: 30 }
    ])
    expect(denseTexts(message, [{ start: 0, end: 5 }])).toEqual(["Ann: I mov"])
    expect([first.columns.main, second?.columns.main, others]).toEqual([
      tokenize("I mov"),
      tokenize("ed to Rome. Nothing else"),
      []
    ])
  })
})
