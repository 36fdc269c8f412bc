/** What of a message becomes a memory, and what stays in the message alone. */
import { describe, expect, it } from "@effect/vitest"
import { brief, briefs, read, said } from "./reading.ts"

const slotsOf = (...contents: ReadonlyArray<string>) =>
  read({ messages: said(...contents) }).candidates.map(({ slot }) => slot)

describe("the output gate", () => {
  const dropped: ReadonlyArray<readonly [string, string]> = [
    ["a pronoun as the object", "I really like those."],
    ["something that only the listener sees", "I love the colors and the vibe!"],
    ["what is the listener's", "I love your garden."],
    ["a wish", "I want to learn the piano."],
    ["a need", "I need a new desk."],
    ["an event without a day", "I went to the market with Ana."],
    ["a plan for some day", "I'm going to visit Rome some day."],
    ["a day that was good", "I had a great time last weekend."],
    ["a verb without its object", "I started yesterday."],
    ["a lone gerund that is no activity", "I love learning."],
    ["a passing state", "I have a headache."],
    ["a clause of a noun", "Here is the painting that I finished on Friday."],
    ["words of an assistant about itself", "We push each other to improve."],
    ["a relative who is praised", "My kids are a real blessing."],
    ["a name that nobody introduced", "Max loves playing fetch."],
    ["a judgement of the past", "My job was a bummer."],
    ["a clause without its pronoun", "It reminds me of the good times I had at concerts last month."],
    ["greetings", "See you soon, I had fun."],
    ["a long statement", "I love how the light falls through the old windows of the church when we sing there."]
  ]
  for (const [what, sentence] of dropped) {
    it(`drops ${what}: ${sentence}`, () => expect(briefs(sentence)).toEqual([]))
  }

  it("keeps interjections and names out of what is told, and in their place", () => {
    expect(briefs("Wow I love figs")).toEqual(["user likes: figs"])
    expect(briefs("Great Maria, I work as a nurse.")).toEqual(["user: The user works as a nurse"])
    expect(briefs("Haha, last Friday I went to a concert.")).toEqual(["user @ 2026-02-27: The user went to a concert"])
  })

  it("never replaces a year that was said, nor takes a vague time for one", () => {
    expect(briefs("My surgery was on April 9, 2024.")).toEqual(["user @ 2024-04-09: The user's surgery"])
    expect(briefs("My interview is set for April 9, 2027.").join()).toContain("2027-04-09")
    expect(briefs("My visa hearing is marked complete on April 9, 2024.").join()).not.toMatch(/2025|2026/)
    expect(briefs("I started surfing a few years ago.").join()).not.toMatch(/20\d\d/)
  })

  it("takes no name from a signature in the middle, a picture or a place", () => {
    expect(briefs("Cheers, James! Thanks for the tip.")).toEqual([])
    expect(briefs("It's Seattle, I can't wait.")).toEqual([])
    expect(briefs("I like tea.", "Looky here! I like turtles.").join()).not.toContain("Looky")
  })

  it("ends an object where a reason begins", () => {
    expect(briefs("I love hiking because nature calms me.")).toEqual(["user likes: hiking"])
    expect(briefs("I'm allergic to nuts, so I read every label.")).toContain("user: The user is allergic to nuts")
  })
})

describe("the one value of an attribute", () => {
  it("is named by what it is of, however it is told", () => {
    expect(slotsOf("I live in Rome.", "I moved to Porto.").map((slot) => slot?.attribute)).toEqual(["home", "home"])
    expect(slotsOf("I work for Equinor.")).toEqual([{ attribute: "employer" }])
    expect(slotsOf("I no longer live in Oslo.")).toEqual([{ attribute: "home" }])
    expect(slotsOf("My sister Anna lives in Bern.").at(-1)).toEqual({ attribute: "home", person: "Anna" })
    expect(slotsOf("My name is Ana. I live in Rome.").at(-1)).toEqual({ attribute: "home", speaker: "Ana" })
  })

  it("is the same for a taste and its reversal, and for an appointment and its new day", () => {
    expect(slotsOf("I like mushrooms.", "I don't like mushrooms any more.").map((slot) => slot?.attribute)).toEqual([
      "taste mushroom",
      "taste mushroom"
    ])
    expect(
      slotsOf("I have a dentist appointment tomorrow.", "My dentist appointment is postponed to Friday.").map(
        (slot) => slot?.attribute
      )
    ).toEqual(["date dentist appointment"])
  })

  it("is of its own where several values stand beside each other", () => {
    const attributes = slotsOf("I have a brother called Tom.", "I speak Dutch.", "I'm allergic to nuts.").map(
      (slot) => slot?.attribute ?? ""
    )
    expect(attributes.filter((attribute) => !attribute.startsWith("said "))).toEqual([])
    expect(new Set(attributes).size).toBe(attributes.length)
  })

  it("belongs to the person who spoke, by the name of the message", () => {
    const messages = [
      { role: "user", name: "Ines", content: "I live in Lisbon." },
      { role: "user", name: "Tomas", content: "I live in Porto." }
    ] as const
    expect(read({ messages }).candidates.map(brief)).toEqual([
      "Ines: Ines lives in Lisbon",
      "Tomas: Tomas lives in Porto"
    ])
  })
})
