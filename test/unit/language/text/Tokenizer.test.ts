import { describe, expect, it } from "vitest"
import fc from "fast-check"
import { baseStem } from "@muniment/language/text/LanguageStems"
import { QUERY_TERMS_MAX, queryTerms, TOKEN_LENGTH_MAX, tokenize } from "@muniment/language/text/Tokenizer"
import { cpuMillis } from "../../../support/CpuTime.ts"

describe("tokenize", () => {
  it("folds case, diacritics and compatibility forms, so that people find what they type", () => {
    expect(tokenize("Crème BRÛLÉE")).toEqual(tokenize("creme brulee"))
    expect(tokenize("ﬁle ＡＢＣ ℌello")).toEqual(tokenize("file abc hello"))
    expect(tokenize("Straße İstanbul Łódź Søren ΟΔΟΣ")).toEqual(tokenize("strasse istanbul lodz soren οδοσ"))
  })

  it("stems English words and leaves other tokens alone", () => {
    expect(tokenize("running runs, relational 8th B2B2C")).toEqual(["run", "run", "relat", "8th", "b2b2c"])
  })

  it("maps irregular forms to their base, so that a question finds a statement in the past tense", () => {
    expect(tokenize("She went, bought and had written")).toEqual(tokenize("She goes, buys and had writes"))
    expect(tokenize("two women with feet and teeth")).toEqual(tokenize("two woman with foot and tooth"))
    expect(tokenize("my mum's kids")).toEqual(tokenize("my mother's children"))
    expect(tokenize("a rose and a bit of lives")).not.toEqual(tokenize("a rise and a bite of life"))
  })

  it("is idempotent, because stored tokens are mapped to their base again", () => {
    for (const word of ["went", "children", "mommy", "leaves", "thought", "granddad"]) {
      const [token] = tokenize(word)
      expect(baseStem(token!)).toBe(token)
    }
  })

  it("drops the clitics of English", () => {
    expect(tokenize("Ann's dog isn't here; they’re out")).toEqual(tokenize("Ann dog isn here they out"))
  })

  it("cuts ASCII text like the general path", () => {
    const piece = fc.oneof(
      fc.constantFrom("Ann", "isn't", "they'RE", "we'll", "'s", "'", "''m", "ll", "2023-05-08", "B2B2C", " ", "went"),
      fc.string({ unit: "binary-ascii", maxLength: 8 })
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("")
        expect(tokenize(`${text} é`)).toEqual([...tokenize(text), "e"])
      }),
      { numRuns: 1_000 }
    )
  })

  it("cuts scripts without spaces into words", () => {
    expect(tokenize("東京へ行きました").length).toBeGreaterThan(2)
    expect(tokenize("東京へ行きました")).toContain("東京")
    expect(tokenize("ฉันชอบกินข้าว").length).toBeGreaterThan(2)
  })

  it("keeps the marks that distinguish words in Kana, Hangul and Devanagari", () => {
    expect(tokenize("がん")).not.toEqual(tokenize("かん"))
    expect(tokenize("한국어 배우기")).toEqual(["한국어", "배우기"])
    expect(tokenize("हिन्दी")).toEqual(["हिन्दी"])
  })

  it("bounds the length of a token and the number of tokens", () => {
    expect(tokenize("a".repeat(10_000))).toEqual(["a".repeat(TOKEN_LENGTH_MAX)])
    expect([...tokenize("𝒳".repeat(200))[0]!].length).toBe(TOKEN_LENGTH_MAX)
    expect(tokenize("word ".repeat(100), 7)).toHaveLength(7)
    expect(tokenize("漢字".repeat(20_000), 50)).toHaveLength(50)
  })

  it("gives tokens of letters, digits and marks only, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        for (const token of tokenize(text)) expect(token).toMatch(/^[\p{L}\p{N}\p{M}]+$/u)
      }),
      { numRuns: 500 }
    )
  })

  it("takes time linear in hostile text", () => {
    for (const text of [
      "y".repeat(60_000),
      "yb".repeat(30_000),
      "'s".repeat(30_000),
      "\u0301".repeat(60_000),
      "漢".repeat(30_000)
    ]) {
      expect(cpuMillis(() => tokenize(text))).toBeLessThan(1_000)
    }
  })
})

describe("queryTerms", () => {
  it("leaves out the words of the question itself and repeats", () => {
    expect(queryTerms("What did Ann say about the paintings? The painting!")).toEqual(["ann", "sai", "paint"])
  })

  it("keeps stop words when nothing else remains", () => {
    expect(queryTerms("Who are you?")).toEqual(["who", "ar", "you"])
  })

  it("takes the first terms of an overlong query", () => {
    expect(queryTerms(Array.from({ length: 500 }, (_, at) => `w${at}`).join(" "))).toHaveLength(QUERY_TERMS_MAX)
  })

  it("finds no term in text without words", () => {
    expect(queryTerms("?! \u0000 🙂")).toEqual([])
  })
})
