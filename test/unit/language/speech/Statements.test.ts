/** Run-on sentences: each statement is judged by itself, as far as the ones before it let it. */
import { describe, expect, it } from "@effect/vitest"
import { statementsOf } from "@muniment/language/speech/Mood"
import { briefs, type Row } from "../../insight/rules/reading.ts"

const rows: ReadonlyArray<Row> = [
  ["yes please, but I work from 8 to 4 so only evenings", ["user: The user works from 8 to 4"]],
  [
    "my brother Enzo might drive one for me, he's a courier so he's used to it",
    ["user: The user's brother is called Enzo", "Enzo: Enzo is a courier"]
  ],
  [
    "I'm a nurse, could you write a card for my sister Ana?",
    ["user: The user is a nurse", "user: The user's sister is called Ana"]
  ],
  ["if she opens a bakery I'm moving to Aarhus, I work there", []],
  ["my mum says I'm a slob, I live in a mess and I eat meat", []],
  [
    "I'm doing a masters in law at Ghent University, exam period, send help",
    ["user: The user is doing a masters in law at Ghent University"]
  ],
  ["I speak Spanish, French and a little German", ["user: The user speaks Spanish, French and a little German"]],
  ["Last Friday, I went to a pottery workshop", ["user @ 2026-02-27: The user went to a pottery workshop"]],
  ["I'm opening my shop on Saturday, 21 March", ["user @ 2026-03-21: The user is opening the user's shop"]],
  ["I play tennis on Monday afternoons", ["user: The user plays tennis on Monday afternoons"]],
  [
    "I can't eat wheat :( they found out I'm coeliac in december",
    ["user: The user can not eat wheat", "user: The user is coeliac"]
  ],
  ["I'm having people round, what can I cook for a vegan, a keto person and my dad", []],
  ["You're a saint. I live in Rome.", ["user: The user lives in Rome"]],
  ["I don't care for garlic", ["user dislikes: garlic"]]
]

describe("run-on sentences", () => {
  for (const [sentence, expected] of rows) {
    it(`are read: ${sentence}`, () => expect(briefs(sentence)).toEqual(expected))
  }

  it("stay whole where a subject is shared and where a question or a scene begins", () => {
    for (const whole of [
      "my wife and I live in Rome",
      "when I was young, I lived in Rome",
      "do you know that I live in Rome, and I like it",
      "remember, I am vegan"
    ]) {
      expect(statementsOf(whole)).toEqual([whole])
    }
  })

  it("bind a pronoun to the relative whom the question names", () => {
    expect(briefs("My friend Joana offered help.")).toEqual(["user: The user's friend is called Joana"])
  })
})
