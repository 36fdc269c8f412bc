/** Sums over all namespaces that cost nothing to read. */
import fc from "fast-check"
import { expect, it } from "vitest"
import { BacklogCounts, type Counted } from "@muniment/server/jobs/VectorBacklog"
import { namespaceKey } from "../../../support/EngineFixtures.ts"

const change = fc.record({
  tag: fc.constantFrom("a", "b", "c", "d"),
  to: fc.option(
    fc.record({
      missing: fc.nat(5),
      rows: fc.nat(9),
      models: fc.uniqueArray(fc.constantFrom("one", "two"), { maxLength: 2 })
    })
  )
})

it("equal the sums of what was last seen of each namespace", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const counts = new BacklogCounts()
      const seen = new Map<string, Counted>()
      for (const { tag, to } of changes) {
        const key = namespaceKey(tag)
        if (to === null) counts.delete(key.tag)
        else counts.set({ key, ...to })
        if (to === null) seen.delete(tag)
        else seen.set(tag, { key, ...to })
      }
      const all = [...seen.values()]
      expect(counts.missing).toBe(all.reduce((sum, { missing }) => sum + missing, 0))
      expect(counts.rows).toBe(all.reduce((sum, { rows }) => sum + rows, 0))
      expect(new Set(counts.models)).toEqual(new Set(all.flatMap(({ models }) => models)))
      expect(new Set(counts.lacking)).toEqual(new Set(all.flatMap(({ key, missing }) => (missing > 0 ? [key] : []))))
      expect(new Set(counts.all)).toEqual(new Set(all))
    })
  )
})

it("look at no namespace when they are read", () => {
  const counts = new BacklogCounts()
  let looks = 0
  for (let at = 0; at < 1_000; at++) {
    counts.set({
      key: namespaceKey(`tag ${at}`),
      models: ["one"],
      rows: 2,
      get missing() {
        looks += 1
        return 1
      }
    })
  }
  const before = looks
  expect([counts.missing, counts.rows, [...counts.models]]).toEqual([1_000, 2_000, ["one"]])
  expect(looks).toBe(before)
})
