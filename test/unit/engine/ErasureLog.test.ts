import { expect, it } from "vitest"
import { ErasureLog, erasuresKept } from "@muniment/engine/store/ErasureLog"
import { speaksFor } from "@muniment/engine/speaksFor"

it("an erasure counts for its scope, or for all, from the mark on", () => {
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

it("a known memory speaks for a new one that lives at most twice as long", () => {
  expect([speaksFor(undefined, undefined, 0), speaksFor(undefined, 5, 0)]).toEqual([true, true])
  expect([speaksFor(10, undefined, 0), speaksFor(10, 20, 0), speaksFor(10, 21, 0)]).toEqual([false, true, false])
})
