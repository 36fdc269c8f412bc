/** Which questions a model of English cannot read. */
import { describe, expect, it } from "vitest"
import { isForeign } from "@muniment/language/text/Language"

describe("isForeign", () => {
  it.each([
    "Wo wohnt eigentlich mein Bruder?",
    "¿Dónde trabaja mi hermana ahora?",
    "Quand est-ce que nous partons pour Lyon ?",
    "Как зовут мою собаку?",
    "我的猫叫什么名字？",
    "妹はどこに住んでいますか",
    "내 고양이 이름이 뭐야?",
    "أين يسكن أخي؟"
  ])("knows that %s is not English", (text) => {
    expect(isForeign(text)).toBe(true)
  })

  it.each([
    "Where does my brother live?",
    "Pan's Labyrinth by del Toro",
    "What did María say about the Café de la Paix?",
    "What does 猫 mean?",
    "kitchen tiles",
    "",
    "2024-05-01 17:30"
  ])("takes %s for English, or nothing", (text) => {
    expect(isForeign(text)).toBe(false)
  })
})
