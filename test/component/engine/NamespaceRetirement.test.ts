/**
 * Retirement of an empty namespace: what counts as empty, what a call at that moment gets, what a failure leaves; over
 * both stores.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { StoreDamaged } from "@muniment/engine/store/StoreError"
import {
  creating,
  engineOf,
  exactOnly,
  extracting,
  memoryRecord,
  namespaceKey,
  newMemory
} from "../../support/EngineFixtures.ts"
import { logFirst } from "../../support/SharedLog.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { withEngine } from "./withEngine.ts"

const key = namespaceKey()
const one = (number: number, token?: string) => creating([newMemory(memoryRecord(number, "text"))], token)
const removal = (number: number) =>
  ({ _tag: "RemoveMemories", ids: [memoryRecord(number, "").id], idempotency: undefined }) as const
const fileOf = (directory: string) => join(directory, "namespaces", `${key.tag}.db`)
const day = Limits.idempotencyRetentionMillis

const retire = (atMillis: number, left: Effect.Effect<void, InsufficientStorage> = Effect.void) =>
  NamespaceHost.use((host) => host.retire(key, atMillis, left))
const rowsOf = (of: NamespaceKey) =>
  NamespaceHost.use((host) => Effect.map(host.answer(of, { _tag: "Counts" }), (counts) => counts.rows))
/** The same agent as the directory names it after its return. */
const returned = { ...key }

const stores = {
  "over its file": (directory: string) => engineOf(directory),
  "over the commit log": (directory: string) =>
    NamespaceHost.layer({ dataDirectory: directory, index: exactOnly }).pipe(
      Layer.provide(logFirst(directory)),
      Layer.fresh
    )
}

for (const [name, engine] of Object.entries(stores))
  describe(`a namespace ${name}`, () => {
    it.effect("is retired once it holds nothing: no memory, no conversation, no result of a day", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* host.ask(key, one(1, "token"))
        expect(yield* retire(2 * day)).toBe(false)
        yield* host.ask(key, removal(1))
        expect(yield* retire(day)).toBe(false)
        yield* host.ask(key, extracting([1]))
        expect(yield* retire(2 * day)).toBe(false)
        yield* host.ask(key, { _tag: "RemoveMatching", filter: {} })
        expect(yield* rowsOf(key)).toBe(0)
        expect(yield* retire(2 * day)).toBe(true)
        expect(existsSync(fileOf(directory))).toBe(false)
      }).pipe(Effect.provide(engine(directory)))
    })

    it.effect("is refused afterwards by its old key, and begins anew under the same tag", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* host.ask(key, one(1))
        yield* host.ask(key, removal(1))
        expect(yield* retire(2 * day)).toBe(true)
        expect(yield* Effect.flip(host.ask(key, one(2)))).toMatchObject({ _tag: "Unavailable" })
        expect(existsSync(fileOf(directory))).toBe(false)
        yield* host.ask(returned, one(3))
        expect(yield* rowsOf(returned)).toBe(1)
        // Work that was begun for the old key says nothing of the new one.
        yield* host.check(key, () => Effect.void)
        expect(yield* rowsOf(returned)).toBe(1)
      }).pipe(Effect.provide(engine(directory)))
    })

    it.effect("comes back after a restart as what was written since", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        yield* Effect.gen(function* () {
          const host = yield* NamespaceHost
          yield* host.ask(key, one(1))
          yield* host.ask(key, removal(1))
          expect(yield* retire(2 * day)).toBe(true)
          yield* host.ask(returned, one(2))
        }).pipe(Effect.provide(engine(directory)))
        expect(yield* rowsOf(key).pipe(Effect.provide(engine(directory)))).toBe(1)
      })
    })

    it.effect("keeps a write that comes at that moment, or refuses it: never both", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        const host = yield* NamespaceHost
        for (let round = 1; round <= 20; round++) {
          const own = { ...key }
          yield* host.ask(own, one(round * 2))
          yield* host.ask(own, removal(round * 2))
          const write = yield* Effect.forkChild(
            Effect.andThen(
              Effect.forEach(Array.from({ length: round }), () => Effect.yieldNow, { discard: true }),
              Effect.exit(host.ask(own, one(round * 2 + 1)))
            )
          )
          const isRetired = yield* host.retire(own, 2 * day, Effect.void)
          const written = yield* Fiber.join(write)
          expect(Exit.isSuccess(written)).toBe(!isRetired)
          const now = { ...key }
          expect(yield* rowsOf(now)).toBe(isRetired ? 0 : 1)
          if (!isRetired) yield* host.ask(now, removal(round * 2 + 1))
        }
      }).pipe(Effect.provide(engine(directory)))
    })

    it.effect("is served again, empty, when the directory cannot be written; the next attempt ends it", () => {
      const directory = temporaryDirectory()
      const full = new InsufficientStorage({ code: "insufficient_storage", error: "full" })
      return Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* host.ask(key, one(1))
        yield* host.ask(key, removal(1))
        expect(yield* Effect.flip(retire(2 * day, Effect.fail(full)))).toBe(full)
        expect(yield* rowsOf(key)).toBe(0)
        expect(yield* retire(2 * day)).toBe(true)
        yield* host.ask(returned, one(2))
        expect(yield* rowsOf(returned)).toBe(1)
      }).pipe(Effect.provide(engine(directory)))
    })

    it.effect("stays refused when the run is stopped behind the directory's write", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* host.ask(key, one(1))
        yield* host.ask(key, removal(1))
        const isWriting = yield* Deferred.make<void>()
        const mayEnd = yield* Deferred.make<void>()
        const left = Effect.andThen(Deferred.succeed(isWriting, undefined), Deferred.await(mayEnd))
        const run = yield* Effect.forkChild(retire(2 * day, left))
        yield* Deferred.await(isWriting)
        const stopped = yield* Effect.forkChild(Fiber.interrupt(run))
        yield* Effect.yieldNow
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.join(stopped)
        expect(yield* Effect.flip(host.ask(key, one(2)))).toMatchObject({ _tag: "Unavailable" })
        expect(existsSync(fileOf(directory))).toBe(false)
      }).pipe(Effect.provide(engine(directory)))
    })
  })

describe("a check of a file", () => {
  withEngine(
    "of a namespace that is retired meanwhile does not condemn the one that has its tag now",
    function* ({ probe }) {
      const host = yield* NamespaceHost
      yield* host.ask(key, one(1))
      yield* host.ask(key, removal(1))
      expect(yield* retire(2 * day)).toBe(true)
      yield* host.ask(returned, one(2))
      probe.faults = ["database disk image is malformed"]
      expect((yield* host.check(key, () => Effect.void)).faults).toEqual([])
      expect(yield* rowsOf(returned)).toBe(1)
      expect((yield* host.status).quarantined).toEqual([])
    }
  )

  withEngine("a namespace that is set aside is not retired", function* ({ probe }) {
    yield* TestClock.adjust(1)
    probe.failNext("open", new StoreDamaged({ reason: "damaged", cause: undefined }))
    probe.faults = ["damaged"]
    expect(yield* Effect.flip(rowsOf(key))).toMatchObject({ _tag: "Unavailable" })
    expect(yield* Effect.flip(retire(2 * day))).toMatchObject({ _tag: "Unavailable" })
  })
})
