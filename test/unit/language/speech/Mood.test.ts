/** How a sentence is said, whether it denies, and whether what it tells is over. */
import { describe, expect, it } from "@effect/vitest"
import { isOver, isWithdrawal, type Mood, moodOf, negatorsIn } from "@muniment/language/speech/Mood"
import { writtenOut } from "@muniment/language/speech/WrittenOut"

describe("a sentence", () => {
  const moods: ReadonlyArray<readonly [sentence: string, mood: Mood]> = [
    ["I live in Rome.", "stated"],
    ["Do I live in Rome?", "asked"],
    ["Maybe I am allergic to nuts.", "supposed"],
    ["In another life I'm a baker.", "supposed"],
    ["My son says I live in the past.", "reported"],
    ["I never said I live in Rome.", "reported"],
    ["Tell my boss that I'm sick.", "reported"],
    ["According to Ana, I live in Split.", "reported"],
    ["I work at NASA, I wish.", "withdrawn"],
    ["Just kidding.", "withdrawn"]
  ]
  for (const [sentence, mood] of moods) {
    it(`has its mood: ${sentence}`, () => expect(moodOf(writtenOut(sentence))).toBe(mood))
  }

  it.each([
    ["I like neither coffee nor tea.", true, false],
    ["I hardly eat meat.", true, false],
    ["I got laid off.", false, true],
    ["I was a nurse once.", false, true],
    ["I was born in Rome.", false, false],
    ["I like a few people.", false, false]
  ])("may deny, or be over: %s", (sentence, isDenied, isPast) => {
    const text = writtenOut(sentence)
    expect([negatorsIn(text).length > 0, isOver(text)]).toEqual([isDenied, isPast])
  })

  it("may take back what was said before it", () => {
    expect(isWithdrawal(writtenOut("Just kidding, I don't live in Rome."))).toBe(true)
    expect(isWithdrawal(writtenOut("I don't live in Rome."))).toBe(false)
  })
})
