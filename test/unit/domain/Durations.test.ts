/** Durations on the wire, as they are taken and as the document of the API describes them. */
import { Schema } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { DurationText, durationMillis } from "@muniment/domain/GivenTimes"
import { Limits } from "@muniment/domain/Limits"

const documented = (): RegExp => {
  const { schema } = Schema.toJsonSchemaDocument(DurationText)
  return new RegExp(/"pattern":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(schema))![1]!.slice(1, -1))
}

const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const

it("are documented as they are taken: up to the bound of each unit, and no further", () => {
  const pattern = documented()
  for (const [unit, seconds] of Object.entries(secondsOf)) {
    const most = Math.floor((Limits.durationDaysMax * 86_400) / seconds)
    for (const number of [-1, 0, 1, 9, 10, most - 1, most, most + 1, most * 10]) {
      const text = `${number}${unit}`
      expect([text, pattern.test(text)]).toEqual([text, durationMillis(text) !== undefined])
    }
  }
})

it("have the same texts in both", () => {
  const pattern = documented()
  const text = fc
    .tuple(fc.nat(400_000_000), fc.constantFrom("s", "m", "h", "d", "w", "y", ""))
    .map((parts) => parts.join(""))
  const small = fc.tuple(fc.nat(6_000), fc.constantFrom("h", "d", "w")).map((parts) => parts.join(""))
  fc.assert(
    fc.property(fc.oneof(text, small, fc.string()), (given) => {
      expect(pattern.test(given)).toBe(durationMillis(given) !== undefined)
    })
  )
})
