/** Table `meta` of a namespace file: last sequence number, epoch of the last owner, account and agent, bytes of the memories. */
import type { Database } from "@muniment/sqlite/Database"
import { DamagedColumn } from "./memoryColumns.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"

export const metaOf = (database: Database, key: "seq" | "epoch" | "account" | "agent" | "bytes"): unknown =>
  database.prepare("SELECT value FROM meta WHERE key = ?").get(key)?.["value"]

/** Throws if the file belongs to another namespace; a file without a commit belongs to none. */
export const requireOwner = (database: Database, key: NamespaceKey): void => {
  const isClaimed = Number(metaOf(database, "epoch") ?? 0) > 0
  if (isClaimed && (metaOf(database, "account") !== key.account || metaOf(database, "agent") !== key.agentId))
    throw new DamagedColumn("the file holds the memories of another agent")
}
