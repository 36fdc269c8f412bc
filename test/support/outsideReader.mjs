/**
 * Another program that looks into the database files of a directory while the service runs, as the command `sqlite3` does:
 * opens each, reads, closes. One round for each line of its input; answers with the names that could not be read.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { createInterface } from "node:readline"

const directory = process.argv[2]

const databases = () => {
  const names = existsSync(directory) ? readdirSync(directory, { recursive: true }) : []
  // The lock of the directory must not be taken from whom it is for.
  return names.filter((name) => name.endsWith(".db") && name !== "lock.db").map((name) => join(directory, name))
}

/** A file may go, be damaged or be busy: that is not what is looked for. */
const look = (path) => {
  let database
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    database.prepare("SELECT count(*) FROM sqlite_schema").get()
    return []
  } catch {
    return [path]
  } finally {
    database?.close()
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "") break
  process.stdout.write(`${JSON.stringify(databases().flatMap(look))}\n`)
}
