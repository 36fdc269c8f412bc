/** A newer message that tells of a change goes before the best one (contract: Search, `newerFirst`). */
import { describe, expect, it } from "vitest"
import { newerUp, type DatedHit } from "@muniment/engine/ranking/NewerFirst"
import { messageTraits } from "@muniment/engine/text/MessageText"

const hit = (
  text: string,
  eventAt: number | undefined,
  given: Partial<DatedHit> & { speaker?: string; traits?: number } = {}
): DatedHit => ({
  text,
  createdAt: 0,
  eventAt,
  message: { speaker: given.speaker ?? "Ann", traits: given.traits ?? 0, position: eventAt },
  sources: [text],
  ...given
})

/** Texts in the new order; every pair of messages has this cosine. */
const up = (question: string, hits: ReadonlyArray<DatedHit>, cosine: number | undefined = 0.85) =>
  newerUp(hits, question, { cosineOf: () => cosine }).map(({ text }) => text)

const work = "Where does Ann work?"
const mill = hit("I work at the mill", 1)
const bank = hit("The bank hired me, I started on Monday", 3)
const rain = hit("The rain did not stop", 2)

describe("newerUp", () => {
  it("puts a newer message that tells of a change before the best one, and keeps the others in place", () => {
    expect(up(work, [mill, rain, bank])).toEqual([bank.text, mill.text, rain.text])
    expect(up(work, [bank, mill, rain])).toEqual([bank.text, mill.text, rain.text])
  })

  it.each([
    ["Where do I live?", "We live in Cork", "We moved to Galway"],
    ["What car do I drive?", "I drive a blue Fabia", "Sold the Fabia and picked up a Niro instead"],
    ["When is the wedding?", "The wedding is on 8 June", "The wedding is postponed to 21 September"],
    ["What do I take?", "I take 50 mg in the morning", "The doctor put me up to 75 mg"],
    ["What time is the talk?", "The talk is at six", "Scratch that, it's half past seven"],
    ["Do I drink coffee?", "I drink coffee all day", "I don't drink it any more"],
    ["When is the essay due?", "The essay is due on 3 March", "They gave us another fortnight, until 17 March"],
    ["Who looks after the dog?", "Greta looks after the dog", "From now on my brother takes the dog"]
  ])("%s: reads the change", (question, older, newer) => {
    expect(up(question, [hit(older, 1), hit(newer, 2)], 0.88)).toEqual([newer, older])
  })

  it("wants a word of change of messages that do not say nearly the same", () => {
    const other = hit("I like the bank of the river", 3)
    expect(up(work, [mill, other])).toEqual([mill.text, other.text])
    expect(up(work, [mill, hit("I work at the bank", 3)], 0.93)).toEqual(["I work at the bank", mill.text])
  })

  it("puts what is hardly relevant before a sure hit only with a word of change and the sort of value that is asked for", () => {
    const sure = hit("I see the dentist on Monday", 1, { relevance: 0.8 })
    const asked = "When do I see the dentist?"
    const same = (text: string) => hit(text, 2, { relevance: 0.05 })
    expect(up(asked, [sure, same("I see the dentist on Tuesday")], 0.95)[0]).toBe(sure.text)
    expect(up(asked, [sure, same("They moved my visit, no longer what it was")], 0.95)[0]).toBe(sure.text)
    expect(up(asked, [sure, same("The dentist moved it to Friday")], 0.95)[0]).toBe("The dentist moved it to Friday")
    const likely = hit(sure.text, 1, { relevance: 0.6 })
    expect(up(asked, [likely, same("I see the dentist on Tuesday")], 0.95)[0]).toBe("I see the dentist on Tuesday")
  })

  it("leaves what is about somebody else, or lacks the sort of value that is asked for", () => {
    const sister = hit("My sister started at the bank", 3)
    expect(up(work, [mill, sister])).toEqual([mill.text, sister.text])
    const monday = hit("I see the dentist on Monday", 1)
    const coat = hit("I left the coat there", 2)
    expect(up("When do I see the dentist?", [monday, coat])).toEqual([monday.text, coat.text])
  })

  it("leaves what corrects another fact of the same message, also where both fill one slot", () => {
    const both = hit("I live in Lisbon with my dog Bruno, rent is 900.", 1)
    const moved = hit("Actually I moved to Porto last week, and the rent is 1,050 now.", 2)
    for (const question of ["Where do I live?", "How much is my rent?"])
      expect(up(question, [both, moved])).toEqual([moved.text, both.text])
    expect(up("What is my dog called?", [both, moved])).toEqual([both.text, moved.text])
    const pairs = { cosineOf: () => 0.85, isLater: () => true }
    expect(newerUp([both, moved], "What is my dog called?", pairs)).toEqual([both, moved])
    expect(newerUp([both, moved], "Where do I live?", pairs)).toEqual([moved, both])
  })

  it("goes on to the newest of three", () => {
    const hits = [hit("I live in Graz", 1), hit("I moved to Linz", 2), hit("I moved back to Vienna", 3)]
    expect(up("Where do I live?", hits)[0]).toBe("I moved back to Vienna")
  })

  it("looks at the first ten alone", () => {
    const between = Array.from({ length: 9 }, (_, at) => hit(`Rain ${at}`, 0))
    const late = hit("I work at the mill no more, I quit and the bank hired me", 3)
    expect(up(work, [mill, ...between, late], 0.99)[0]).toBe(mill.text)
    expect(up(work, [mill, ...between.slice(1), late], 0.99)[0]).toBe(late.text)
  })

  it("compares statements of one speaker that have vectors", () => {
    expect(up(work, [mill, { ...bank, message: { speaker: "Ben", traits: 0 } }])[0]).toBe(mill.text)
    expect(up(work, [mill, { ...bank, message: { speaker: "Ann", traits: messageTraits.onlyAsks } }])[0]).toBe(
      mill.text
    )
    expect(up(work, [mill, { ...bank, message: undefined }])[0]).toBe(mill.text)
    expect(newerUp([mill, bank], work, { cosineOf: () => undefined })).toEqual([mill, bank])
  })

  it("passes what was taken from older messages, and questions, directly before them", () => {
    const taken = hit("Ann: works at the mill", 1, { message: undefined, sources: [mill.text] })
    const apart = hit("Ann: likes rain", 1, { message: undefined, sources: ["another message"] })
    const asks = hit("Where is the mill?", 1, { traits: messageTraits.onlyAsks })
    expect(up(work, [taken, mill, bank])).toEqual([bank.text, taken.text, mill.text])
    expect(up(work, [asks, mill, bank])).toEqual([bank.text, asks.text, mill.text])
    expect(up(work, [apart, mill, bank])).toEqual([apart.text, bank.text, mill.text])
  })

  it("goes by the time of storing and by position where no other time differs", () => {
    const stored = [hit("I work at the mill", undefined), hit("I moved to the bank", undefined, { createdAt: 5 })]
    expect(up(work, stored)[0]).toBe("I moved to the bank")
    const placed = (text: string, position: number) =>
      hit(text, 7, { message: { speaker: "Ann", traits: 0, position } })
    expect(up(work, [placed("I work at the mill", 1), placed("I moved to the bank", 2)])[0]).toBe("I moved to the bank")
  })
})
