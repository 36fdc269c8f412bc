import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, describe, expect, it } from "vitest"
import fc from "fast-check"
import { SqlitePostings } from "@muniment/engine/store/sqlite/SqlitePostings"
import { baseStem } from "@muniment/language/text/LanguageStems"
import { memoryColumns } from "@muniment/engine/text/MemoryText"
import { tokenize } from "@muniment/language/text/Tokenizer"
import { repetitions } from "../../../support/Repetitions.ts"

const folders: Array<string> = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const columnsOf = (main: ReadonlyArray<string>) => ({ main, subject: [], neighbours: [], when: [], tags: [] })

const openInMemory = (): SqlitePostings => {
  const database = new DatabaseSync(":memory:")
  SqlitePostings.create(database)
  return new SqlitePostings(database)
}

describe("SqlitePostings", () => {
  it("counts a term's occurrences by row and column", () => {
    const postings = openInMemory()
    postings.put(3, { main: ["tea", "and", "tea"], subject: ["tea"], neighbours: [], when: [], tags: [] })
    postings.put(0, columnsOf(["tea"]))
    expect(postings.occurrences("tea")).toEqual([
      { slot: 0, column: 0, count: 1 },
      { slot: 3, column: 0, count: 2 },
      { slot: 3, column: 1, count: 1 }
    ])
    const lengths: Array<ReadonlyArray<number>> = []
    postings.forEachLength((slot, tokens) => lengths.push([slot, tokens]))
    expect(lengths).toEqual([
      [0, 1],
      [3, 4]
    ])
    expect(postings.count()).toBe(2)
  })

  it("replaces a row and forgets a removed one", () => {
    const postings = openInMemory()
    postings.put(1, columnsOf(["old"]))
    postings.put(1, columnsOf(["new"]))
    expect(postings.occurrences("old")).toEqual([])
    expect(postings.occurrences("new")).toHaveLength(1)
    postings.remove(1)
    postings.remove(1)
    expect(postings.occurrences("new")).toEqual([])
    expect(postings.count()).toBe(0)
  })

  it("rewrites stored tokens to those of today's tokeniser", () => {
    const database = new DatabaseSync(":memory:")
    SqlitePostings.create(database)
    const postings = new SqlitePostings(database)
    postings.put(2, { main: ["she", "went", "home"], subject: ["mum"], neighbours: [], when: [], tags: ["went"] })
    postings.put(5, columnsOf(["tea"]))
    SqlitePostings.rewrite(database, baseStem)
    expect(postings.occurrences("went")).toEqual([])
    expect(postings.occurrences("go")).toEqual([
      { slot: 2, column: 0, count: 1 },
      { slot: 2, column: 4, count: 1 }
    ])
    expect(postings.occurrences(tokenize("mother")[0]!)).toEqual([{ slot: 2, column: 1, count: 1 }])
    expect(postings.occurrences("tea")).toHaveLength(1)
    postings.remove(2)
    expect(postings.occurrences("go")).toEqual([])
  })

  it("stores every token exactly as the tokeniser gives it, in any script", () => {
    const postings = openInMemory()
    let slot = 0
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        const tokens = tokenize(text)
        postings.put(++slot, columnsOf(tokens))
        for (const token of new Set(tokens)) {
          const found = postings.occurrences(token).find((posting) => posting.slot === slot)
          expect(found?.count).toBe(tokens.filter((other) => other === token).length)
        }
      }),
      { numRuns: repetitions(2_000) }
    )
  })

  it("leaves no trace of a removed memory in the files once the log is truncated", () => {
    const folder = mkdtempSync(join(tmpdir(), "fulltext-"))
    folders.push(folder)
    const database = new DatabaseSync(join(folder, "memories.db"))
    database.exec("PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON")
    SqlitePostings.create(database)
    const postings = new SqlitePostings(database)
    const secret = (slot: number) => `zzsecret${slot}q`
    for (let slot = 0; slot < 300; slot++) {
      const text = `common words and ${secret(slot)} with filler${slot % 17}`
      postings.put(slot, memoryColumns({ kind: "note", data: { text, subject: `person${slot}x` }, tags: [] }))
    }
    for (let slot = 0; slot < 300; slot += 2) postings.remove(slot)
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    const raw = Buffer.concat(readdirSync(folder).map((file) => readFileSync(join(folder, file)))).toString("latin1")
    for (let slot = 0; slot < 300; slot += 2) {
      expect(raw).not.toContain(secret(slot))
      // FTS5 stores only the part of a term that differs from its predecessor: that part must be gone as well.
      expect(postings.occurrences(secret(slot))).toEqual([])
      expect(postings.occurrences(secret(slot + 1))).toHaveLength(1)
    }
    for (let slot = 1; slot < 300; slot += 2) postings.remove(slot)
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    const emptied = readFileSync(join(folder, "memories.db")).toString("latin1")
    for (const trace of ["zzsecret", "zsecret", "person", "filler", "common"]) expect(emptied).not.toContain(trace)
    database.close()
  })
})
