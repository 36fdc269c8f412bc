/**
 * Looks into the SQLite files of a data directory without the service: does what is stored agree with
 * itself? Works on copies (file and log), so that an audit after a crash changes nothing of what the
 * next start finds.
 */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { slotsPerSegment } from "@muniment/engine/bitmap/Bitmap"
import { exactOnly } from "./EngineFixtures.ts"

export interface Audit {
  readonly files: number
  readonly rows: number
  readonly vectors: number
  /** Ids of all rows, in no order. */
  readonly ids: ReadonlyArray<string>
  readonly faults: ReadonlyArray<string>
}

/** Whose vectors rows have (null: none has one), and whether every row must, because the backlog was empty. */
export interface WantedVectors {
  readonly model: string | null
  readonly ofEveryRow: boolean
}

export const auditFiles = (dataDirectory: string, wanted: WantedVectors): Audit => {
  const directory = join(dataDirectory, "namespaces")
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith(".db")) : []
  const copies = mkdtempSync(join(tmpdir(), "muniment-audit-"))
  const ids: Array<string> = []
  const faults: Array<string> = []
  let vectors = 0
  try {
    faults.push(...auditControl(copyOf(join(dataDirectory, "control.db"), copies)))
    for (const name of names) {
      const found = auditNamespace(copyOf(join(directory, name), copies), wanted)
      ids.push(...found.ids)
      vectors += found.vectors
      faults.push(...found.faults.map((fault) => `${name}: ${fault}`))
    }
  } finally {
    rmSync(copies, { recursive: true, force: true })
  }
  if (new Set(ids).size !== ids.length) faults.push("an id stands in two files")
  return { files: names.length, rows: ids.length, vectors, ids, faults }
}

const copyOf = (file: string, directory: string): string => {
  const copy = join(directory, file.replaceAll("/", "_"))
  copyFileSync(file, copy)
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`)
  return copy
}

const auditControl = (file: string): ReadonlyArray<string> => {
  const database = new DatabaseSync(file)
  try {
    return integrityFaults(database).map((fault) => `control.db: ${fault}`)
  } finally {
    database.close()
  }
}

const auditNamespace = (file: string, { model, ofEveryRow }: WantedVectors) => {
  const database = new DatabaseSync(file)
  try {
    const column = (sql: string): ReadonlyArray<unknown> =>
      database
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)[0])
    const faults = [...integrityFaults(database)]
    // A file that was made and never written to: the crash came before its first migration committed.
    if (column("SELECT 1 FROM sqlite_schema WHERE name = 'memory'").length === 0) return { ids: [], vectors: 0, faults }

    const slots = column("SELECT slot FROM memory ORDER BY slot").map(Number)
    const ids = column("SELECT id FROM memory").map(String)
    if (new Set(ids).size !== ids.length) faults.push("an id twice")
    if (!isSame(slots, column("SELECT rowid FROM fulltext ORDER BY rowid"))) faults.push("rows and full text differ")
    if (!isSame(slots, column("SELECT slot FROM fulltext_length ORDER BY slot"))) faults.push("rows and lengths differ")
    const embedded = column("SELECT slot FROM vector ORDER BY slot").map(Number)
    const rows = new Set(model === null ? [] : slots)
    if (!embedded.every((slot) => rows.has(slot))) faults.push("a vector without a row")
    if (ofEveryRow && embedded.length !== rows.size) faults.push("a row without a vector")
    faults.push(...vectorFaults(database, model), ...segmentFaults(database), ...sequenceFaults(column))
    // Compares the inverted index of the full text with its content.
    database.exec("INSERT INTO fulltext(fulltext, rank) VALUES ('integrity-check', 1)")
    return { ids, vectors: embedded.length, faults }
  } catch (cause) {
    return { ids: [], vectors: 0, faults: [String(cause)] }
  } finally {
    database.close()
  }
}

const integrityFaults = (database: DatabaseSync): ReadonlyArray<string> => [
  ...database
    .prepare("PRAGMA integrity_check")
    .all()
    .map((row) => String(Object.values(row)[0]))
    .filter((verdict) => verdict !== "ok"),
  ...database
    .prepare("PRAGMA foreign_key_check")
    .all()
    .map((row) => `foreign key: ${JSON.stringify(row)}`)
]

const vectorFaults = (database: DatabaseSync, model: string | null): ReadonlyArray<string> => {
  const faults: Array<string> = []
  for (const row of database.prepare("SELECT slot, model, value FROM vector").all()) {
    if (row["model"] !== model) faults.push(`slot ${String(row["slot"])} has a vector of ${String(row["model"])}`)
    const bytes = row["value"]
    if (!(bytes instanceof Uint8Array)) faults.push("a vector that is no blob")
    else {
      const values = new Float32Array(bytes.slice().buffer)
      const length = Math.hypot(...values)
      if (!(Math.abs(length - 1) < 1e-3)) faults.push(`slot ${String(row["slot"])}: length ${length}`)
    }
  }
  return faults
}

/** A stored segment is, byte by byte, what an index makes of the vectors that are stored of its slots. */
export const segmentFaults = (database: DatabaseSync): ReadonlyArray<string> => {
  const faults: Array<string> = []
  // A kill may have cut the migrations short, before there was a table.
  const hasSegments = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'index_segment'").get() !== undefined
  const stored = hasSegments ? database.prepare("SELECT segment, model, crc, data FROM index_segment").all() : []
  for (const row of stored) {
    const segment = Number(row["segment"])
    const data = row["data"]
    if (!(data instanceof Uint8Array) || crc32(data) !== row["crc"]) faults.push(`segment ${segment} is damaged`)
    else {
      const rows = database
        .prepare("SELECT slot, seq, value FROM vector WHERE model = ? AND slot >= ? AND slot < ? ORDER BY slot")
        .all(row["model"] ?? null, segment * slotsPerSegment, (segment + 1) * slotsPerSegment)
      if (!encoded(segment, rows).equals(data)) faults.push(`segment ${segment} is not what its vectors are`)
    }
  }
  return faults
}

const encoded = (segment: number, rows: ReadonlyArray<Record<string, unknown>>): Buffer => {
  const vectors = rows.map(({ seq, slot, value }) => ({
    slot: Number(slot),
    seq: Number(seq),
    values: new Float32Array((value as Uint8Array).slice().buffer)
  }))
  const index = new PlannedIndex({ dims: vectors[0]?.values.length ?? 1, ...exactOnly })
  try {
    for (const { seq, slot, values } of vectors) index.upsert(slot, values, seq)
    return Buffer.from(index.encodeSegment(segment) ?? [])
  } finally {
    index.close()
  }
}

/** Versions of one unique key are told apart by their sequence numbers, none of which is ahead of the file's. */
const sequenceFaults = (column: (sql: string) => ReadonlyArray<unknown>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const seqs = column("SELECT created_seq FROM memory").map(Number)
  if (new Set(seqs).size !== seqs.length) faults.push("a sequence number twice")
  const last = Number(column("SELECT value FROM meta WHERE key = 'seq'")[0] ?? 0)
  if (Math.max(0, ...seqs, ...column("SELECT seq FROM vector").map(Number)) > last)
    faults.push("a number from the future")
  return faults
}

const isSame = (left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>): boolean =>
  left.length === right.length && left.every((value, at) => value === right[at])
