/** Clauses of a quoted text, and of whom each tells. */
import { describe, expect, it } from "@effect/vitest"
import { clausesOf } from "@muniment/language/speech/Clause"

describe("a clause", () => {
  it.each([
    ["I am allergic to nuts.", "speaker", ""],
    ["Yesterday we moved to Ghent.", "speaker", ""],
    ["My wife and I live in Ghent.", "speaker", ""],
    ["My wife is allergic to nuts.", "owned", "wife"],
    ["Anna is vegan.", "other", "anna"],
    ["Lena moved to Hamburg.", "other", "lena"],
    ["You live in Madrid.", "open", ""],
    ["The plumber has two kids.", "other", "plumber"],
    ["Some of my patients are allergic to latex.", "other", "patients"],
    ["One of the cats died.", "other", "cats"],
    ["None of us smokes.", "speaker", ""]
  ])("tells of its subject: %s", (text, subject, words) => {
    const clause = clausesOf(text).at(-1)
    expect(clause).toMatchObject({ subject })
    if (words !== "") expect([...clause!.subjectTerms].join(" ")).toContain(words.slice(0, 3))
  })

  it("has a subject of its own behind a contrast", () => {
    expect(clausesOf("Unlike my brother, I don't drink.").at(-1)?.subject).toBe("speaker")
    expect(clausesOf("My sister is vegan but I eat meat.").map(({ subject }) => subject)).toEqual(["owned", "speaker"])
  })
})
