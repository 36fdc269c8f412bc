import { expect, it } from "vitest"
import { ErasureLog, erasuresKept } from "@muniment/engine/store/Conversations"
import { coversLife } from "@muniment/engine/namespace/Draft"

it("an erasure after the mark applies to its scope, or to all", () => {
  const log = new ErasureLog()
  log.add("mine")
  const mark = log.mark()
  expect(log.hasSince(mark, "mine")).toBe(false)
  log.add("yours")
  expect([log.hasSince(mark, "mine"), log.hasSince(mark, "yours")]).toEqual([false, true])
  log.add(undefined)
  expect(log.hasSince(mark, "mine")).toBe(true)
  expect(log.hasSince(log.mark(), "mine")).toBe(false)
})

it("a mark that is too old, or of a namespace that was closed since, counts as erased", () => {
  const log = new ErasureLog()
  const mark = log.mark()
  for (let at = 0; at < erasuresKept; at++) log.add("yours")
  expect(log.hasSince(mark, "mine")).toBe(false)
  log.add("yours")
  expect(log.hasSince(mark, "mine")).toBe(true)
  expect(log.hasSince(new ErasureLog().mark(), "mine")).toBe(true)
})

it("a stored memory covers a new one that lives at most twice as long", () => {
  expect([coversLife(undefined, undefined, 0), coversLife(undefined, 5, 0)]).toEqual([true, true])
  expect([coversLife(10, undefined, 0), coversLife(10, 20, 0), coversLife(10, 21, 0)]).toEqual([false, true, false])
})
