/**
 * Another program at the database files of a directory while the service runs, as the command `sqlite3` does. One round for
 * each line of its input: `look` opens each, reads, closes; `hold MILLIS` keeps a transaction open that has read each;
 * `lock MILLIS FILE` begins to write to one. Answers with the names that it could not use.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { createInterface } from "node:readline"
import { setTimeout as pause } from "node:timers/promises"

const directory = process.argv[2]

const databases = () => {
  const names = existsSync(directory) ? readdirSync(directory, { recursive: true }) : []
  // The lock of the directory must not be taken from whom it is for.
  return names
    .filter((name) => name.endsWith(".db") && name !== "lock.db")
    .sort()
    .map((name) => join(directory, name))
}

/** -> the open file. One may go, be damaged or be busy: that is not what is looked for. */
const opened = (path, statement) => {
  let database
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec(statement)
    database.prepare("SELECT count(*) FROM sqlite_schema").get()
    return database
  } catch {
    database?.close()
    return undefined
  }
}

const use = async (paths, statement, millis = 0) => {
  const files = paths.map((path) => [path, opened(path, statement)])
  if (millis > 0) await pause(millis)
  for (const [, database] of files) database?.close()
  return files.flatMap(([path, database]) => (database === undefined ? [path] : []))
}

const round = (line) => {
  const [what, millis, file] = line.split(" ")
  const all = databases()
  if (what === "hold") return use(all, "BEGIN", Number(millis))
  if (what === "lock") return use(all.slice(Number(file) % all.length).slice(0, 1), "BEGIN IMMEDIATE", Number(millis))
  return use(all, "SELECT 1")
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "") break
  process.stdout.write(`${JSON.stringify(await round(line))}\n`)
}
