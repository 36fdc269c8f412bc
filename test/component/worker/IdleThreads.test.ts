/** Threads that a resting service does without: they end soon after their last work, which the count of threads shows. */
import { lookup } from "node:dns/promises"
import { existsSync, readdirSync } from "node:fs"
import { describe, expect } from "vitest"
import { openCommitThread } from "@muniment/engine/store/sqlite/CommitThread"
import { openCheckThread } from "@muniment/engine/store/sqlite/CheckThread"
import { openValidationThread } from "@muniment/schemas/ValidationLane"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { it } from "../../support/it.ts"

const tasks = "/proc/self/task"
const threads = (): number => readdirSync(tasks).length
/** Starts all threads of Node's pool, which do not end. */
const startPool = Effect.promise(() => Promise.all(Array.from({ length: 8 }, () => lookup("localhost"))))

describe.skipIf(!existsSync(tasks))("a thread ends when it rests", () => {
  it.effect("that reads files: after ten seconds", function* () {
    yield* startPool
    const checks = yield* openCheckThread({ logDirectory: undefined })
    const before = threads()
    yield* Effect.exit(checks.differences("/nowhere/snapshot.db", "/nowhere/expected.db"))
    expect(threads()).toBeGreaterThan(before)
    yield* TestClock.adjust("10 seconds")
    yield* Effect.promise(() => expect.poll(threads).toBeLessThanOrEqual(before))
  })

  it.effect("that commits: after two minutes", function* () {
    yield* startPool
    const before = threads()
    yield* openCommitThread()
    yield* Effect.promise(() => expect.poll(threads).toBeGreaterThan(before))
    yield* TestClock.adjust("2 minutes")
    yield* Effect.promise(() => expect.poll(threads).toBeLessThanOrEqual(before))
  })

  it.effect("that commits: also while files that it has not opened are closed", function* () {
    yield* startPool
    const before = threads()
    const thread = yield* openCommitThread()
    yield* Effect.promise(() => expect.poll(threads).toBeGreaterThan(before))
    for (let halfMinute = 0; halfMinute < 4; halfMinute++) {
      yield* thread.close("/nowhere/read-only.db")
      yield* TestClock.adjust("30 seconds")
    }
    yield* Effect.promise(() => expect.poll(threads).toBeLessThanOrEqual(before))
  })

  it.effect("that validates data: after two minutes", function* () {
    yield* startPool
    const validation = yield* openValidationThread()
    const before = threads()
    yield* validation.start
    yield* Effect.promise(() => expect.poll(threads).toBeGreaterThan(before))
    yield* TestClock.adjust("2 minutes")
    yield* Effect.promise(() => expect.poll(threads).toBeLessThanOrEqual(before))
  })
})
