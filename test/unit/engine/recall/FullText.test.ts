import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, describe, expect, it } from "vitest"
import * as fc from "fast-check"
import { FullText } from "@muniment/engine/recall/FullText"
import { baseStem } from "@muniment/engine/recall/IrregularWords"
import { memoryColumns } from "@muniment/engine/recall/MemoryText"
import { tokenize } from "@muniment/engine/recall/Tokenizer"

const folders: Array<string> = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const columnsOf = (main: ReadonlyArray<string>) => ({ main, subject: [], neighbours: [], when: [], tags: [] })

const openInMemory = (): FullText => {
  const database = new DatabaseSync(":memory:")
  FullText.create(database)
  return new FullText(database)
}

describe("FullText", () => {
  it("counts a term's occurrences by row and column", () => {
    const fullText = openInMemory()
    fullText.put(3, { main: ["tea", "and", "tea"], subject: ["tea"], neighbours: [], when: [], tags: [] })
    fullText.put(0, columnsOf(["tea"]))
    expect(fullText.postings("tea")).toEqual([
      { slot: 0, column: 0, count: 1 },
      { slot: 3, column: 0, count: 2 },
      { slot: 3, column: 1, count: 1 }
    ])
    const lengths: Array<ReadonlyArray<number>> = []
    fullText.forEachLength((slot, tokens) => lengths.push([slot, tokens]))
    expect(lengths).toEqual([
      [0, 1],
      [3, 4]
    ])
    expect(fullText.count()).toBe(2)
  })

  it("replaces a row and forgets a removed one", () => {
    const fullText = openInMemory()
    fullText.put(1, columnsOf(["old"]))
    fullText.put(1, columnsOf(["new"]))
    expect(fullText.postings("old")).toEqual([])
    expect(fullText.postings("new")).toHaveLength(1)
    fullText.remove(1)
    fullText.remove(1)
    expect(fullText.postings("new")).toEqual([])
    expect(fullText.count()).toBe(0)
  })

  it("brings stored tokens to what the tokeniser makes of the same text today", () => {
    const database = new DatabaseSync(":memory:")
    FullText.create(database)
    const fullText = new FullText(database)
    fullText.put(2, { main: ["she", "went", "home"], subject: ["mum"], neighbours: [], when: [], tags: ["went"] })
    fullText.put(5, columnsOf(["tea"]))
    FullText.rewrite(database, baseStem)
    expect(fullText.postings("went")).toEqual([])
    expect(fullText.postings("go")).toEqual([
      { slot: 2, column: 0, count: 1 },
      { slot: 2, column: 4, count: 1 }
    ])
    expect(fullText.postings(tokenize("mother")[0]!)).toEqual([{ slot: 2, column: 1, count: 1 }])
    expect(fullText.postings("tea")).toHaveLength(1)
    fullText.remove(2)
    expect(fullText.postings("go")).toEqual([])
  })

  it("opens a file that has the tables already", () => {
    const database = new DatabaseSync(":memory:")
    FullText.create(database)
    new FullText(database).put(1, columnsOf(["kept"]))
    FullText.create(database)
    expect(new FullText(database).postings("kept")).toHaveLength(1)
  })

  it("stores every token exactly as the tokeniser gives it, in any script", () => {
    const fullText = openInMemory()
    let slot = 0
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        const tokens = tokenize(text)
        fullText.put(++slot, columnsOf(tokens))
        for (const token of new Set(tokens)) {
          const found = fullText.postings(token).find((posting) => posting.slot === slot)
          expect(found?.count).toBe(tokens.filter((other) => other === token).length)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it("leaves no trace of a removed memory in the files once the log is truncated", () => {
    const folder = mkdtempSync(join(tmpdir(), "fulltext-"))
    folders.push(folder)
    const database = new DatabaseSync(join(folder, "memories.db"))
    database.exec("PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON")
    FullText.create(database)
    const fullText = new FullText(database)
    const secret = (slot: number) => `zzsecret${slot}q`
    for (let slot = 0; slot < 300; slot++) {
      const text = `common words and ${secret(slot)} with filler${slot % 17}`
      fullText.put(slot, memoryColumns({ kind: "note", data: { text, subject: `person${slot}x` }, tags: [] }))
    }
    for (let slot = 0; slot < 300; slot += 2) fullText.remove(slot)
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    const raw = Buffer.concat(readdirSync(folder).map((file) => readFileSync(join(folder, file)))).toString("latin1")
    for (let slot = 0; slot < 300; slot += 2) {
      expect(raw).not.toContain(secret(slot))
      // FTS5 compresses terms against their predecessor: the telling tail must be gone as well.
      expect(fullText.postings(secret(slot))).toEqual([])
      expect(fullText.postings(secret(slot + 1))).toHaveLength(1)
    }
    for (let slot = 1; slot < 300; slot += 2) fullText.remove(slot)
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    const emptied = readFileSync(join(folder, "memories.db")).toString("latin1")
    for (const trace of ["zzsecret", "zsecret", "person", "filler", "common"]) expect(emptied).not.toContain(trace)
    database.close()
  })
})
