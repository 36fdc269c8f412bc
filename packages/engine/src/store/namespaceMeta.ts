/**
 * The table `meta` of a namespace's file: the number of its last change, the epoch of its last owner, and
 * whose memories it holds.
 */
import type { Database } from "@muniment/sqlite/Database"
import { DamagedColumn } from "./memoryColumns.ts"
import type { NamespaceKey } from "./NamespaceStore.ts"

export const metaOf = (database: Database, key: "seq" | "epoch" | "account" | "agent"): unknown =>
  database.prepare("SELECT value FROM meta WHERE key = ?").get(key)?.["value"]

/** Throws when the file is another namespace's; a file without a commit is nobody's yet. */
export const checkOwner = (database: Database, key: NamespaceKey): void => {
  const isClaimed = Number(metaOf(database, "epoch") ?? 0) > 0
  if (isClaimed && (metaOf(database, "account") !== key.account || metaOf(database, "agent") !== key.agentId))
    throw new DamagedColumn("the file holds the memories of another agent")
}
