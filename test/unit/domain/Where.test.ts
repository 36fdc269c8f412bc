/** Conditions on data and metadata: what they mean, and what is refused of them and where. */
import fc from "fast-check"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"
import { conditionOf, isMatch, WhereFilter } from "@muniment/domain/Where"
import { whereCases } from "../../support/whereCases.ts"

const scalar = fc.constantFrom(null, true, false, 0, 1, 2.5, "", "a", "b", "2026-01-01")
const field = fc.constantFrom("a", "b", "toString")
const leafValue = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }))
const object = fc.dictionary(field, fc.oneof(leafValue, fc.dictionary(field, leafValue, { maxKeys: 2 })), {
  maxKeys: 3
})
const memory = fc.record({ data: object, metadata: fc.option(object, { nil: undefined }) })

it("a memory matches as each part of the condition says", () => {
  fc.assert(
    fc.property(whereCases(["data", "metadata"], ["a", "b", "toString"], scalar), memory, ({ holds, where }, given) => {
      expect(isMatch(conditionOf(where), given)).toBe(holds(given))
    }),
    { numRuns: 2_000 }
  )
})

const matches = (where: JsonObject, data: JsonObject) => isMatch(conditionOf(where), { data })

it("several fields, and several tests of a field, hold together", () => {
  expect(matches({ "data.a": 1, "data.b": { gt: 1, lt: 3 } }, { a: 1, b: 2 })).toBe(true)
  expect(matches({ "data.a": 1, "data.b": { gt: 1, lt: 3 } }, { a: 1, b: 3 })).toBe(false)
})

it("values of different types are different, and are in no order", () => {
  expect(matches({ "data.a": "1" }, { a: 1 })).toBe(false)
  expect(matches({ "data.a": { gte: "0" } }, { a: 1 })).toBe(false)
  expect(matches({ "data.a": { ne: "1" } }, { a: 1 })).toBe(true)
})

it("null is a value: a field that is missing is neither null nor in any order", () => {
  expect([matches({ "data.a": null }, { a: null }), matches({ "data.a": null }, {})]).toEqual([true, false])
  expect([matches({ "data.a": { exists: true } }, { a: null }), matches({ "data.a": { lt: 9 } }, {})]).toEqual([
    true,
    false
  ])
})

const decode = Schema.decodeUnknownExit(WhereFilter)
const nested = (depth: number): object => (depth === 1 ? { "data.a": 1 } : { not: nested(depth - 1) })
const tests = (count: number) => ({ or: Array.from({ length: count }, (_, at) => ({ "data.a": at })) })
const values = (count: number) => ({ "data.a": { in: Array.from({ length: count }, (_, at) => at) } })

describe("bounds", () => {
  it.each([
    ["depth", nested, Limits.whereDepthMax],
    ["tests", tests, Limits.whereTestsMax],
    ["values", values, Limits.whereValuesMax]
  ])("of %s", (_name, of, most) => {
    expect([decode(of(most))._tag, decode(of(most + 1))._tag]).toEqual(["Success", "Failure"])
  })

  it("of the names of a path", () => {
    const path = (names: number) => ({ [`data${".a".repeat(names)}`]: 1 })
    expect([decode(path(8))._tag, decode(path(9))._tag]).toEqual(["Success", "Failure"])
  })
})
