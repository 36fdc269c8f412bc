/**
 * Table `event` of a namespace file: written inside the transaction of each commit, read in order, forgotten from its
 * beginning on.
 */
import type { Database } from "@muniment/sqlite/Database"
import type { MemoryChange } from "../Commit.ts"
import {
  eventNumbers,
  type EventPage,
  type MemoryEvent,
  type MemoryEventType,
  subjectDigest
} from "../NamespaceStore.ts"
import { DamagedColumn, textOf } from "./memoryColumns.ts"
import { copyContent, metaOf, writeMeta } from "./namespaceMeta.ts"
import { rowSum, summedTables } from "./rowSums.ts"

/** Events that one step forgets: a few milliseconds. */
const forgottenMax = 2_000

interface Named {
  readonly id: string
  readonly kind: string
  readonly subjectId?: string | undefined
}

export class SqliteEvents {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Inside the commit's transaction, before the change. */
  note(change: MemoryChange, seq: number, at: number): void {
    const numbers = eventNumbers(seq)
    switch (change._tag) {
      case "Put": {
        const { record, slot, supersedes } = change
        const type = this.#named(slot) === undefined ? "created" : "updated"
        this.#put(numbers.change, type, record, at)
        if (supersedes !== undefined)
          this.#put(numbers.other, "superseded", { ...record, id: supersedes }, at, record.id)
        return
      }
      case "Patch":
        return this.#put(numbers.change, "updated", change.record, at)
      case "Remove": {
        const removed = this.#named(change.slot)
        if (removed !== undefined) this.#put(numbers.change, "deleted", removed, at)
        return
      }
      default:
    }
  }

  page(after: number, limit: number): EventPage {
    const rows = this.#database.prepare(pageSql).allArrays(after, limit)
    const events = rows.map(eventOf)
    const last = rows.length < limit ? undefined : events.at(-1)?.number
    const meta = (key: "born" | "event_floor" | "seq") => Number(metaOf(this.#database, key) ?? 0)
    const through = last ?? eventNumbers(meta("seq")).other
    return { events, through, floor: meta("event_floor"), born: meta("born") }
  }

  /** -> whether there may be more to forget. */
  forget(beforeMillis: number, changesKept: number): boolean {
    const database = this.#database
    const [oldest] = database.prepare(oldestSql).allArrays(1)
    const kept = eventNumbers(Number(metaOf(database, "seq") ?? 0) - changesKept).other
    const isOld = ([number, at]: ReadonlyArray<unknown>) => Number(number) <= kept || Number(at) < beforeMillis
    if (oldest === undefined || !isOld(oldest)) return false
    return database.transaction(() => {
      const some = database.prepare(oldestSql).allArrays(forgottenMax)
      const end = some.findIndex((row) => !isOld(row))
      const last = Number(some.at(end === -1 ? -1 : end - 1)![0])
      copyContent(database)
      database.prepare("DELETE FROM event WHERE number <= ?").run(last)
      writeMeta(database, { event_floor: last })
      return end === -1 && some.length === forgottenMax
    })
  }

  #put(number: number, type: MemoryEventType, { id, kind, subjectId }: Named, at: number, supersededBy?: string): void {
    const subject = subjectId === undefined ? null : subjectDigest(subjectId)
    const values = [number, type, id, kind, subject, supersededBy ?? null, at]
    this.#database.prepare(putSql).run(...values, rowSum(values))
  }

  #named(slot: number): Named | undefined {
    const row = this.#database.prepare(namedSql).get(slot)
    return row && { id: String(row["id"]), kind: String(row["kind"]), subjectId: textOf(row["subject_id"]) }
  }
}

const columns = summedTables.event
const namedSql = "SELECT id, kind, subject_id FROM memory WHERE slot = ?"
const putSql = `INSERT INTO event (${columns.join(", ")}, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const oldestSql = "SELECT number, at FROM event ORDER BY number LIMIT ?"
const pageSql = `SELECT ${columns.map((column) => `event.${column}`).join(", ")}, event.sum, memory.subject_id, memory.thread_id
  FROM event LEFT JOIN memory ON memory.id = event.id WHERE number > ? ORDER BY number LIMIT ?`

const eventOf = (row: ReadonlyArray<unknown>): MemoryEvent => {
  const own = row.slice(0, columns.length) as ReadonlyArray<string | number | null>
  const [number, type, id, kind, subject, supersededBy, at] = own
  const [sum, subjectId, threadId] = row.slice(columns.length)
  if (rowSum(own) !== sum) throw new DamagedColumn("table event: not what its sum says")
  return {
    number: Number(number),
    type: String(type) as MemoryEventType,
    id: String(id),
    kind: String(kind),
    subject: subject === null ? undefined : Number(subject),
    subjectId: textOf(subjectId),
    threadId: textOf(threadId),
    supersededBy: textOf(supersededBy),
    at: Number(at)
  }
}
