/** What consolidations did, and how far agents were looked at: by ids and keys, over restarts. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type ConsolidationEntry, ConsolidationLog } from "@muniment/control/jobs/JobLog"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../../support/it.ts"
import { controlOf } from "../MemoryLog.ts"

const fresh = itWith(() => logOf(temporaryDirectory()))

const dayMillis = 86_400_000

const logOf = (directory: string) => ConsolidationLog.layer.pipe(Layer.provide(controlOf(directory)), Layer.fresh)

const entryOf = (number: number, at: number): ConsolidationEntry => ({
  id: `con_${number}`,
  account: number % 2 === 0 ? "even" : "odd",
  namespace: "tag",
  agentId: "agent",
  at,
  action: "merge",
  memories: [`old_${number}`],
  into: `new_${number}`,
  key: "k",
  versions: [{ id: `old_${number}`, key: "o" }]
})

describe("ConsolidationLog", () => {
  it.effect("keeps entries and what became of them over restarts, newest first", function* () {
    const directory = temporaryDirectory()
    const entries = [1, 2, 3].map((number) => entryOf(number, number))
    yield* Effect.gen(function* () {
      const log = yield* ConsolidationLog
      for (const entry of entries) yield* log.begin(entry)
      yield* log.drop("con_3")
      yield* log.done("con_1")
      yield* log.undone("con_2", 9)
    }).pipe(Effect.provide(logOf(directory)))
    yield* Effect.gen(function* () {
      const log = yield* ConsolidationLog
      const first = { ...entries[0], isDone: true, undoneAt: undefined }
      const second = { ...entries[1], isDone: true, undoneAt: 9 }
      expect(yield* log.list({ limit: 9 })).toEqual([second, first])
      expect(yield* log.list({ account: "odd", limit: 9 })).toEqual([first])
      expect(yield* log.list({ limit: 1 })).toEqual([second])
      expect([yield* log.find("con_2"), yield* log.find("con_3")]).toEqual([second, undefined])
      const { made, restored } = yield* log.historyOf("tag")
      expect([made, restored]).toEqual([new Set(["new_1", "new_2"]), new Set(["old_2"])])
    }).pipe(Effect.provide(logOf(directory)))
  })

  fresh.effect("forgets entries of 90 days ago with the next one", function* () {
    const log = yield* ConsolidationLog
    yield* TestClock.setTime(100 * dayMillis)
    yield* log.begin(entryOf(1, 9 * dayMillis))
    yield* log.begin(entryOf(2, 11 * dayMillis))
    expect((yield* log.list({ limit: 9 })).map(({ id }) => id)).toEqual(["con_2"])
  })

  fresh.effect("knows where the next look at an agent begins, and which agents have not changed since", function* () {
    const log = yield* ConsolidationLog
    const mark = { createdAt: 5, id: "mem_1", at: 7 }
    expect(yield* log.markOf("tag")).toBeUndefined()
    yield* log.markDue("tag")
    yield* log.mark("tag", "a", { ...mark, at: 6 }, true)
    expect(yield* log.settled).toEqual(new Set())
    yield* log.mark("tag", "a", mark, false)
    expect([yield* log.markOf("tag"), yield* log.settled]).toEqual([mark, new Set(["tag"])])
    yield* log.markDue("tag")
    expect([yield* log.markOf("tag"), yield* log.settled]).toEqual([mark, new Set()])
  })
})
