/** Rounds of the scrubber: their rate, their order, and that they go on after a restart. */
import { describe, expect } from "vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { join } from "node:path"
import { StoreFault } from "@muniment/engine/store/StoreError"
import { type ScrubbedFile, ScrubRounds } from "@muniment/server/jobs/Scrubber"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../support/it.ts"

const weekMillis = 7 * 86_400_000
const fileBytes = 1_000_000
const bytesPerSecond = 100_000
const secondsPerFile = fileBytes / bytesPerSecond
const names = ["namespaces/b.db", "control.db", "namespaces/a.db"]

/** Files that note when they were read. */
const filesOf = (read: Array<string>, edit: (name: string) => Partial<ScrubbedFile> = () => ({})) =>
  names.map((name): ScrubbedFile => ({
    name,
    check: (pace) =>
      Effect.sync(() => read.push(name)).pipe(
        Effect.andThen(pace(fileBytes)),
        Effect.as({ bytes: fileBytes, faults: [] })
      ),
    isDamaged: Effect.succeed(true),
    ...edit(name)
  }))

const roundsOver = (path: string, files: ReadonlyArray<ScrubbedFile>, found: Array<object> = []) =>
  new ScrubRounds(
    { intervalMillis: weekMillis, bytesPerSecond, path },
    () => files,
    (damaged) => Effect.sync(() => void found.push(damaged))
  )

const notePath = () => join(temporaryDirectory(), "scrub.json")

describe("a round of the scrubber", () => {
  it.effect("reads every file once, in the order of names, no faster than it may", function* () {
    const read: Array<string> = []
    const rounds = roundsOver(notePath(), filesOf(read))
    const running = yield* Effect.forkChild(rounds.run)
    yield* TestClock.adjust((secondsPerFile * 2 - 1) * 1_000)
    expect(read).toEqual(["control.db", "namespaces/a.db"])
    yield* TestClock.adjust("1 second")
    expect(read).toEqual(["control.db", "namespaces/a.db", "namespaces/b.db"])
    expect(rounds.note).toMatchObject({ files: 2, bytes: 2 * fileBytes, finishedAt: null })
    yield* TestClock.adjust(secondsPerFile * 1_000)
    yield* Fiber.join(running)
    expect(rounds.note).toMatchObject({ files: 3, startedAt: null, finishedAt: secondsPerFile * 3_000 })
  })

  it.effect("follows a week after the last one", function* () {
    const read: Array<string> = []
    const path = notePath()
    const round = Effect.fnUntraced(function* (rounds: ScrubRounds) {
      const running = yield* Effect.forkChild(rounds.run)
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(running)
    })
    yield* round(roundsOver(path, filesOf(read)))
    yield* TestClock.adjust(weekMillis - 7_200_000)
    yield* round(roundsOver(path, filesOf(read)))
    expect(read).toHaveLength(3)
    yield* TestClock.adjust(7_200_000)
    yield* round(roundsOver(path, filesOf(read)))
    expect(read).toHaveLength(6)
  })

  it.effect("goes on after a restart behind the last file that was read", function* () {
    const path = notePath()
    const first = roundsOver(path, filesOf([]))
    const running = yield* Effect.forkChild(first.run)
    yield* TestClock.adjust(secondsPerFile * 1_500)
    yield* Fiber.interrupt(running)
    yield* first.save
    const read: Array<string> = []
    const second = roundsOver(path, filesOf(read))
    const rest = yield* Effect.forkChild(second.run)
    yield* TestClock.adjust("1 hour")
    yield* Fiber.join(rest)
    expect(read).toEqual(["namespaces/a.db", "namespaces/b.db"])
    expect(second.note.files).toBe(3)
  })

  it.effect("tells of damage, mended or not, and is not held up by a file that cannot be read", function* () {
    const found: Array<object> = []
    const path = notePath()
    const edits: Readonly<Record<string, Partial<ScrubbedFile>>> = {
      "control.db": { check: () => Effect.fail(new StoreFault({ cause: new Error("EIO") })) },
      "namespaces/a.db": { check: () => Effect.succeed({ bytes: 1, faults: ["slot 3: rot", "slot 9: rot"] }) },
      "namespaces/b.db": {
        check: () => Effect.succeed({ bytes: 1, faults: ["table memory: rot"] }),
        isDamaged: Effect.succeed(false)
      }
    }
    const rounds = roundsOver(
      path,
      filesOf([], (name) => edits[name] ?? {}),
      found
    )
    yield* rounds.run
    const expected = [
      { file: "namespaces/a.db", reason: "slot 3: rot; slot 9: rot", isMended: false },
      { file: "namespaces/b.db", reason: "table memory: rot", isMended: true }
    ]
    expect(found).toEqual(expected)
    expect(roundsOver(path, []).note).toMatchObject({ files: 2, damaged: expected })
  })
})
