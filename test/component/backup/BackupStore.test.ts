/** Files of several parts, drafts, retention beside a backup that is being made, and refusals of targets. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { assert, describe, expect, it } from "vitest"
import { backupIdOf, type BackupFile, type BackupManifest, controlFile } from "@muniment/backup/BackupFormat"
import { BackupStore, partBytes, partNamesOf } from "@muniment/backup/BackupStore"
import { pruneBackups } from "@muniment/backup/PruneBackups"
import { restoreBackup } from "@muniment/backup/RestoreBackup"
import { directoryTarget } from "@muniment/backup/target/openTarget"

const secret = Option.some({ _tag: "KeyFile", bytes: new Uint8Array(32).fill(3) } as const)
const newStore = async (sealed = false) => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-store-"))
  const store = await Effect.runPromise(
    BackupStore.openOrMake(directoryTarget(directory), sealed ? secret : Option.none())
  )
  return { directory, store }
}

const reading = (bytes: Uint8Array) => (at: number, count: number) => Effect.succeed(bytes.subarray(at, at + count))

const manifestOf = (id: string, startedAt: number, files: ReadonlyArray<BackupFile>): BackupManifest => ({
  muniment: "manifest",
  format: 1,
  id,
  startedAt,
  finishedAt: startedAt,
  release: "test",
  files,
  empty: [],
  log: null
})

const stored = async (store: BackupStore, object: string, bytes: Uint8Array): Promise<BackupFile> => ({
  ...(await Effect.runPromise(store.putFile(object, bytes.length, reading(bytes)))),
  file: controlFile,
  copiedAt: 0,
  mark: null
})

describe.each([false, true])("a file, sealed: %s", (sealed) => {
  it.each([0, 1, partBytes, partBytes + 1, 2 * partBytes + 77])("of %d bytes comes back", async (size) => {
    const { store } = await newStore(sealed)
    const bytes = randomBytes(size)
    const file = await stored(store, "objects/x/1", bytes)
    expect(file.parts).toBe(Math.max(1, Math.ceil(size / partBytes)))
    const chunks: Array<Uint8Array> = []
    await Effect.runPromise(store.getFile(file, (chunk) => Effect.sync(() => void chunks.push(chunk))))
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  })

  it("whose parts were exchanged is refused", async () => {
    const { directory, store } = await newStore(sealed)
    const file = await stored(store, "objects/x/1", randomBytes(2 * partBytes))
    const [first, second] = partNamesOf(file).map((name) => join(directory, name)) as [string, string]
    const [one, two] = [readFileSync(first), readFileSync(second)]
    writeFileSync(first, two)
    writeFileSync(second, one)
    const failure = await Effect.runPromise(Effect.flip(store.getFile(file, () => Effect.void)))
    expect(failure).toMatchObject({ _tag: "DamagedBackup" })
  })
})

describe("retention", () => {
  const three = async (store: BackupStore) => {
    const manifests = []
    for (const [at, startedAt] of [1_000, 2_000, 3_000].entries()) {
      const file = await stored(store, `objects/x/${at}`, randomBytes(100))
      // Each also needs what the one before it copied.
      const files = [...manifests.flatMap((manifest) => manifest.files).slice(-1), file]
      const manifest = manifestOf(backupIdOf(startedAt, "0000"), startedAt, files)
      await Effect.runPromise(store.putManifest(manifest))
      manifests.push(manifest)
    }
    return manifests
  }
  const objectsIn = (directory: string) =>
    readdirSync(join(directory, "objects"), { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(directory, "objects", name)).isFile())
      .toSorted()

  it("keeps what any backup that stays needs, and the newest whatever is asked", async () => {
    const { directory, store } = await newStore()
    const manifests = await three(store)
    const ids = manifests.map(({ id }) => id)
    const pruned = await Effect.runPromise(pruneBackups(store, { keep: 1 }))
    expect(pruned).toEqual({ removed: ids.slice(0, 2), kept: ids.slice(2), objects: 1 })
    expect(objectsIn(directory)).toEqual(["x/1/000000", "x/2/000000"])
    expect(await Effect.runPromise(pruneBackups(store, { since: 9_000 }))).toMatchObject({ kept: ids.slice(2) })
  })

  it("by days keeps those that began later", async () => {
    const { store } = await newStore()
    const manifests = await three(store)
    const pruned = await Effect.runPromise(pruneBackups(store, { since: 2_000 }))
    expect(pruned.removed).toEqual([manifests[0]!.id])
  })

  it("by days keeps one that began earlier and was followed until later", async () => {
    const { store } = await newStore()
    const [first, ...others] = await three(store)
    const log = { first: 1, complete: 1, completeAt: 1_000, last: 2, through: 1_900, segments: [] }
    await Effect.runPromise(store.putManifest({ ...first!, log }))
    expect((await Effect.runPromise(pruneBackups(store, { since: 1_900 }))).removed).toEqual([])
    expect((await Effect.runPromise(pruneBackups(store, { since: 1_901 }))).removed).toEqual([first!.id])
    expect(await Effect.runPromise(store.ids)).toEqual(others.map(({ id }) => id))
  })

  it("removes no object while a backup is being made, nor what an interrupted one has copied", async () => {
    const { directory, store } = await newStore()
    await three(store)
    const copied = await stored(store, "objects/x/fresh", randomBytes(10))
    const draft = { muniment: "draft", format: 1, id: backupIdOf(4_000, "0000"), files: [copied] } as const
    await Effect.runPromise(store.putDraft({ ...draft, touchedAt: Date.now() }))
    expect((await Effect.runPromise(pruneBackups(store, { keep: 1 }))).objects).toBeUndefined()
    expect(objectsIn(directory)).toHaveLength(4)
    await Effect.runPromise(store.putDraft({ ...draft, touchedAt: Date.now() - 3_600_000 }))
    expect((await Effect.runPromise(pruneBackups(store, { keep: 1 }))).objects).toBe(1)
    expect(objectsIn(directory)).toEqual(["x/1/000000", "x/2/000000", "x/fresh/000000"])
  })
})

it("a manifest cannot name a file outside of the directory", async () => {
  const { store } = await newStore()
  const file = { ...(await stored(store, "objects/x/1", randomBytes(10))), file: "../outside" }
  const directory = join(mkdtempSync(join(tmpdir(), "muniment-out-")), "data")
  const restored = restoreBackup(store, manifestOf(backupIdOf(1_000, "0000"), 1_000, [file]), directory, {
    openLog: () => assert.fail("the backup has no log"),
    settle: () => Effect.void
  })
  expect(await Effect.runPromise(Effect.flip(restored))).toMatchObject({ _tag: "RestoreRefused" })
  expect(readdirSync(join(directory, ".."))).toEqual([])
})

it("backups that are not sealed cannot be gone on with sealed, and a folder without them says so", async () => {
  const { directory } = await newStore()
  const target = directoryTarget(directory)
  expect(await Effect.runPromise(Effect.flip(BackupStore.openOrMake(target, secret)))).toMatchObject({
    _tag: "WrongSecret",
    message: expect.stringContaining("not sealed")
  })
  const empty = directoryTarget(mkdtempSync(join(tmpdir(), "muniment-empty-")))
  expect(await Effect.runPromise(Effect.flip(BackupStore.open(empty, Option.none())))).toMatchObject({
    message: expect.stringContaining("holds no backups")
  })
})
