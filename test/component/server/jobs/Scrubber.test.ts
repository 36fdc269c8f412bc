/** The scrubber over a real store: what rots in a file is found although nobody reads it. */
import { expect } from "vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { DataDirectory } from "@muniment/server/DataDirectory"
import { Scrubber } from "@muniment/server/jobs/Scrubber"
import { creating, engineOf, memoryRecord, namespaceKey, newMemory } from "../../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../support/it.ts"
import { controlOf } from "../../control/MemoryLog.ts"
import { forgetLog } from "../../../support/earlierFiles.ts"

const keys = ["ann", "bob"].map((agent) => namespaceKey(agent))
const [sound, rotten] = keys as [(typeof keys)[number], (typeof keys)[number]]

const fill = NamespaceHost.use((host) =>
  Effect.forEach(keys, (key) =>
    host.ask(
      key,
      creating(
        [1, 2, 3].map((number) =>
          newMemory(memoryRecord(number, `narwhal ${number} of the bay`, { agentId: key.agentId }))
        )
      )
    )
  )
)

/** Flips a bit of a text, in its row and nowhere else. */
const rot = (file: string, text: string): void => {
  const bytes = readFileSync(file)
  const at = bytes.lastIndexOf(text)
  bytes[at + text.length - 1]! ^= 1
  writeFileSync(file, bytes)
}

const world = (path: string) => {
  const all: NamespaceDirectory["Service"]["all"] = () => keys
  return Scrubber.layer({ days: 7, mebibytesPerSecond: 8 }).pipe(
    Layer.provideMerge(Layer.mergeAll(AuditLog.layer, engineOf(path))),
    Layer.provideMerge(controlOf(path)),
    Layer.provideMerge(Layer.succeed(NamespaceDirectory, { all } as NamespaceDirectory["Service"])),
    Layer.provideMerge(Layer.succeed(DataDirectory, { path } as DataDirectory["Service"]))
  )
}

/** Lets the thread of checks answer between the steps of the clock. */
const untilRead = Effect.gen(function* () {
  for (let tries = 0; tries < 3_000; tries++) {
    const { finishedAt } = yield* (yield* Scrubber).note
    if (finishedAt !== null) return
    yield* TestClock.adjust("1 minute")
    yield* Effect.promise(() => new Promise((wake) => setTimeout(wake, 10)))
  }
})

it.effect("sets an agent with a rotten row aside, says which record, and serves the others", function* () {
  const path = temporaryDirectory()
  mkdirSync(join(path, "namespaces"), { recursive: true })
  yield* Effect.provide(fill, engineOf(path))
  // From which it would be made again.
  forgetLog(path, [])
  rot(join(path, `namespaces/${rotten.tag}.db`), "narwhal 2 of the bay")
  yield* Effect.gen(function* () {
    yield* untilRead
    const file = `namespaces/${rotten.tag}.db`
    const { damaged, files } = yield* (yield* Scrubber).note
    expect(files).toBe(3)
    expect(damaged).toMatchObject([{ file, isMended: false }])
    expect(damaged[0]!.reason).toMatch(/^table memory, slot \d+: /)
    const host = yield* NamespaceHost
    expect((yield* host.status).quarantined).toMatchObject([{ file, reason: damaged[0]!.reason }])
    const read = (key: typeof sound) => Effect.map(host.answer(key, { _tag: "Counts" }), (counts) => counts.rows)
    expect(yield* read(sound)).toBe(3)
    expect((yield* Effect.flip(read(rotten)))._tag).toBe("Unavailable")
    const [event] = yield* (yield* AuditLog).list({ limit: 1 })
    expect(event).toMatchObject({ action: "scrub.damage", subject: file, detail: { isMended: false } })
  }).pipe(Effect.provide(world(path)))
})
