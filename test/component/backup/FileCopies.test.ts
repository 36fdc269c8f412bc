/** Copies of single files of a directory: what is refused, what is missing, what is damaged. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { type CopiesOptions, CopyFailed, FileCopies } from "@muniment/backup/copies/FileCopies"

const id = "20261122T220000123Z-5f3a"
const newDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-copies-"))
  mkdirSync(join(directory, "namespaces"))
  writeFileSync(join(directory, "operator-token"), "token\n")
  const database = new DatabaseSync(join(directory, "namespaces/0123456789ab.db"))
  database.exec("PRAGMA journal_mode=WAL; CREATE TABLE meta (key TEXT, value ANY) STRICT")
  database.exec("INSERT INTO meta VALUES ('epoch', 3), ('seq', 17), ('ordinal', 99)")
  database.close()
  return directory
}

/** Two records behind any ordinal but the last. */
const log: CopiesOptions["log"] = {
  synced: Effect.succeed(9),
  archive: (after, path) =>
    after === 9
      ? Effect.undefined
      : Effect.sync(() => {
          writeFileSync(path, "two")
          return { first: after + 1, last: after + 2, bytes: 3, isCut: true }
        })
}

const using = <A>(
  directory: string,
  use: (copies: FileCopies["Service"]) => Effect.Effect<A, CopyFailed>,
  settle: Effect.Effect<void, CopyFailed> = Effect.void
) =>
  Effect.runPromise(
    Effect.flatMap(FileCopies, use).pipe(
      Effect.provide(FileCopies.layer({ directory, secrets: ["operator-token"], settle, log })),
      Effect.scoped
    )
  )

it("a copy tells the position that it holds", async () => {
  const directory = newDirectory()
  const found = await using(directory, (copies) => copies.copy(id, "namespaces/0123456789ab.db"))
  expect(found).toMatchObject({ _tag: "Ready", copied: { epoch: 3, seq: 17, ordinal: 99, version: 0 } })
  const token = await using(directory, (copies) =>
    Effect.map(copies.copy(id, "operator-token"), (state) =>
      state._tag === "Ready" ? readFileSync(state.path, "utf8") : state._tag
    )
  )
  expect(token).toBe("token\n")
})

it("what an earlier process copied and nobody fetched is gone with the next start", async () => {
  const directory = newDirectory()
  await using(directory, (copies) => copies.copy(id, "operator-token"))
  const left = join(directory, "staging")
  expect(existsSync(left)).toBe(true)
  await using(directory, () => Effect.void)
  expect(existsSync(left)).toBe(false)
})

it("a file that is missing is absent, and none is made", async () => {
  const directory = newDirectory()
  const found = await using(directory, (copies) => copies.copy(id, "namespaces/00000000000f.db"))
  expect(found).toEqual({ _tag: "Absent" })
  expect(existsSync(join(directory, "namespaces/00000000000f.db"))).toBe(false)
})

it("a damaged database is told from other failures", async () => {
  const directory = newDirectory()
  writeFileSync(join(directory, "namespaces/00000000000d.db"), Buffer.alloc(8_192, 7))
  const failure = await using(directory, (copies) => Effect.result(copies.copy(id, "namespaces/00000000000d.db")))
  expect(failure).toMatchObject({ failure: { _tag: "CopyFailed", reason: "corrupt" } })
})

it("records of the log are a file too, and absent where there are none", async () => {
  const directory = newDirectory()
  const found = await using(directory, (copies) =>
    Effect.map(copies.copy(id, "log/7"), (state) =>
      state._tag === "Ready" ? { ...state, text: readFileSync(state.path, "utf8") } : state
    )
  )
  const records = { first: 8, last: 9, isCut: true }
  expect(found).toMatchObject({ _tag: "Ready", copied: { bytes: 3, mark: null, records }, text: "two" })
  expect(await using(directory, (copies) => copies.copy(id, "log/9"))).toEqual({ _tag: "Absent" })
  const known = await using(directory, ({ isKnown }) => Effect.succeed(["log/9", "log/x", "log/9/1"].map(isKnown)))
  expect(known).toEqual([true, false, false])
})

it("marks are taken once the files have all that was acknowledged, and not at all if they cannot get it", async () => {
  const directory = newDirectory()
  rmSync(join(directory, "namespaces/0123456789ab.db"))
  const settle = Effect.sync(() => writeFileSync(join(directory, "namespaces/0123456789ab.db"), ""))
  const { files, ordinal } = await using(directory, (copies) => copies.marks, settle)
  expect(ordinal).toBe(9)
  expect(files.map(({ file }) => file)).toContain("namespaces/0123456789ab.db")
  const failure = await using(
    directory,
    (copies) => Effect.result(copies.marks),
    Effect.fail(new CopyFailed({ reason: "other", message: "no log" }))
  )
  expect(failure).toMatchObject({ failure: { _tag: "CopyFailed", message: "no log" } })
})
