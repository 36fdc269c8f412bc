/**
 * Table `meta` of a namespace file: last sequence number, epoch of the last owner, account and agent, bytes of the
 * memories; in a file that follows the log also its last record there, and the last one that an erasure must reach.
 */
import type { Database } from "@muniment/sqlite/Database"
import { DamagedColumn } from "./memoryColumns.ts"
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

type MetaKey = "seq" | "epoch" | "account" | "agent" | "bytes" | "ordinal" | "erasure_due"

export const metaOf = (database: Database, key: MetaKey): unknown =>
  database.prepare("SELECT value FROM meta WHERE key = ?").get(key)?.["value"]

/** Throws if the file belongs to another namespace; a file without a commit belongs to none. */
export const requireOwner = (database: Database, key: NamespaceKey): void => {
  const isClaimed = Number(metaOf(database, "epoch") ?? 0) > 0
  if (isClaimed && (metaOf(database, "account") !== key.account || metaOf(database, "agent") !== key.agentId))
    throw new DamagedColumn("the file holds the memories of another agent")
}

export const copyContent = (database: Database): CopyContent => {
  const number = (key: MetaKey) => Number(metaOf(database, key) ?? 0)
  return {
    seq: number("seq"),
    epoch: number("epoch"),
    bytes: number("bytes"),
    ordinal: number("ordinal"),
    erasureDue: number("erasure_due")
  }
}
