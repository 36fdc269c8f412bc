/** The page on the bytes on disk (packages/engine/docs/format.md), compared with the encoder and with a new file. */
import { describe, expect, it } from "vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { crc32 } from "node:zlib"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { changeOf, changeFields } from "@muniment/engine/log/LogCursor"
import { readHeader, recordBytesMax, writeRecord } from "@muniment/engine/log/logFormat"
import { namespaceMigrations } from "@muniment/engine/store/sqlite/namespaceMigrations"
import { rowSum } from "@muniment/engine/store/sqlite/rowSums"
import { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { VectorSegments } from "@muniment/engine/vectors/arena/VectorSegments"
import { slabs } from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const page = readFileSync(new URL("../../../packages/engine/docs/format.md", import.meta.url), "utf8")

describe("the page on the bytes on disk", () => {
  it("shows a segment as the encoder writes it", () => {
    const arena = new VectorArena(384, slabs.take())
    arena.set(3, axis(0), 17)
    arena.set(1_023, axis(383), 42)
    const bytes = new VectorSegments(arena).encodeSegment(0)!
    const shown = hexLines(sectionOf("Segments"))
    expect(shown.map(({ offset }) => offset)).toEqual([0, 8, 16, 24, 32, 40, 48])
    for (const { offset, hex } of shown) expect(hexOf(bytes.subarray(offset, offset + 8))).toBe(hex)
    expect(bytes.subarray(56, 448)).toEqual(arena.rowCopy(3))
    expect(bytes.subarray(448)).toEqual(arena.rowCopy(1_023))
    expect(bytes).toHaveLength(840)
  })

  it("shows the sum of a row as the code makes it", () => {
    const section = sectionOf("Sums")
    const [first] = hexLines(section)
    const shown = `${first!.hex} 00`.replaceAll(" ", "")
    const sum = rowSum([7, "00", 1, null])
    expect(crc32(Buffer.from(shown, "hex")) | 0).toBe(sum)
    expect(section).toContain(`0x${(sum >>> 0).toString(16)}, stored as ${sum}.`)
  })

  it("shows a record of the commit log as the encoder writes it", () => {
    const body = { text: "[1,2]", vectors: [Float32Array.of(1, -2), Float32Array.of(0.5)] }
    const fields = {
      kind: 1,
      flags: 1,
      tag: "0123456789ab",
      epoch: 3,
      changes: 2,
      fromSeq: 258,
      previous: "fedcba987654"
    }
    const bytes = Buffer.alloc(recordBytesMax(body))
    writeRecord(bytes, 0, body, { ...fields, atMillis: 1_795_000_000_000, ordinal: 77, unsynced: 5 })
    const shown = hexLines(sectionOf("Commit log"))
    expect(shown.map(({ offset }) => offset)).toEqual([0, 8, 16, 24, 32, 40, 48, 56, 64, 72])
    for (const { hex, offset } of shown) expect(hexOf(bytes.subarray(offset, offset + 8))).toBe(hex)
  })

  it("shows a change of the control database as the encoder writes it, and reads it back", () => {
    const changes = Uint8Array.of(0x50, 1, 1, 0, 0x61, 0, 0x12, 0, 1)
    const change = { number: 42, version: 18, atMillis: 1_795_000_000_000, changes }
    const { body, ...fields } = changeFields(change)
    const bytes = Buffer.alloc(recordBytesMax(body))
    const length = writeRecord(bytes, 0, body, { ...fields, ordinal: 78, unsynced: 0, previous: "0123456789ab" })
    const shown = hexLines(sectionOf("Changes of the control database"))
    expect(shown.map(({ offset }) => offset)).toEqual([0, 8, 16, 24, 32, 40, 48, 56, 64, 72])
    for (const { hex, offset } of shown) expect(hexOf(bytes.subarray(offset, offset + 8))).toBe(hex)
    const read = changeOf({ header: readHeader(bytes, 0)!, bytes: bytes.subarray(0, length) })
    expect({ ...read, changes: Uint8Array.from(read.changes as Uint8Array) }).toEqual(change)
  })

  it("names every table and column of a new file, and its version", () => {
    const database = new Database({ filename: join(temporaryDirectory(), "new.db") })
    migrate(database, namespaceMigrations, { snapshot: "" })
    expect(page).toContain(`schema version, now ${String(database.value("PRAGMA user_version"))}.`)
    const tables = database
      .prepare(tablesSql)
      .all()
      .map((row) => String(row["name"]))
    const shown = [...columnsShown().keys()].filter((table) => table !== "fulltext_instance")
    expect(shown.sort()).toEqual(tables)
    for (const table of tables) {
      const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()
      expect(columnsShown().get(table)).toEqual(columns.map((row) => String(row["name"])))
    }
    database.close()
  })
})

/** Unit vector along one axis. */
const axis = (at: number) => Float32Array.from({ length: 384 }, (_, dim) => (dim === at ? 1 : 0))

const sectionOf = (title: string): string => page.split("\n## ").find((section) => section.startsWith(title)) ?? ""

/** Lines `offset | fields |  hex` of a diagram. */
const hexLines = (section: string) =>
  [...section.matchAll(/^(\d+) +\|.*\| {2}((?:[0-9a-f]{2} ?){8})$/gm)].map(([, offset, hex]) => ({
    offset: Number(offset),
    hex: hex!.trim()
  }))

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ")

/** Columns by table, in the order of the page: a table in bold, below it entries of its columns. */
const columnsShown = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const tables = new Map<string, Array<string>>()
  let columns: Array<string> = []
  for (const [, table, names = ""] of sectionOf("SQLite").matchAll(
    /^(?:\*\*`(\w+)`\*\*|- (`\w+`(?:, `\w+`)*)(?::.*)?)$/gm
  )) {
    if (table !== undefined) tables.set(table, (columns = []))
    columns.push(...[...names.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  }
  return tables
}

const tablesSql = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
  AND name NOT LIKE 'fulltext\\_%' ESCAPE '\\' OR name = 'fulltext_length' ORDER BY name`
