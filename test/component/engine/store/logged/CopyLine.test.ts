/** A copy that finds its disk full while it lacks commits that were acknowledged. */
import { expect, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { CopyLine } from "@muniment/engine/store/logged/CopyLine"
import { LoggedNamespace } from "@muniment/engine/store/logged/LoggedNamespace"
import { openCommitThread } from "@muniment/engine/store/sqlite/CommitThread"
import { NamespaceFile } from "@muniment/engine/store/sqlite/NamespaceFile"
import { openMigrated } from "@muniment/engine/store/sqlite/namespaceFiles"
import { copyContent } from "@muniment/engine/store/sqlite/namespaceMeta"
import { StoreFull } from "@muniment/engine/store/StoreError"
import { smallLog } from "../../../../support/CommitLogs.ts"
import { memoryRecord, namespaceKey } from "../../../../support/EngineFixtures.ts"
import { put, unit } from "../../../../support/storeConformance.ts"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"

/** An open namespace, and its file, whose `follow` a test may let fail. */
const openNamespace = Effect.gen(function* () {
  const directory = temporaryDirectory()
  const key = namespaceKey()
  const logDirectory = join(directory, "log")
  mkdirSync(logDirectory)
  const log = yield* openFileLog(smallLog(logDirectory))
  const thread = yield* openCommitThread({ logDirectory })
  const database = openMigrated(join(directory, `${key.tag}.db`))
  yield* Effect.addFinalizer(() => Effect.sync(() => database.close()))
  const file = new NamespaceFile(database, key, thread)
  const content = copyContent(database)
  yield* log.attach(key.tag, content)
  const line = new CopyLine(file, log, content, yield* Queue.sliding<void>(1))
  return { file, namespace: new LoggedNamespace(file, log, line) }
})

it.live("refuses the commit whose caller waits, keeps what was acknowledged in sight, and goes on behind it", () =>
  Effect.gen(function* () {
    const { file, namespace } = yield* openNamespace
    const insert = (at: number) => namespace.commit(at, [unit([put(at, memoryRecord(at, `narwhal ${at}`))])], at)
    for (let at = 0; at < 5; at++) yield* insert(at)
    file.follow = () => Effect.fail(new StoreFull({ cause: new Error("no room") }))
    const removal = namespace.commit(5, [unit([{ _tag: "Remove", slot: 0 }])], 5)
    expect(yield* Effect.flip(removal)).toMatchObject({ _tag: "StoreFull" })
    expect((yield* namespace.records([1, 2, 3, 4])).map(({ slot }) => slot)).toEqual([1, 2, 3, 4])
    expect(yield* namespace.slotOf(memoryRecord(3, "").id)).toBe(3)
    Reflect.deleteProperty(file, "follow")
    expect(yield* insert(5)).toBe(6)
    const slots: Array<number> = []
    yield* namespace.whole((all) => all.eachRow(({ slot }) => slots.push(slot)))
    expect(slots).toEqual([0, 1, 2, 3, 4, 5])
  }).pipe(Effect.scoped)
)
