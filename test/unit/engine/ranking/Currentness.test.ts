/** The later of two statements about one matter goes first (contract: Search, `newerFirst`). */
import { describe, expect, it } from "vitest"
import { laterFirst, type StatedHit } from "@muniment/engine/ranking/Currentness"
import { messageTraits } from "@muniment/engine/text/MemoryText"

interface Given extends Partial<StatedHit> {
  readonly position?: number
  readonly traits?: number
}

/** A message of Ann, if nothing else is given; ids are in the order of time. */
const hit = (text: string, saidAt: number, { position, traits = 0, ...given }: Given = {}): StatedHit => ({
  id: String(saidAt),
  createdAt: 0,
  saidAt,
  message: { speaker: "ann", traits, position },
  who: "ann",
  order: -saidAt / 2,
  text,
  ...given
})
const fact = (text: string, saidAt: number, given: Given = {}) => hit(text, saidAt, { message: undefined, ...given })

/** Texts in the new order. The usual pair has a cosine of .78, every other one this. */
const up = (question: string, hits: ReadonlyArray<StatedHit>, cosine: number | undefined = 0.87) =>
  laterFirst(hits, question, { cosineOf: () => cosine }).map(({ text }) => text)

const work = "Where does Ann work?"
const mill = hit("I work at the mill", 1)
const bank = hit("The bank hired me, I started on Monday", 3)
const rain = hit("The rain did not stop", 2, { order: -6, who: "ben" })

describe("laterFirst", () => {
  it("puts a later state before the best hit, and keeps the others in place", () => {
    expect(up(work, [mill, rain, bank])).toEqual([bank.text, mill.text, rain.text])
    expect(up(work, [bank, mill, rain])).toEqual([bank.text, mill.text, rain.text])
  })

  it.each([
    ["Where do I live?", "We live in Cork", "We moved to Galway"],
    ["What car do I drive?", "I drive a blue Fabia", "Sold the Fabia and picked up a Niro instead"],
    ["When is the wedding?", "The wedding is on 8 June", "The wedding slipped to 21 September"],
    ["Where is the party?", "The party is at the club", "We agreed on the barn for the party"],
    ["Which plot is mine?", "Plot 12 is mine", "We settled in on plot 31 by the brook"],
    ["What do I drink at breakfast?", "Tea, that's my breakfast", "From here on it's ginger in hot water at breakfast"],
    ["Do I drink coffee?", "I drink coffee all day", "I don't drink it any more"]
  ])("%s: reads the later one", (question, older, newer) => {
    expect(up(question, [hit(older, 1), hit(newer, 2)])).toEqual([newer, older])
  })

  it.each([
    ["Where does Ann keep her bike?", "Ann keeps her bike in the cellar", "Ann keeps her bike at the station"],
    ["How often does Ann swim?", "Ann swims twice a week", "Ann swims once a month"]
  ])("%s: reads the later fact", (question, older, newer) => {
    expect(up(question, [fact(older, 1), fact(newer, 2)], 0.93)).toEqual([newer, older])
    // Across kinds too.
    expect(up(question, [fact(older, 1), hit(newer, 2)], 0.93)).toEqual([newer, older])
    expect(up(question, [hit(older, 1), fact(newer, 2)], 0.93)).toEqual([newer, older])
  })

  it("leaves a fact about another matter, however near", () => {
    const card = fact("Ann's library card has the number 20417", 1)
    const pass = fact("Ann's museum pass has the number 55862", 2)
    expect(up("What is the number of Ann's library card?", [card, pass], 0.87)).toEqual([card.text, pass.text])
  })

  it("wants the two to stand out as near, where other hits show what is usual", () => {
    const others = Array.from({ length: 6 }, (_, at) => hit(`Ann is in the garden ${at}`, 0, { id: `a${at}` }))
    const cosineOf = (usual: number) => (one: StatedHit, other: StatedHit) =>
      [one, other].some((each) => others.includes(each)) ? usual : 0.87
    const hits = [mill, bank, ...others]
    expect(laterFirst(hits, work, { cosineOf: cosineOf(0.77) })[0]).toBe(bank)
    expect(laterFirst(hits, work, { cosineOf: cosineOf(0.89) })[0]).toBe(mill)
  })

  it("leaves what is about somebody else, or lacks the sort of value that is asked for", () => {
    const sister = hit("My sister started at the bank", 3)
    expect(up(work, [mill, sister], 0.8)).toEqual([mill.text, sister.text])
    const monday = hit("I see the dentist on Monday", 1)
    const coat = hit("I hung the coat there", 2)
    expect(up("When do I see the dentist?", [monday, coat], 0.79)).toEqual([monday.text, coat.text])
  })

  it.each([
    ["How much do I weigh?", "I weigh 84 kilos", "He weighed 34 kilos, the dog, and he is on a diet now"],
    [
      "What phone do I have?",
      "I have a Pixel as my phone",
      "I thought about changing to an iPhone, no new phone for me"
    ],
    ["Where do I live?", "I live in Bristol", "I was at my sister's in Bath, she has moved into a house"],
    ["How many cats do I have?", "I have two cats", "The cats are on the curtains"],
    ["What is my bank's hint?", "The hint of my bank is the first dog", "I changed the hint of my email"]
  ])("%s: leaves what is of another thing or person, or not so", (question, older, newer) => {
    expect(up(question, [hit(older, 1), hit(newer, 2, { order: -3 })], 0.8)).toEqual([older, newer])
  })

  it("puts the later one first at the distances of those", () => {
    const later = hit("We moved to Bath", 2, { order: -3 })
    expect(up("Where do I live?", [hit("I live in Bristol", 1), later], 0.8)[0]).toBe(later.text)
  })

  it("leaves what corrects another fact of the same message, also where both fill one slot", () => {
    const both = hit("I live in Lisbon with my dog Bruno, rent is 900.", 1)
    const moved = hit("Actually I moved to Porto last week, and the rent is 1,050 now.", 2)
    for (const question of ["Where do I live?", "How much is my rent?"])
      expect(up(question, [both, moved], 0.82)).toEqual([moved.text, both.text])
    expect(up("What is my dog called?", [both, moved], 0.82)).toEqual([both.text, moved.text])
    const pairs = { cosineOf: () => 0.7, isLater: () => true }
    expect(laterFirst([both, moved], "What is my dog called?", pairs)).toEqual([both, moved])
    expect(laterFirst([both, moved], "Where do I live?", pairs)).toEqual([moved, both])
  })

  it("leaves what is far from the older one, although something else that the two tell was superseded", () => {
    const workshop = hit("My workshop is in Wieliczka, the larch comes from Zbyszek", 1)
    const dealer = hit("Zbyszek did not deliver, I've ordered it from a dealer in Nowy Targ", 2, { order: -3 })
    const pairs = { cosineOf: () => 0.7, isLater: () => true }
    expect(laterFirst([workshop, dealer], "Where is my workshop?", pairs)).toEqual([workshop, dealer])
  })

  it("goes on to the newest of three", () => {
    const hits = [hit("I live in Graz", 1), hit("I moved to Linz", 2), hit("I moved back to Vienna", 3)]
    expect(up("Where do I live?", hits)[0]).toBe("I moved back to Vienna")
  })

  it("looks at the first ten alone", () => {
    const between = Array.from({ length: 9 }, (_, at) => hit(`Rain ${at}`, 0, { id: `a${at}` }))
    const late = hit("I work at the mill no more, I quit and the bank hired me", 3)
    const near = (one: StatedHit, other: StatedHit) => (between.includes(one) || between.includes(other) ? 0.7 : 0.95)
    expect(laterFirst([mill, ...between, late], work, { cosineOf: near })[0]).toBe(mill)
    expect(laterFirst([mill, ...between.slice(1), late], work, { cosineOf: near })[0]).toBe(late)
  })

  it("lets the user's later word stand before what the assistant said, and never the other way", () => {
    const said = (text: string, saidAt: number, who: string) =>
      hit(text, saidAt, { who, traits: who === "user" ? messageTraits.isByUser : 0 })
    const older = said("The race is on 25 October", 1, "assistant")
    const newer = said("They moved the race, it's 1 November now", 2, "user")
    expect(up("When is the race?", [older, newer])[0]).toBe(newer.text)
    const echo = said("The race is on 25 October, not now", 3, "assistant")
    expect(up("When is the race?", [newer, echo])[0]).toBe(newer.text)
  })

  it("compares statements by or about one person whose times are known alike", () => {
    for (const other of [{ who: "ben" }, { who: undefined }, { traits: messageTraits.onlyAsks }, { saidAt: undefined }])
      expect(up(work, [mill, hit(bank.text, 3, other)])[0]).toBe(mill.text)
    expect(
      up(work, [
        { ...mill, who: undefined },
        { ...bank, who: undefined }
      ])[0]
    ).toBe(mill.text)
    expect(laterFirst([mill, bank], work, { cosineOf: () => undefined })).toEqual([mill, bank])
  })

  it("goes by the time of storing, by position and by the order of storing where no other time differs", () => {
    const moved = "I moved to the bank"
    expect(up(work, [hit(mill.text, 7), hit(moved, 7, { createdAt: 5 })])[0]).toBe(moved)
    expect(up(work, [hit(mill.text, 7, { position: 1 }), hit(moved, 7, { position: 2 })])[0]).toBe(moved)
    expect(up(work, [hit(mill.text, 7, { position: 2 }), hit(moved, 7, { position: 1 })])[0]).toBe(mill.text)
    expect(up(work, [hit(mill.text, 7, { id: "a" }), hit(moved, 7, { id: "b" })])[0]).toBe(moved)
  })
})
