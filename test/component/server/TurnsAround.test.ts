/** The turns around a message, over a real file: order, conversation, what has expired and what the caller may not see. */
import { expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { MemoryFilter } from "@muniment/domain/Search"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { turnsAround } from "@muniment/server/search/SourceMessages"
import {
  creating,
  engineOf,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()
const idOf = (number: number): string => memoryRecord(number, "").id

/** Numbers of the turns before and after each message asked for. */
const ask = Effect.fnUntraced(function* (numbers: ReadonlyArray<number>, eachSide: number, filter: MemoryFilter = {}) {
  const host = yield* NamespaceHost
  const { places } = yield* host.answer(key, { _tag: "ListPlaces", filter: {}, after: undefined, limit: 100 })
  const wanted = places.filter(({ id }) => numbers.some((number) => idOf(number) === id))
  const found = yield* turnsAround(host, [key], { places: wanted, eachSide, visible: () => filter })
  const numbersOf = (versions: ReadonlyArray<{ readonly id: string }>) => versions.map(({ id }) => Number(id.slice(4)))
  return new Map(
    Array.from(found, ([id, { after, before }]) => [Number(id.slice(4)), [numbersOf(before), numbersOf(after)]])
  )
})

const store = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const said = (number: number, threadId: string, expiresAt?: number) =>
    newMemory(
      messageRecord(number, `turn ${number}`, {
        threadId,
        subjectId: "s",
        ...(expiresAt !== undefined && { expiresAt })
      })
    )
  const turns = [
    said(1, "a"),
    said(2, "b"),
    said(3, "a"),
    said(4, "a", 5_000),
    said(5, "a"),
    said(6, "b"),
    said(7, "a")
  ]
  for (const turn of turns) yield* host.ask(key, creating([turn]))
  yield* host.ask(key, creating([newMemory(memoryRecord(8, "a fact", { threadId: "a", subjectId: "s" }))]))
})

fresh.effect(
  "gives the turns of the same conversation in their order, and nothing for what is no message",
  function* () {
    yield* store
    expect(yield* ask([3, 6, 8], 1)).toEqual(
      new Map([
        [3, [[1], [4]]],
        [6, [[2], []]],
        [8, [[], []]]
      ])
    )
    expect(yield* ask([5], 2)).toEqual(new Map([[5, [[3, 4], [7]]]]))
  }
)

fresh.effect("passes over what has expired, also for its place", function* () {
  yield* store
  yield* TestClock.setTime(5_000)
  expect(yield* ask([3], 1)).toEqual(new Map([[3, [[1], [5]]]]))
  expect(yield* ask([4], 1)).toEqual(new Map())
})

fresh.effect("says nothing of what the filter hides", function* () {
  yield* store
  expect(yield* ask([3], 9, { anyOf: [{ subjectId: "s" }] })).toEqual(new Map([[3, [[1], [4, 5, 7]]]]))
  expect(yield* ask([3], 9, { anyOf: [{ subjectId: "other" }] })).toEqual(new Map())
})
