/** Tags of the agents of a stopped or running service, by agent. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

export const namespaceTags = (dataDirectory: string): ReadonlyMap<string, string> => {
  const database = new DatabaseSync(join(dataDirectory, "control.db"), { readOnly: true })
  const rows = database.prepare("SELECT agent_id, tag FROM namespace").all()
  database.close()
  return new Map(rows.map((row) => [String(row["agent_id"]), String(row["tag"])]))
}
