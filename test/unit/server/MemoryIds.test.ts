/** Ids made at ingress: unique, in order, whatever the clock does, and they name their namespace. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { memoryIdOf, namespaceTagOf } from "@muniment/domain/Ids"
import { MemoryIds } from "@muniment/server/memories/MemoryPreparation"
import { it } from "../../support/it.ts"

const tag = "0123456789ab"

const isAscending = (ids: ReadonlyArray<string>): boolean => ids.every((id, at) => at === 0 || ids[at - 1]! < id)

describe("memory ids", () => {
  it.effect("sort in the order they were made, within a millisecond and over time", function* () {
    const ids = new MemoryIds()
    const made: Array<string> = []
    for (let millis = 0; millis < 20; millis++) {
      yield* TestClock.setTime(1_700_000_000_000 + millis)
      for (let at = 0; at < 200; at++) made.push(yield* ids.next(tag))
    }
    expect(isAscending(made)).toBe(true)
    expect(made.every((id) => /^mem_[0-9A-HJKMNP-TV-Z]{26}$/.test(id))).toBe(true)
  })

  it.effect("go on in order when the clock steps back", function* () {
    const ids = new MemoryIds()
    const made: Array<string> = []
    for (const now of [2_000, 1_000, 1_500, 1_999, 2_000, 2_001, 5]) {
      yield* TestClock.setTime(1_700_000_000_000 + now)
      for (let at = 0; at < 50; at++) made.push(yield* ids.next(tag))
    }
    expect(isAscending(made)).toBe(true)
  })

  it.effect("of concurrent requests do not repeat", function* () {
    const ids = new MemoryIds()
    const made = yield* Effect.all(
      Array.from({ length: 1_000 }, () => ids.next(tag)),
      { concurrency: "unbounded" }
    )
    expect(new Set(made).size).toBe(1_000)
  })

  it("carry time, counter and namespace in their order of weight", () => {
    const millis = fc.nat(2 ** 47)
    const counter = fc.nat(2 ** 26 - 1)
    const namespace = fc.stringMatching(/^[0-9a-f]{12}$/)
    fc.assert(
      fc.property(millis, counter, namespace, millis, counter, namespace, (time, count, tag, time2, count2, tag2) => {
        const id = memoryIdOf(time, count, tag)
        const id2 = memoryIdOf(time2, count2, tag2)
        expect(namespaceTagOf(id)).toBe(tag)
        const order = Math.sign(time - time2) || Math.sign(count - count2) || (tag < tag2 ? -1 : tag > tag2 ? 1 : 0)
        expect(id < id2 ? -1 : id > id2 ? 1 : 0).toBe(order)
      })
    )
  })

  it("of another form name no namespace", () => {
    for (const id of [
      "",
      "mem_",
      "mem_8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
      "mem_01kaj8q0v7e5xk9d2m4n6p8r0t",
      `${"x".repeat(30)}`
    ])
      expect(namespaceTagOf(id)).toBeUndefined()
  })
})
