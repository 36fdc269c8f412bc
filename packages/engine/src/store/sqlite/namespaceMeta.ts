/**
 * Table `meta` of a namespace file: last sequence number, epoch of the last owner, account and agent, bytes of the
 * memories; when it was first written, and up to where its events were forgotten; in a file that follows the log also its
 * last record there, and the last one that an erasure must reach; the sum of all this.
 */
import type { Database } from "@muniment/sqlite/Database"
import { DamagedColumn } from "./memoryColumns.ts"
import { rowSum } from "./rowSums.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"

/** What a file holds after it has followed the log. */
export interface CopyContent {
  readonly seq: number
  readonly epoch: number
  readonly bytes: number
  /** The last record that it has; 0: none. */
  readonly ordinal: number
  /** The last record that erases and has not been followed by an erasure of the log; 0: none. */
  readonly erasureDue: number
}

type MetaKey = "seq" | "epoch" | "account" | "agent" | "bytes" | "ordinal" | "erasure_due" | "born" | "event_floor"

export interface MetaValues {
  readonly seq?: number
  readonly epoch?: number
  readonly account?: string
  readonly agent?: string
  readonly ordinal?: number
  readonly erasure_due?: number
  /** Time of the first commit. */
  readonly born?: number
  /** Number of the last event that was forgotten. */
  readonly event_floor?: number
}

export const metaOf = (database: Database, key: MetaKey): unknown =>
  database.prepare("SELECT value FROM meta WHERE key = ?").get(key)?.["value"]

/** Throws if the file belongs to another namespace; a file without a commit belongs to none. */
export const requireOwner = (database: Database, key: NamespaceKey): void => {
  const isClaimed = Number(metaOf(database, "epoch") ?? 0) > 0
  if (isClaimed && (metaOf(database, "account") !== key.account || metaOf(database, "agent") !== key.agentId))
    throw new DamagedColumn("the file holds the memories of another agent")
}

/** Throws if a row is not what the sum says. */
export const copyContent = (database: Database): CopyContent => {
  const { content, isSummed } = readMeta(database)
  if (!isSummed) throw new DamagedColumn("table meta: not what its sum says")
  return content
}

/** Inside a transaction whose `copyContent` was read before: stores values, and the sum of all; returns what is stored then. */
export const writeMeta = (database: Database, values: MetaValues): CopyContent => {
  const put = database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
  for (const [key, value] of Object.entries(values)) put.run(key, value)
  const { content, sum } = readMeta(database)
  put.run(sumKey, sum)
  return content
}

const sumKey = "sum"

const readMeta = (database: Database) => {
  const rows = database.prepare("SELECT key, value FROM meta ORDER BY key").allArrays()
  const values = new Map(rows.map(([key, value]) => [key, value]))
  const sum = rowSum(rows.filter(([key]) => key !== sumKey).flat())
  const number = (key: MetaKey) => Number(values.get(key) ?? 0)
  const content: CopyContent = {
    seq: number("seq"),
    epoch: number("epoch"),
    bytes: number("bytes"),
    ordinal: number("ordinal"),
    erasureDue: number("erasure_due")
  }
  return { content, sum, isSummed: values.get(sumKey) === sum }
}
