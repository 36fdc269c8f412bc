/** Backups that continue one another over an erasure, with a source whose log is a list. */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { expect, it } from "vitest"
import { controlFile, recordsBehind } from "@muniment/backup/BackupFormat"
import type { BackupSource } from "@muniment/backup/BackupFiles"
import { BackupStore } from "@muniment/backup/BackupStore"
import type { Copied } from "@muniment/backup/copies/copyOf"
import { continueBackup } from "@muniment/backup/CreateBackup"
import { backupAt, type Moment, whyMissing } from "@muniment/backup/RestoreBackup"
import { directoryTarget } from "@muniment/backup/target/openTarget"

/** A log of records by their ordinals; while files are copied, one more is written. */
class Source {
  last = 5
  /** Ordinals of records that erase, and of records that were erased. */
  readonly erasing = new Set<number>()
  readonly erased = new Set<number>()

  get port(): BackupSource {
    return {
      release: "1",
      marks: Effect.sync(() => ({ files: [{ file: controlFile, mark: null }], ordinal: this.last })),
      copy: (_id, file) =>
        Effect.sync(() => {
          const after = recordsBehind(file)
          if (after === undefined) {
            this.last++
            return copyOf({ bytes: 3, mark: null, tags: [] })
          }
          const behind = Array.from({ length: this.last - after }, (_, at) => after + 1 + at)
          const cut = behind.findIndex((ordinal) => this.erased.has(ordinal))
          const kept = cut === -1 ? behind : behind.slice(0, cut)
          if (behind.length === 0) return { _tag: "Absent" as const }
          const erases = kept.some((ordinal) => this.erasing.has(ordinal))
          const records = { first: after + 1, last: after + kept.length, isCut: cut !== -1, erases }
          return copyOf({ bytes: kept.length, mark: null, records })
        })
    }
  }
}

const copyOf = (copied: Copied) => ({
  _tag: "Copy" as const,
  copied,
  read: (_at: number, bytes: number) => Effect.succeed(new Uint8Array(bytes))
})

const newStore = () =>
  Effect.runPromise(
    BackupStore.openOrMake(directoryTarget(mkdtempSync(join(tmpdir(), "muniment-continue-"))), Option.none())
  )

const round = (source: Source, store: BackupStore) => Effect.runPromise(continueBackup(source.port, store))

const manifestsOf = (store: BackupStore) =>
  Effect.runPromise(Effect.flatMap(store.ids, (ids) => Effect.forEach(ids, (id) => store.manifest(id))))

const ordinal = (at: number): Moment => ({ _tag: "Ordinal", ordinal: at })

it("after an erasure a whole backup follows, and the one before it has all moments up to there, with its old date", async () => {
  const [source, store] = [new Source(), await newStore()]
  await round(source, store)
  source.last = 10
  const { manifest: before } = await round(source, store)
  source.erasing.add(12)
  source.last = 15
  const { manifest: whole } = await round(source, store)
  const manifests = await manifestsOf(store)
  expect(manifests).toHaveLength(2)
  const [chain] = manifests
  expect(chain).toMatchObject({ startedAt: before.startedAt, log: { isOutlived: true } })
  expect(chain!.id.slice(0, -5)).toBe(before.id.slice(0, -5))
  expect(manifests[1]!.id).toBe(whole.id)
  expect(whole.log!.isOutlived).toBeUndefined()
  for (let at = before.log!.complete; at <= whole.log!.last; at++)
    expect(backupAt(manifests, ordinal(at)), `ordinal ${at}`).toBeDefined()
  // The next round goes on with the whole one.
  source.last = 30
  const { manifest: next } = await round(source, store)
  expect((await manifestsOf(store)).map(({ id }) => id)).toEqual([chain!.id, next.id])
  expect(next.log).toMatchObject({ complete: whole.log!.complete, last: 30 })
})

it("what was erased before a backup had it is missing, and why is said", async () => {
  const [source, store] = [new Source(), await newStore()]
  await round(source, store)
  source.erased.add(11)
  source.erasing.add(14)
  source.last = 15
  await round(source, store)
  const manifests = await manifestsOf(store)
  expect(manifests[0]!.log).toMatchObject({ last: 10, isCut: true })
  expect(backupAt(manifests, ordinal(10))).toBeDefined()
  expect(backupAt(manifests, ordinal(12))).toBeUndefined()
  expect(whyMissing(manifests, ordinal(12))).toMatch(/before it is .*ordinal 10.* next one .*partly erased/)
  expect(whyMissing(manifests, ordinal(2))).toMatch(/^the first one is /)
  expect(whyMissing(manifests, ordinal(99))).toMatch(/^the last one is /)
  expect(whyMissing([], ordinal(1))).toBe("none has a commit log")
})

it("a backup that saw an erasure while it was made is not continued", async () => {
  const [source, store] = [new Source(), await newStore()]
  source.erasing.add(6)
  const { manifest: first } = await round(source, store)
  expect(first.log).toMatchObject({ first: 6, last: 6, isOutlived: true })
  const { manifest: second } = await round(source, store)
  expect(second.log).toMatchObject({ first: 7 })
  expect((await manifestsOf(store)).map(({ startedAt }) => startedAt)).toEqual([first.startedAt, second.startedAt])
})

it("backups are listed while one takes the place of another", async () => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-replaced-"))
  const target = directoryTarget(directory)
  await round(new Source(), await Effect.runPromise(BackupStore.openOrMake(target, Option.none())))
  let isFirst = true
  const list = (prefix: string) =>
    Effect.map(target.list(prefix), (names) => {
      const gone = isFirst ? ["manifests/20260101T000000000Z-0000.json"] : []
      isFirst = false
      return [...gone, ...names]
    })
  const store = await Effect.runPromise(BackupStore.open({ ...target, list }, Option.none()))
  expect(await Effect.runPromise(store.manifests)).toHaveLength(1)
  expect(isFirst).toBe(false)
})
