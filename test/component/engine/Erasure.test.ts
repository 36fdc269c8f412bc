/**
 * Erasure while the engine runs: after one round of housekeeping, no file of the namespace holds a byte of deleted or
 * expired memories, the log included.
 */
import { describe, expect, it } from "@effect/vitest"
import { cpSync } from "node:fs"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  axisVector,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  untilLater
} from "../../support/EngineFixtures.ts"
import { filesWith } from "../../support/filesWith.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { withEngine } from "./withEngine.ts"

const key = namespaceKey()
const secret = "zanzibarquux"
/** A vector with unique bytes. */
const vector = axisVector(37)
const vectorBytes = Buffer.from(vector.values.buffer)

const secretMemory = (expiresAt?: number) => {
  const record = memoryRecord(1, `the word is ${secret}`, {
    tags: [secret],
    feedback: [{ useful: true, query: `what is ${secret}`, at: 1e12 }],
    ...(expiresAt !== undefined && { expiresAt })
  })
  return { id: record.id, command: creating([newMemory(record, vector), newMemory(memoryRecord(2, "ordinary"))]) }
}

const expectErased = (directory: string) => {
  expect(filesWith(directory, "ordinary")).not.toEqual([])
  expect(filesWith(directory, secret)).toEqual([])
  expect(filesWith(directory, vectorBytes)).toEqual([])
}

describe("a round of housekeeping", () => {
  withEngine(
    "erases text, tags, feedback and vector of what was deleted since the last one",
    function* ({ directory }) {
      const host = yield* NamespaceHost
      const { id, command } = secretMemory()
      yield* host.ask(key, command)
      expect(filesWith(directory, secret)).not.toEqual([])
      expect(filesWith(directory, vectorBytes)).not.toEqual([])
      yield* host.ask(key, { _tag: "RemoveMemories", ids: [id], idempotency: undefined })
      yield* host.maintain
      expectErased(directory)
    }
  )

  withEngine("sweeps what has expired, and erases it", function* ({ directory }) {
    const host = yield* NamespaceHost
    yield* host.ask(key, secretMemory(30_000).command)
    expect(filesWith(directory, secret)).not.toEqual([])
    yield* TestClock.adjust(Limits.expirySweepMillis)
    yield* host.maintain
    expectErased(directory)
  })

  withEngine("erases what expired while the namespace was closed", function* ({ directory }) {
    const host = yield* NamespaceHost
    yield* host.ask(key, secretMemory(Limits.namespaceIdleMillis * 2).command)
    yield* TestClock.adjust(Limits.namespaceIdleMillis + 2 * Limits.expirySweepMillis)
    yield* untilLater(host.status, ({ open }) => open === 0)
    expect(filesWith(directory, secret)).not.toEqual([])
    yield* TestClock.adjust(Limits.namespaceIdleMillis + Limits.expirySweepMillis)
    // The round started by the clock may still wait for the file system; this one runs after it.
    yield* host.maintain
    expectErased(directory)
  })

  withEngine("erases the tags that a memory had before they were changed", function* ({ directory }) {
    const host = yield* NamespaceHost
    const record = memoryRecord(1, "ordinary", { tags: [secret] })
    yield* host.ask(key, creating([newMemory(record)]))
    const patch = { tags: ["harmless"] }
    yield* host.ask(key, { _tag: "PatchMemories", ids: [record.id], patch, atMillis: 1, idempotency: undefined })
    yield* host.maintain
    expectErased(directory)
  })

  it.effect("after a kill erases what the log holds, once the file is open", () => {
    const directory = temporaryDirectory()
    const left = temporaryDirectory()
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const { id, command } = secretMemory()
      yield* host.ask(key, command)
      yield* host.ask(key, { _tag: "RemoveMemories", ids: [id], idempotency: undefined })
      // What a killed process leaves behind.
      cpSync(directory, left, { recursive: true })
      expect(filesWith(left, secret)).not.toEqual([])
      yield* NamespaceHost.use((started) =>
        Effect.andThen(started.answer(key, { _tag: "Counts" }), started.maintain)
      ).pipe(Effect.provide(engineOf(left)))
      expectErased(left)
    }).pipe(Effect.provide(engineOf(directory)))
  })
})
