/** Migrations: whole versions only, a verified snapshot before, killed anywhere and continued. */
import { describe, expect, it } from "@effect/vitest"
import { existsSync, readdirSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Database } from "@muniment/sqlite/Database"
import { migrate, type Migration, NewerDatabase } from "@muniment/sqlite/Migrate"
import { temporaryDirectory } from "./TemporaryDirectory.ts"

const first: Migration = {
  version: 1,
  name: "entries",
  up: (database) => database.exec("CREATE TABLE entry (id INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT")
}
const second: Migration = {
  version: 2,
  name: "lengths",
  up: (database) => {
    database.exec("ALTER TABLE entry ADD COLUMN size INTEGER NOT NULL DEFAULT 0")
    database.exec("UPDATE entry SET size = length(value)")
    database.exec("CREATE INDEX entry_size ON entry(size)")
  }
}
const third: Migration = {
  version: 3,
  name: "tags",
  up: (database) => database.exec("CREATE TABLE tag (name TEXT) STRICT")
}

const freshFile = () => join(temporaryDirectory(), "test.db")
const snapshotOf = (filename: string) => ({ snapshot: `${filename}.before-migration` })

const open = (filename: string, migrations: ReadonlyArray<Migration>) => {
  const database = new Database({ filename })
  try {
    return { database, migrated: migrate(database, migrations, snapshotOf(filename)) }
  } catch (error) {
    database.close()
    throw error
  }
}

/** A file of version 1 with one entry. */
const versionOne = () => {
  const filename = freshFile()
  const { database } = open(filename, [first])
  database.prepare("INSERT INTO entry (value) VALUES (?)").run("kept")
  database.close()
  return filename
}

describe("migrate", () => {
  it("brings an empty file to the last version without a snapshot", () => {
    const filename = freshFile()
    const { database, migrated } = open(filename, [first, second])
    expect(migrated).toEqual({ from: 0, to: 2, snapshot: undefined })
    database.close()
    expect(readdirSync(dirname(filename))).toEqual(["test.db"])
  })

  it("changes and copies nothing when there is nothing to do", () => {
    const filename = versionOne()
    const { database, migrated } = open(filename, [first])
    expect(migrated).toEqual({ from: 1, to: 1, snapshot: undefined })
    database.close()
  })

  it("keeps a snapshot of the version before, which opens as that version", () => {
    const filename = versionOne()
    const { database, migrated } = open(filename, [first, second])
    expect(database.prepare("SELECT value, size FROM entry").all()).toEqual([{ value: "kept", size: 4 }])
    database.close()

    expect(migrated.snapshot).toBe(`${filename}.before-migration.v1`)
    const restored = `${filename}.restored`
    renameSync(migrated.snapshot!, restored)
    const before = open(restored, [first])
    expect(before.database.prepare("SELECT * FROM entry").all()).toEqual([{ id: 1, value: "kept" }])
    before.database.close()
  })

  it("overwrites what a killed snapshot left behind", () => {
    const filename = versionOne()
    writeFileSync(`${filename}.before-migration.v1.tmp`, "half a snapshot")
    const { database, migrated } = open(filename, [first, second])
    database.close()
    expect(existsSync(migrated.snapshot!)).toBe(true)
    expect(existsSync(`${migrated.snapshot}.tmp`)).toBe(false)
  })

  it("refuses a file of a later release and leaves it as it was", () => {
    const filename = freshFile()
    open(filename, [first, second]).database.close()
    expect(() => open(filename, [first])).toThrow(NewerDatabase)
    expect(() => open(filename, [first])).toThrow(/has version 2, this release knows 1/)
    const { database, migrated } = open(filename, [first, second])
    expect(migrated.from).toBe(2)
    database.close()
  })

  it("refuses a list of migrations with a gap", () => {
    expect(() => open(freshFile(), [first, third])).toThrow(/has version 3, expected 2/)
  })
})

describe("a migration killed halfway", () => {
  const statements = [
    "ALTER TABLE entry ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "UPDATE entry SET size = 1",
    "DROP TABLE entry"
  ]

  it("leaves the version before, whichever statement was the last, and the next open goes on", () => {
    for (let done = 0; done <= statements.length; done++) {
      const filename = versionOne()
      const killed: Migration = {
        ...second,
        up: (database) => {
          for (const statement of statements.slice(0, done)) database.exec(statement)
          throw new Error("killed")
        }
      }
      expect(() => open(filename, [first, killed])).toThrow("killed")
      const { database, migrated } = open(filename, [first, second, third])
      expect(migrated).toMatchObject({ from: 1, to: 3 })
      expect(database.prepare("SELECT value, size FROM entry").all()).toEqual([{ value: "kept", size: 4 }])
      database.close()
    }
  })

  it("keeps the versions that were whole and takes up the rest", () => {
    const filename = versionOne()
    const killed: Migration = {
      ...third,
      up: () => {
        throw new Error("killed")
      }
    }
    expect(() => open(filename, [first, second, killed])).toThrow("killed")
    const { database, migrated } = open(filename, [first, second, third])
    expect(migrated).toEqual({ from: 2, to: 3, snapshot: `${filename}.before-migration.v2` })
    expect(existsSync(`${filename}.before-migration.v1`)).toBe(true)
    database.close()
  })

  it("leaves a new file empty, since all of its versions commit at once", () => {
    const filename = freshFile()
    const killed: Migration = {
      ...third,
      up: () => {
        throw new Error("killed")
      }
    }
    expect(() => open(filename, [first, second, killed])).toThrow("killed")
    const { database, migrated } = open(filename, [first, second, third])
    expect(migrated).toEqual({ from: 0, to: 3, snapshot: undefined })
    database.close()
  })
})
