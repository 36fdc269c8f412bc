/** Commands that bring the room that their account has left (contract: Quotas), over a real file. */
import { expect } from "vitest"
import { Effect } from "effect"
import {
  type GrowingCommand,
  growthMax,
  type ImportRecords,
  type PatchMemories,
  type StoreMemories
} from "@muniment/engine/namespace/Commands"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { memoryBytes } from "@muniment/engine/store/MemoryRow"
import {
  allOf,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

const taken = Effect.map(allOf(key), (all) => [...all.values()].reduce((sum, memory) => sum + memoryBytes(memory), 0))

/** The command with room for `left` bytes beside what is taken. */
const ask = <C extends GrowingCommand>(command: C, left: number) =>
  Effect.gen(function* () {
    const used = yield* taken
    const host = yield* NamespaceHost
    return yield* host.ask(key, { ...command, room: { limit: used + left, used } })
  })

/** Bytes that the command adds; it is refused with one byte less. */
const growthOf = Effect.fnUntraced(function* (command: GrowingCommand) {
  const before = yield* taken
  const refusal = yield* Effect.flip(ask(command, 0))
  expect(refusal).toMatchObject({ _tag: "PayloadTooLarge", quota: { name: "bytes", used: before, limit: before } })
  expect(yield* taken).toBe(before)
  yield* ask(command, growthMax(command))
  const growth = (yield* taken) - before
  expect(growth).toBeLessThanOrEqual(growthMax(command))
  return growth
})

const patching = (ids: ReadonlyArray<string>, tags: ReadonlyArray<string>): PatchMemories => ({
  _tag: "PatchMemories",
  ids,
  patch: { tags },
  atMillis: 1,
  idempotency: undefined
})

fresh.effect("are refused when they need more, and a repetition or what is known needs none", function* () {
  const first = memoryRecord(1, "first")
  const storing = creating([newMemory(first), newMemory(memoryRecord(2, "second"))], "once")
  expect(yield* growthOf(storing)).toBe(growthMax(storing))
  expect((yield* ask(storing, 0)).created).toHaveLength(2)

  const known: StoreMemories = {
    ...creating([newMemory({ ...first, id: memoryRecord(3, "").id })]),
    skipsDuplicates: true
  }
  expect((yield* ask(known, 0)).duplicates).toHaveLength(1)

  const records = [first, memoryRecord(4, "imported")].map((record) => ({ record, vector: undefined }))
  const importing: ImportRecords = { _tag: "ImportRecords", records }
  expect(yield* growthOf(importing)).toBe(memoryBytes(records[1]!.record))
  expect(yield* ask(importing, 0)).toBe(0)
})

fresh.effect("count what a replacement and new tags add", function* () {
  const record = memoryRecord(1, "old")
  yield* ask(creating([newMemory(record)]), growthMax(creating([newMemory(record)])))
  expect(yield* growthOf(creating([replacementOf(memoryRecord(1, "old and longer"))]))).toBe(11)
  const tagged = replacementOf({ ...memoryRecord(1, "old and longer"), tags: ["a", "b"] })
  expect(yield* growthOf(creating([{ ...tagged, setsTags: true }]))).toBe(7)
  expect(yield* growthOf(patching([record.id], ["a", "b", "c"]))).toBe(4)
  expect(yield* ask(patching([record.id], ["a"]), 0)).toHaveLength(1)
})
