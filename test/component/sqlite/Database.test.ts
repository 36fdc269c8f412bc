/** The synchronous driver: durability asserted, transactions whole, failures sorted. */
import { describe, expect, it } from "@effect/vitest"
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Database, SqliteError, StatementCache, statementCacheMax } from "@muniment/sqlite/Database"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { temporaryDirectory } from "./TemporaryDirectory.ts"

const freshFile = () => join(temporaryDirectory(), "test.db")

const reasonOf = (step: () => unknown): string | undefined => {
  try {
    step()
  } catch (error) {
    return error instanceof SqliteError ? error.reason : `not classified: ${String(error)}`
  }
  return undefined
}

describe("opening", () => {
  it("keeps WAL, FULL, foreign keys and secure delete, read back from SQLite", () => {
    const database = new Database({ filename: freshFile() })
    expect(database.value("PRAGMA journal_mode")).toBe("wal")
    expect(database.value("PRAGMA synchronous")).toBe(2)
    expect(database.value("PRAGMA foreign_keys")).toBe(1)
    expect(database.value("PRAGMA secure_delete")).toBe(1)
    database.close()
  })

  it("takes a URI, which may forbid to make the file", () => {
    const name = freshFile()
    const uri = `${pathToFileURL(name).href}?mode=rw`
    expect(reasonOf(() => new Database({ filename: uri }))).toBe("io")
    new Database({ filename: name }).close()
    new Database({ filename: uri }).close()
  })

  it("refuses a database that cannot have a write-ahead log", () => {
    expect(() => new Database({ filename: ":memory:" })).toThrow(/not durable: journal_mode=memory/)
  })

  it("calls a file that is no database corrupt", () => {
    const filename = freshFile()
    writeFileSync(filename, "this is not a database, and it is longer than one header ".repeat(40))
    expect(reasonOf(() => new Database({ filename }))).toBe("corrupt")
  })

  it("calls a file corrupt whose header lets it only be read, unless its log has the header as it was", () => {
    const filename = freshFile()
    const flip = () => {
      const bytes = readFileSync(filename)
      bytes[18]! ^= 1
      writeFileSync(filename, bytes)
    }
    const database = new Database({ filename })
    database.exec("CREATE TABLE a (b)")
    database.checkpoint("TRUNCATE")
    database.exec("CREATE TABLE c (d)")
    flip()
    const other = new Database({ filename })
    other.exec("INSERT INTO c VALUES (1)")
    other.close()
    database.close()
    expect(reasonOf(() => new Database({ filename }))).toBeUndefined()
    flip()
    expect(reasonOf(() => new Database({ filename }))).toBe("corrupt")
  })

  it("calls a directory in place of the file an io error", () => {
    const filename = freshFile()
    mkdirSync(filename)
    expect(reasonOf(() => new Database({ filename }))).toBe("io")
  })

  it("reads but never writes when opened for reading", () => {
    const filename = freshFile()
    new Database({ filename }).close()
    const database = new Database({ filename, readOnly: true })
    expect(reasonOf(() => database.exec("CREATE TABLE a (b)"))).toBe("other")
    database.close()
  })

  it("closes once, however often it is told to", () => {
    const database = new Database({ filename: freshFile() })
    database.close()
    expect(database.handle.isOpen).toBe(false)
    database.close()
  })
})

describe("transaction", () => {
  const withTable = () => {
    const database = new Database({ filename: freshFile() })
    database.exec("CREATE TABLE entry (id INTEGER PRIMARY KEY, value TEXT UNIQUE) STRICT")
    return database
  }
  const count = (database: Database) => database.value("SELECT count(*) FROM entry")

  it("commits what the step wrote and returns its result", () => {
    const database = withTable()
    const result = database.transaction(() => {
      expect(database.isTransaction).toBe(true)
      return database.prepare("INSERT INTO entry (value) VALUES (?)").run("a").changes
    })
    expect([result, count(database), database.isTransaction]).toEqual([1, 1, false])
    database.close()
  })

  it("undoes everything when the step throws, and lets its error pass unchanged", () => {
    const database = withTable()
    const stop = new Error("stop")
    expect(() =>
      database.transaction(() => {
        database.prepare("INSERT INTO entry (value) VALUES (?)").run("a")
        throw stop
      })
    ).toThrow(stop)
    expect([count(database), database.isTransaction]).toEqual([0, false])
    database.close()
  })

  it("sorts a violated constraint", () => {
    const database = withTable()
    const insert = () => database.prepare("INSERT INTO entry (value) VALUES (?)").run("a")
    expect(reasonOf(() => database.transaction(() => [insert(), insert()]))).toBe("constraint")
    expect(count(database)).toBe(0)
    database.close()
  })

  it("sorts a full database, undoes the write, and can still read and delete", () => {
    const database = withTable()
    database.prepare("INSERT INTO entry (value) VALUES (?)").run("kept")
    database.exec("PRAGMA max_page_count=6")
    const fill = () =>
      database.transaction(() => {
        for (let id = 0; id < 100; id++) {
          database.prepare("INSERT INTO entry (value) VALUES (?)").run(`${id}`.repeat(1_000))
        }
      })
    expect(reasonOf(fill)).toBe("full")
    expect([count(database), database.isTransaction]).toEqual([1, false])
    database.transaction(() => database.exec("DELETE FROM entry"))
    database.close()
  })

  it("refuses to nest, and undoes the outer one", () => {
    const database = withTable()
    expect(() =>
      database.transaction(() => {
        database.prepare("INSERT INTO entry (value) VALUES (?)").run("a")
        database.transaction(() => 1)
      })
    ).toThrow(/do not nest/)
    expect(count(database)).toBe(0)
    database.close()
  })

  it("refuses a step that returns a promise", () => {
    const database = withTable()
    expect(() => database.transaction(() => Promise.resolve(1))).toThrow(/promise/)
    expect(database.isTransaction).toBe(false)
    database.close()
  })

  it("says busy while another connection writes", () => {
    const database = withTable()
    const other = new Database({ filename: database.filename })
    other.exec("PRAGMA busy_timeout=1")
    database.transaction(() => expect(reasonOf(() => other.transaction(() => 1))).toBe("busy"))
    other.close()
    database.close()
  })
})

describe("classification", () => {
  it("calls a system error full only when there is no room", () => {
    const systemError = (code: string) => Object.assign(new Error(code), { code, syscall: "write" })
    expect(classifySqlite(systemError("ENOSPC"), "test")?.reason).toBe("full")
    expect(classifySqlite(systemError("EDQUOT"), "test")?.reason).toBe("full")
    expect(classifySqlite(systemError("EIO"), "test")?.reason).toBe("io")
  })

  it("calls a log that cannot grow its shared memory full, other i/o errors io", () => {
    const sqliteError = (errcode: number) => Object.assign(new Error("disk I/O error"), { errcode })
    expect(classifySqlite(sqliteError(4_874), "test")?.reason).toBe("full")
    expect(classifySqlite(sqliteError(1_034), "test")?.reason).toBe("io")
  })

  it("leaves errors of others alone", () => {
    expect(classifySqlite(new TypeError("mine"), "test")).toBeUndefined()
  })
})

describe("erasure and statements", () => {
  it("leaves no trace of deleted content after a truncating checkpoint", () => {
    const database = new Database({ filename: freshFile() })
    database.exec("CREATE TABLE entry (value TEXT)")
    database.prepare("INSERT INTO entry VALUES (?)").run("a very private sentence")
    database.exec("DELETE FROM entry")
    database.checkpoint("TRUNCATE")
    expect(statSync(`${database.filename}-wal`).size).toBe(0)
    expect(readFileSync(database.filename).includes("very private")).toBe(false)
    database.close()
  })

  it("gives rows as arrays when asked to, and by name the next time", () => {
    const database = new Database({ filename: freshFile() })
    const statement = database.prepare("SELECT value, value * 2 AS twice FROM json_each('[1,2]')")
    expect(statement.allArrays()).toEqual([
      [1, 2],
      [2, 4]
    ])
    expect(statement.get()).toEqual({ value: 1, twice: 2 })
    database.close()
  })

  it("iterates rows, and can be left halfway", () => {
    const database = new Database({ filename: freshFile() })
    const statement = database.prepare("SELECT value FROM json_each('[1,2,3]')")
    for (const row of statement.iterate()) {
      expect(row["value"]).toBe(1)
      break
    }
    expect([...statement.iterate()].map((row) => row["value"])).toEqual([1, 2, 3])
    database.close()
  })

  it("keeps a bounded number of statements and drops the one used longest ago", () => {
    const database = new Database({ filename: freshFile() })
    const cache = new StatementCache(database.handle, 2)
    const first = cache.prepare("SELECT 1 AS n")
    const second = cache.prepare("SELECT 2 AS n")
    expect(cache.prepare("SELECT 1 AS n")).toBe(first)
    cache.prepare("SELECT 3 AS n")
    expect([cache.size, cache.prepare("SELECT 1 AS n") === first]).toEqual([2, true])
    expect(cache.prepare("SELECT 2 AS n")).not.toBe(second)
    expect(second.get()?.["n"]).toBe(2)
    for (let n = 0; n < statementCacheMax * 2; n++) expect(database.prepare(`SELECT ${n} AS n`).get()?.["n"]).toBe(n)
    database.close()
  })
})
