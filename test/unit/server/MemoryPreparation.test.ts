/** From a valid request to records: which expiry counts, which key identifies, which id is taken. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { CreateMemories, DirectMemory } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { MemoryIds, prepareMemories } from "@muniment/server/memories/MemoryPreparation"
import { namespaceKey } from "../../support/EngineFixtures.ts"
import { it } from "../../support/it.ts"

const now = 1_700_000_000_000
const hour = 3_600_000
const schema = (fields: Partial<MemorySchema> = {}): MemorySchema => ({
  name: "note",
  description: "a note",
  schema: "{}",
  ...fields
})

/** The record that a request with this one memory gives at `now`. */
const prepare = Effect.fnUntraced(function* (
  memory: Partial<DirectMemory>,
  request: Partial<CreateMemories> = {},
  of = schema()
) {
  yield* TestClock.setTime(now)
  const direct = { kind: "note", data: { text: "hello" }, ...memory }
  const [prepared] = yield* prepareMemories(
    [direct],
    new Map([[direct.kind, of]]),
    namespaceKey(),
    { agentId: "agent", memories: [direct], ...request },
    { temporalProperty: () => "at" },
    new MemoryIds()
  )
  return prepared!
})

describe("the expiry of a memory", () => {
  // Memory's own ttl and expiresAt, the request's, and what counts.
  const cases: ReadonlyArray<
    readonly [string | undefined, number | undefined, string | undefined, number | undefined, number | undefined]
  > = [
    [undefined, undefined, undefined, undefined, undefined],
    ["1h", undefined, undefined, undefined, now + hour],
    [undefined, 5, undefined, undefined, 5],
    ["1h", 5, undefined, undefined, 5],
    [undefined, undefined, "2h", undefined, now + 2 * hour],
    [undefined, undefined, undefined, 7, 7],
    [undefined, undefined, "2h", 7, 7],
    ["1h", undefined, "2h", 7, now + hour],
    [undefined, 5, "2h", 7, 5],
    ["1h", 5, "2h", 7, 5],
    ["1h", undefined, undefined, 7, now + hour]
  ]
  for (const [ttl, expiresAt, requestTtl, requestExpiresAt, expected] of cases) {
    const own = `ttl ${ttl ?? "-"}, expiresAt ${expiresAt ?? "-"}`
    const given = `ttl ${requestTtl ?? "-"}, expiresAt ${requestExpiresAt ?? "-"}`
    it.effect(`with ${own} in a request with ${given} is ${expected ?? "none"}`, function* () {
      const { record, setsExpiry } = yield* prepare(
        { ...(ttl !== undefined && { ttl }), ...(expiresAt !== undefined && { expiresAt }) },
        {
          ...(requestTtl !== undefined && { ttl: requestTtl }),
          ...(requestExpiresAt !== undefined && { expiresAt: requestExpiresAt })
        }
      )
      expect(record.expiresAt).toBe(expected)
      expect(setsExpiry).toBe(expected !== undefined)
    })
  }
})

it.effect("the id of a memory is taken from the request only for kinds without uniqueOn", function* () {
  const replaced = yield* prepare({ id: "mem_given" })
  expect([replaced.record.id, replaced.isReplacement]).toEqual(["mem_given", true])
  const unique = yield* prepare({ id: "mem_given" }, {}, schema({ uniqueOn: ["text"] }))
  expect(unique.isReplacement).toBe(false)
  expect(unique.record.id).not.toBe("mem_given")
})

describe("the unique key", () => {
  const keyOf = (data: DirectMemory["data"], request: Partial<CreateMemories> = {}, uniqueOn = ["email", "kind"]) =>
    Effect.map(prepare({ data }, request, schema({ uniqueOn })), ({ record }) => record.uniqueKey)

  it.effect("is equal for equal values, whatever else differs, and however they are written", function* () {
    const one = yield* keyOf({ email: { user: "a", host: "b" }, city: "Rome" }, { threadId: "t" })
    expect(yield* keyOf({ city: "Paris", email: { host: "b", user: "a" } })).toBe(one)
    expect(yield* keyOf({ email: { user: "a", host: "c" } })).not.toBe(one)
  })

  it.effect("keeps subjects apart, and a subject from none", function* () {
    const keys = new Set<string | undefined>()
    for (const request of [{}, { subjectId: "s" }, { subjectId: "t" }]) keys.add(yield* keyOf({ email: "a" }, request))
    expect(keys.size).toBe(3)
  })

  it.effect("tells a value from another type, and null from the text null", function* () {
    const keys = new Set<string | undefined>()
    for (const email of [1, "1", null, "null", [1], { 0: 1 }, true]) keys.add(yield* keyOf({ email }))
    expect(keys.size).toBe(7)
  })

  it.effect("of uniqueOn kind alone is one for all", function* () {
    expect(yield* keyOf({ text: "a" }, {}, ["kind"])).toBe(yield* keyOf({ text: "b" }, {}, ["kind"]))
  })

  it.effect("is none for kinds without uniqueOn", function* () {
    expect(yield* keyOf({ text: "a" }, {}, [])).toBeUndefined()
  })
})

it.effect("the event time is the property that says when, in UTC, if it holds a time", function* () {
  const timeOf = (at: unknown) =>
    Effect.map(prepare({ data: { at } as DirectMemory["data"] }), ({ record }) => record.when)
  expect(yield* timeOf("2026-11-21")).toBe("2026-11-21T00:00:00.000Z")
  expect(yield* timeOf("2026-11-21T12:00:00+02:00")).toBe("2026-11-21T10:00:00.000Z")
  for (const none of ["soon", 5, null]) expect(yield* timeOf(none)).toBeUndefined()
})
