/** The language of a text, the stems it is stored by, and the terms that find them. */
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { languageMarks } from "@muniment/language/text/LanguageStems"
import { byLanguage, englishOnly, searchTerms, VARIANT_SEPARATOR } from "@muniment/language/text/Tokenizer"

const stored = (text: string): ReadonlyArray<string> => byLanguage.main(text).tokens

/** Whether a query looks for a word that the text is stored by. */
const finds = (query: string, text: string): boolean => {
  const tokens = new Set(stored(text))
  return searchTerms(query).some((term) => term.split(VARIANT_SEPARATOR).some((variant) => tokens.has(variant)))
}

describe("the language of a text", () => {
  it.each([
    ["english", "We are moving to the old house by the river in May."],
    ["english", "See ya, Calvin! Nice car, the war is over."],
    ["english", "Buenos Aires"],
    ["german", "Meine Schwester wohnt jetzt in einem alten Haus."],
    ["spanish", "Mi hermana vive ahora en una casa antigua."],
    ["french", "Ma soeur habite maintenant dans une vieille maison."],
    ["italian", "Mia sorella abita adesso in una vecchia casa."],
    ["portuguese", "Minha irm\u00e3 mora agora numa casa antiga."]
  ])("is %s: %s", (language, text) => {
    expect(byLanguage.main(text).language).toBe(language)
  })
})

describe("stems by language", () => {
  it.each([
    ["Welche H\u00e4user kennst du?", "Das alte Haus steht am Fluss."],
    ["haeuser H\u00c4USER", "Er hat ein Haus gekauft."],
    [
      "\u0441\u043e\u0431\u0430\u043a\u0430\u043c\u0438",
      "\u0421\u043e\u0431\u0430\u043a\u0430 \u0441\u043f\u0438\u0442."
    ],
    ["\u0627\u0644\u062a\u0641\u0627\u062d", "\u062a\u0641\u0627\u062d\u0629 \u062d\u0645\u0631\u0627\u0621"],
    ["\u0928\u0926\u093f\u092f\u094b\u0902", "\u0928\u0926\u0940 \u0915\u0947 \u092a\u093e\u0938"],
    ["\u6211\u60f3\u4e70\u82f9\u679c", "\u82f9\u679c\u5f88\u65b0\u9c9c"],
    ["\u0e41\u0e21\u0e27", "\u0e09\u0e31\u0e19\u0e21\u0e35\u0e41\u0e21\u0e27\u0e2a\u0e2d\u0e07\u0e15\u0e31\u0e27"]
  ])("%s finds %s", (query, text) => {
    expect(finds(query, text)).toBe(true)
  })

  it("a name is found in a document of another language than the question", () => {
    expect(finds("Where does Sophie live?", "Sophie habite dans une petite maison pr\u00e8s de la gare.")).toBe(true)
    expect(finds("O\u00f9 habite Sophie ?", "Sophie lives in a small house near the station.")).toBe(true)
  })

  it("leaves English texts as they are", () => {
    const text = "Gina's dogs were running in the park, and she didn't see them until 2023."
    expect(stored(text)).toEqual(englishOnly.main(text).tokens)
  })

  it("looks for the words of an earlier release too", () => {
    const text = "\u0421\u043e\u0431\u0430\u043a\u0430 \u0441\u043f\u0438\u0442"
    const [term] = searchTerms("\u0441\u043e\u0431\u0430\u043a\u0430")
    expect(englishOnly.main(text).tokens).toContain(term!.split(VARIANT_SEPARATOR)[0])
  })

  it("keeps marks for itself, whatever the text", () => {
    const marks: ReadonlySet<string> = new Set(Object.values(languageMarks))
    const texts = fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(...marks, "\u1d48haus", "\u0301", "\u093c"))
    fc.assert(
      fc.property(texts, (text) => {
        for (const token of englishOnly.main(text).tokens) expect(marks.has(token.slice(0, 1))).toBe(false)
        for (const token of stored(text)) expect(token).toMatch(/^[\p{L}\p{N}\p{M}]+$/u)
      }),
      { numRuns: 300 }
    )
  })
})
