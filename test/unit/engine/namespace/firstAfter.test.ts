import fc from "fast-check"
import { expect, it } from "vitest"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { firstAfter } from "@muniment/engine/namespace/firstAfter"

it("lists as many places after a position as are asked for, none included, as sorting all of them would", () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 20 })
  const position = fc.option(fc.integer({ min: -1, max: 9 }), { nil: undefined })
  fc.assert(
    fc.property(numbers, position, fc.integer({ min: 0, max: 25 }), (values, after, limit) => {
      const compare = (left: { readonly value: number }, right: { readonly value: number }) => left.value - right.value
      const places = values.map((value) => ({ value }))
      const from = after === undefined ? undefined : { value: after }
      const listed = firstAfter(Bitmap.of(values.keys()), from, limit, compare, (slot) => places[slot]!)
      const sorted = places.filter((place) => from === undefined || compare(place, from) > 0).sort(compare)
      expect(listed).toEqual(sorted.slice(0, limit))
    })
  )
})
