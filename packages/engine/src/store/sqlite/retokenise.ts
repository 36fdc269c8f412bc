/**
 * Makes the words of a namespace file anew from its memories, for a migration or a return to an earlier release.
 *
 * Invariants: only rows whose tokens change are written; what a message has of the length of those around it stays. Runs
 * inside the caller's transaction, on a file with sums.
 */
import type { Database } from "@muniment/sqlite/Database"
import type { Mention } from "@muniment/domain/Memory"
import {
  COLUMNS,
  columnsLength,
  memoryUnits,
  type MemoryColumns,
  type SearchableMemory
} from "../../text/MemoryText.ts"
import { cutsOf } from "@muniment/language/text/Passages"
import type { Analyzer } from "@muniment/language/text/Tokenizer"
import { SqlitePostings } from "./SqlitePostings.ts"

export const retokenise = (database: Database, analyzer: Analyzer): void => {
  const postings = new SqlitePostings(database.handle)
  const stored = database.handle.prepare(
    `SELECT ${COLUMNS.map((name) => `fulltext."${name}"`).join(", ")}, tokens FROM fulltext
       JOIN fulltext_length ON fulltext_length.slot = fulltext.rowid WHERE fulltext.rowid = ?`
  )
  const rewrite = (slot: number, columns: MemoryColumns): void => {
    const row = stored.get(slot)
    if (row === undefined) return
    const before = COLUMNS.map((name) => String(row[name]))
    if (COLUMNS.every((name, at) => columns[name].join(" ") === before[at])) return
    const length = before.reduce((sum, text) => sum + (text === "" ? 0 : text.split(" ").length), 0)
    postings.put(slot, columns, Number(row["tokens"]) - length + columnsLength(columns))
  }
  const passages = database.handle.prepare("SELECT slot, starts, ends FROM passage WHERE memory = ? ORDER BY starts")
  const memories = database.handle.prepare(
    "SELECT slot, kind, data, tags, mentions, event_time, neighbours FROM memory WHERE slot > ? ORDER BY slot LIMIT ?"
  )
  for (let after = -1, isMore = true; isMore;) {
    // In pages: a reader may not stay open over writes to what it reads, and a file can be larger than the memory.
    const page = memories.all(after, PAGE)
    for (const row of page) {
      after = Number(row["slot"])
      const further = passages.all(after).map((one) => ({
        slot: Number(one["slot"]),
        start: Number(one["starts"]),
        end: Number(one["ends"])
      }))
      // As it was cut; one that was not is not cut now.
      const units = memoryUnits(searchable(row), cutsOf(further) ?? [], analyzer)
      for (const [at, { columns }] of units.entries()) rewrite(at === 0 ? after : further[at - 1]!.slot, columns)
    }
    isMore = page.length === PAGE
  }
}

const PAGE = 256

const searchable = (row: Readonly<Record<string, unknown>>): SearchableMemory => ({
  kind: String(row["kind"]),
  data: JSON.parse(String(row["data"])),
  tags: JSON.parse(String(row["tags"])) as ReadonlyArray<string>,
  mentions: JSON.parse(String(row["mentions"])) as ReadonlyArray<Mention>,
  when: row["event_time"] === null ? undefined : String(row["event_time"]),
  neighbours: JSON.parse(String(row["neighbours"] ?? "[]")) as ReadonlyArray<string>
})
