/**
 * Data directories as the first build (commit 852b6eb) wrote them: the one that it was killed with, and it grown to any
 * size by rows in its own formats. What grows is cloned from rows that the build wrote, with identifiers of their own.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { repository } from "./TestServer.ts"

const vectors = join(repository, "test/vectors/first-build")

/** What its API answered. */
export const firstBuildAnswers = JSON.parse(readFileSync(join(vectors, "expected.json"), "utf8"))

/** Into a directory that is made. */
export const unpackFirstBuild = (directory: string): void => {
  const unpacked = spawnSync("sh", [
    "-c",
    'mkdir "$1" && tar xzf "$0" -C "$1"',
    join(vectors, "data.tar.gz"),
    directory
  ])
  if (unpacked.status !== 0) throw new Error(`tar: ${unpacked.stderr}`)
}

/** Of the tag of a namespace, with which the identifiers of its memories end: 48 bits. */
const tagBits = 48n
/** Beside its three. */
const newAgents = 5
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/** Until the directory holds `memories` memories of eight agents, and rows of every table that control.db has. */
export const growFirstBuild = (directory: string, memories: number): void => {
  const control = new DatabaseSync(join(directory, "control.db"))
  const known = control.prepare("SELECT tag, account FROM namespace ORDER BY tag").all()
  const tags = known.map(({ tag }) => String(tag))
  const [source] = tags as [string]
  const account = String(known[0]!["account"])
  // The write-ahead logs that it was killed with go into the files, which are copied.
  for (const tag of tags) using(fileOf(directory, tag), () => undefined)
  for (let at = 0; at < newAgents; at++) {
    const tag = `a9e47${at}000000`
    tags.push(tag)
    copyFileSync(fileOf(directory, source), fileOf(directory, tag))
    control
      .prepare("INSERT INTO namespace VALUES (?, ?, ?, ?)")
      .run(tag, account, `grown-${at}`, 1_795_338_313_529 + at)
    using(fileOf(directory, tag), (database) => becomeAgent(database, tag, `grown-${at}`))
  }
  const before = tags.map((tag) => using(fileOf(directory, tag), countOf))
  const left = memories - before.reduce((sum, count) => sum + count, 0)
  tags.forEach((tag, at) =>
    using(fileOf(directory, tag), (database) => {
      const share = Math.floor(left / tags.length) + (at < left % tags.length ? 1 : 0)
      growMemories(database, BigInt(`0x${tag}`), before[at]! + share)
      growConversations(database, Math.ceil(memories / 100))
    })
  )
  growControl(control, account, Math.ceil(memories / 20))
  control.close()
}

const fileOf = (directory: string, tag: string): string => join(directory, "namespaces", `${tag}.db`)

const using = <A>(filename: string, use: (database: DatabaseSync) => A): A => {
  const database = new DatabaseSync(filename)
  try {
    database.exec("BEGIN")
    const result = use(database)
    database.exec("COMMIT")
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    return result
  } finally {
    database.close()
  }
}

const countOf = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT count(*) AS n FROM memory").get()!["n"])

const becomeAgent = (database: DatabaseSync, tag: string, agentId: string): void => {
  database.prepare("UPDATE meta SET value = ? WHERE key = 'agent'").run(agentId)
  database.exec("DELETE FROM idempotency")
  const rename = database.prepare("UPDATE memory SET id = ?, content_hash = ?, sources = NULL WHERE slot = ?")
  for (const { data, id, kind, slot } of database.prepare("SELECT slot, id, kind, data FROM memory").all()) {
    const hash = contentHash({ agentId, kind: String(kind), data: JSON.parse(String(data)) })
    rename.run(idText(((ulidOf(String(id)) >> tagBits) << tagBits) | BigInt(`0x${tag}`)), hash, Number(slot))
  }
}

/** Memory, vector and full text of a row are cloned together, in slots and sequence numbers behind the last ones. */
const growMemories = (database: DatabaseSync, tag: bigint, count: number): void => {
  const sources = database.prepare("SELECT * FROM memory WHERE unique_key IS NULL ORDER BY slot").all()
  const rowAt = (table: string, slot: SQLInputValue) =>
    database.prepare(`SELECT * FROM ${table} WHERE ${table === "fulltext" ? "rowid" : "slot"} = ?`).get(slot)!
  let slot = Number(database.prepare("SELECT max(slot) AS slot FROM memory").get()!["slot"])
  let seq = Number(database.prepare("SELECT value FROM meta WHERE key = 'seq'").get()!["value"])
  const parts = sources.map((memory) => ({
    memory,
    vector: rowAt("vector", memory["slot"]!),
    text: rowAt("fulltext", memory["slot"]!),
    length: rowAt("fulltext_length", memory["slot"]!)
  }))
  const inserts = new Map<string, (row: Record<string, SQLInputValue>) => void>()
  const insert = (table: string, row: Record<string, SQLInputValue>) => {
    const known = inserts.get(table) ?? inserterOf(database, table, Object.keys(row))
    inserts.set(table, known)
    known(row)
  }
  for (let have = countOf(database); have < count; have++) {
    const { length, memory, text, vector } = parts[have % parts.length]!
    slot++
    seq++
    const random = (ulidOf(String(memory["id"])) >> (tagBits + 32n)) << 32n
    const id = idText(((random | BigInt(slot)) << tagBits) | tag)
    insert("memory", { ...memory, slot, id, created_seq: seq, sources: null })
    insert("vector", { ...vector, slot, seq })
    insert("fulltext", { rowid: slot, ...text })
    insert("fulltext_length", { ...length, slot })
  }
  database.prepare("UPDATE meta SET value = ? WHERE key = 'seq'").run(seq)
}

const inserterOf = (database: DatabaseSync, table: string, columns: ReadonlyArray<string>) => {
  const names = columns.map((column) => `"${column}"`).join(", ")
  const statement = database.prepare(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => "?").join(", ")})`)
  return (row: Record<string, SQLInputValue>) => void statement.run(...columns.map((column) => row[column]!))
}

/** Marks of processed messages, and messages. */
const growConversations = (database: DatabaseSync, count: number): void => {
  const conversation = database.prepare("SELECT id FROM conversation LIMIT 1").get()?.["id"]
  if (conversation === undefined) return
  for (let at = 0; at < count; at++) {
    const key = `grown message ${at}`
    database.prepare("INSERT INTO conversation_mark VALUES (?, ?)").run(conversation, key)
    database
      .prepare(
        "INSERT INTO conversation_turn (conversation, key, role, content, created_at, expires_at) VALUES (?, ?, 'user', ?, ?, NULL)"
      )
      .run(conversation, key, `The text of ${key}`, 1_795_338_313_531 + at)
  }
}

const amount = 5_000_000
/** Of a payment. */
const units = 1_000
const microCreditsOfUnit = 1_000

/** Accounts with keys, schemas, wallets, revoked grants, movements of their purses, payments, runs of jobs. */
const growControl = (control: DatabaseSync, account: string, count: number): void => {
  const at = 1_795_338_346_178
  const run = (statement: string, ...values: ReadonlyArray<SQLInputValue>) => control.prepare(statement).run(...values)
  const ledger = new Map(
    control
      .prepare("SELECT name, id FROM ledger_account ORDER BY name LIKE 'liability:credits:%', id")
      .all()
      .map(({ id, name }) => [String(name), Number(id)])
  )
  const ownUse = ledger.get(`expense:own-use:${account}`)!
  const income = ledger.get("income:operations")!
  const purse = [...ledger.values()].at(-1)!
  const payer = [...ledger.keys()].at(-1)!.slice("liability:credits:".length)
  control.exec("BEGIN")
  run("INSERT INTO ledger_account (name, owner, kind, debits, credits) VALUES ('asset:grown', NULL, 'asset', 0, 0)")
  const received = Number(control.prepare("SELECT id FROM ledger_account WHERE name = 'asset:grown'").get()!["id"])
  for (let n = 0; n < count; n++) {
    const hex = n.toString(16).padStart(8, "0")
    const text = n.toString().padStart(6, "0")
    run(
      "INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      `key_01M817ZXQCZYP2EQ6A${text}ZZ`,
      account,
      `label ${n}`,
      `mun_${text}`,
      hex.repeat(8),
      at,
      n % 3 === 0 ? at : null,
      n % 5 === 0 ? at : null
    )
    run("INSERT INTO wallet VALUES (?, 'evm', ?, ?)", `0x${hex.repeat(5)}`, account, at + n)
    run("INSERT INTO grant_revocation VALUES (?, ?, ?, ?)", `0x${hex.repeat(8)}`, account, at, at + 400_000_000_000)
    run(
      "INSERT INTO transfer (key, debit, credit, amount, kind, operation, calls, account, at) VALUES (?, ?, ?, ?, 'charge', 'create', 1, ?, ?)",
      `charge:grown-${n}:own-use`,
      ownUse,
      income,
      amount,
      account,
      at + n
    )
    const isPaid = n % 2 === 0
    run(
      "INSERT INTO payment VALUES (?, ?, 'eip155:84532', ?, ?, '{}', ?, ?, NULL, ?, ?, ?)",
      `pay_${text}`,
      payer,
      `0x${hex.repeat(5)}`,
      units,
      isPaid ? "finalized" : "failed",
      isPaid ? `0x${hex.repeat(8)}` : null,
      isPaid ? null : "expired",
      at,
      at
    )
    if (isPaid)
      run(
        "INSERT INTO transfer (key, debit, credit, amount, kind, account, at) VALUES (?, ?, ?, ?, 'deposit', ?, ?)",
        `deposit:pay_${text}`,
        received,
        purse,
        units * microCreditsOfUnit,
        payer,
        at + n
      )
    if (n % 10 !== 0) continue
    run(
      "INSERT INTO memory_schema VALUES (?, ?, ?, NULL, ?, ?, ?)",
      account,
      `grown_${n}`,
      `Kind ${n}`,
      '{"type":"object","properties":{"city":{"type":"string"}}}',
      at,
      at
    )
    run("INSERT INTO model_usage VALUES (?, ?, ?, ?, ?)", account, `2026-01-${text}`, n, n, n)
  }
  run("UPDATE ledger_account SET debits = debits + ? WHERE id = ?", amount * count, ownUse)
  run("UPDATE ledger_account SET credits = credits + ? WHERE id = ?", amount * count, income)
  const deposited = units * microCreditsOfUnit * Math.ceil(count / 2)
  run("UPDATE ledger_account SET debits = debits + ? WHERE id = ?", deposited, received)
  run("UPDATE ledger_account SET credits = credits + ? WHERE id = ?", deposited, purse)
  control.exec("COMMIT")
}

const ulidOf = (id: string): bigint =>
  Array.from(id.slice("mem_".length)).reduce((value, digit) => value * 32n + BigInt(digits.indexOf(digit)), 0n)

const idText = (value: bigint): string => {
  let text = ""
  for (let at = 0, rest = value; at < 26; at++, rest >>= 5n) text = digits[Number(rest & 31n)]! + text
  return `mem_${text}`
}
