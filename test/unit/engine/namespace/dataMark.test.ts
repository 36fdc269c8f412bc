/** Marks of data: they never leave out data that has the values of a filter, and most that has not. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { hasValues } from "@muniment/engine/namespace/DataMatches"
import { dataMark, mayHave } from "@muniment/engine/namespace/dataMark"

const scalar = fc.oneof(
  fc.constantFrom("Oslo", "", "30", "true", "null", "é", "\u0000"),
  fc.constantFrom(30, 0, -0, 1e21, 0.1),
  fc.boolean(),
  fc.constant(null)
)
const name = fc.constantFrom("city", "age", "likes", "toString", "a\u0000", "")
const data = fc.dictionary(name, fc.oneof(scalar, fc.array(scalar, { maxLength: 4 }), fc.constant({ city: "Oslo" })))
const filter = fc.dictionary(name, scalar, { minKeys: 1, maxKeys: 3 })

describe("a mark", () => {
  it("lets through all data that has the values", () => {
    fc.assert(
      fc.property(data, filter, (held, wanted) => {
        const isFound = hasValues(held, wanted)
        return !isFound || mayHave(dataMark(held), dataMark(wanted))
      }),
      { numRuns: 2_000 }
    )
  })

  it("of the data's own values lets it through, as a list or alone", () => {
    const held = { city: "Oslo", age: 30, likes: ["figs", "tea"], nick: null, friend: false, home: { city: "Rome" } }
    for (const wanted of [{ city: "Oslo" }, { age: 30, likes: "tea" }, { nick: null }, { friend: false }]) {
      expect([wanted, mayHave(dataMark(held), dataMark(wanted))]).toEqual([wanted, true])
    }
  })

  it("leaves out 99 of 100 facts that have other values", () => {
    const facts = Array.from({ length: 10_000 }, (_, at) => ({
      subject: `shelf ${at % 97}`,
      fact: `Item ${at} is here.`
    }))
    for (const shelf of [3, 42, 96]) {
      const wanted = { subject: `shelf ${shelf}` }
      const others = facts.filter((fact) => !hasValues(fact, wanted))
      const passed = others.filter((fact) => mayHave(dataMark(fact), dataMark(wanted)))
      expect(passed.length).toBeLessThan(others.length / 100)
    }
  })

  it("that is not known lets everything through", () => {
    expect(mayHave(undefined, dataMark({ city: "Oslo" }))).toBe(true)
  })
})
