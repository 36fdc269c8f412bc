/**
 * Calls of accounts, kept for days (contract: Operator routes): written down in the background, found by account, caller,
 * operation, outcome and time. Bounded by `MUNIMENT_REQUEST_DAYS` and `Limits.requestRowsMax`; with 0 days the last
 * `Limits.requestRecordsMax` are in memory. A store that fails costs entries and a warning, never an answer.
 *
 * Invariant: nothing is kept of an account that was erased.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { join } from "node:path"
import { chmodSync, existsSync, rmSync } from "node:fs"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { Limits } from "@muniment/domain/Limits"
import { type DeletionRecord, clientLeft } from "@muniment/domain/Operations"
import { firstOperator } from "@muniment/domain/Operator"
import { callStages, type StageMillis } from "@muniment/domain/StageTimes"
import { Database, SqliteError, attempt } from "@muniment/sqlite/Database"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { Rounds } from "@muniment/worker/Rounds"
import { DataDirectory } from "../../DataDirectory.ts"
import { JobClock } from "../../jobs/JobClock.ts"

export class RequestHistory extends Context.Service<
  RequestHistory,
  {
    /** With what has just ended. */
    readonly list: (filter: RequestFilter) => Effect.Effect<ReadonlyArray<KeptRequest>>
    /** Removes what an account called; `accountId` need not exist any more. */
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("muniment/server/RequestHistory") {
  static readonly layer = (pending: PendingRequests, { days }: { readonly days: number }) =>
    Layer.effect(
      this,
      Effect.gen(function* () {
        const { path } = yield* DataDirectory
        const { list } = yield* Accounts
        const { expiresBy } = yield* JobClock
        const file = days === 0 ? undefined : join(path, "requests.db")
        const history = yield* makeRequestHistory(pending, file, { days, now: expiresBy })
        // Erasures that ended while the file was not open.
        const known = new Set((yield* list).map(({ id }) => id))
        yield* history.keepOnly((account) => known.has(account))
        return history
      })
    )
}

/** Rows removed in one turn of the event loop. */
const pruneSlice = 2 * Limits.requestsSliceMax

/** Ids looked through in one turn of the event loop. */
const windowIds = 20_000

export const makeRequestHistory = Effect.fnUntraced(function* (
  pending: PendingRequests,
  path: string | undefined,
  { days, now = Clock.currentTimeMillis }: { readonly days: number; readonly now?: Effect.Effect<number> }
) {
  const rowsMax = path === undefined ? Limits.requestRecordsMax : Limits.requestRowsMax
  const file = yield* Effect.acquireRelease(
    Effect.orDie(attempt("open", () => new RequestFile(path, rowsMax))),
    (opened) => Effect.sync(() => opened.close())
  )
  let isFailing = false
  const kept = (step: Effect.Effect<void, SqliteError>): Effect.Effect<void> =>
    step.pipe(
      Effect.andThen(Effect.sync(() => void (isFailing = false))),
      Effect.catch((error) => {
        const wasFailing = isFailing
        isFailing = true
        return wasFailing ? Effect.void : Effect.logWarning("calls cannot be written down", { error: error.message })
      })
    )

  const flush = kept(
    Effect.gen(function* () {
      for (let entries = pending.take(); entries.length > 0; entries = pending.take()) {
        yield* attempt("add", () => file.add(entries))
        yield* Effect.yieldNow
      }
    })
  )
  const prune = Effect.gen(function* () {
    const until = path === undefined ? 0 : (yield* now) - days * dayMillis
    while ((yield* attempt("prune", () => file.prune(until))) >= pruneSlice) yield* Effect.yieldNow
  }).pipe(kept)
  yield* Effect.addFinalizer(() => flush)
  yield* Rounds.add({
    name: "history of calls",
    schedule: Schedule.spaced(Limits.requestFlushMillis),
    work: Effect.andThen(flush, prune)
  })

  const list = Effect.fn("RequestHistory.list")(function* (filter: RequestFilter) {
    yield* flush
    let found: ReadonlyArray<KeptRequest> = []
    const oldest = Math.max(file.oldest, (filter.after ?? 0) + 1)
    let until = Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, file.newest + 1)
    while (until > oldest && (filter.isSlowestFirst === true || found.length < filter.limit)) {
      const from = Math.max(oldest, until - windowIds)
      if (filter.isSlowestFirst === true) {
        const all = [...found, ...file.list(filter, from, until)]
        found = all.sort((one, other) => other.millis - one.millis).slice(0, filter.limit)
      } else found = [...found, ...file.list({ ...filter, limit: filter.limit - found.length }, from, until)]
      until = from
      yield* Effect.yieldNow
    }
    return found
  })
  const forget = (account: string) => Effect.andThen(flush, kept(attempt("forget", () => file.forget(account))))
  const keepOnly = (isKnown: (account: string) => boolean) =>
    Effect.forEach(
      file.accounts().filter((account) => !isKnown(account)),
      forget,
      { discard: true }
    )
  return { list, forget, keepOnly }
})

export interface KeptRequest extends RequestEntry {
  readonly id: number
}

export interface RequestFilter {
  /** Only entries with a smaller id, and with a greater one. */
  readonly before?: number | undefined
  readonly after?: number | undefined
  /** Id. */
  readonly account?: string | undefined
  readonly caller?: string | undefined
  /** An operation, or the group before its dot. */
  readonly operation?: string | undefined
  readonly agentId?: string | undefined
  readonly isRefused?: boolean | undefined
  /** First and last; a range has no call whose client left. */
  readonly statuses?: readonly [from: number, to: number] | undefined
  /** Took at least as long. */
  readonly millisMin?: number | undefined
  /** Those that took longest first, of equal ones the newest; else the newest first. */
  readonly isSlowestFirst?: boolean | undefined
  /** A call of an operator in place of an account. */
  readonly isByOperator?: boolean | undefined
  /** Milliseconds, `until` excluded. */
  readonly from?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
}

const memory = ":memory:"

const schema = `
  PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;
  CREATE TABLE IF NOT EXISTS request (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    method TEXT NOT NULL,
    operation TEXT NOT NULL,
    status INTEGER NOT NULL,
    millis REAL NOT NULL,
    account TEXT,
    caller TEXT,
    deleted TEXT,
    agent TEXT,
    code TEXT,
    stages TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS request_account ON request(account, id);
`

/** A call whose client left is not refused. */
const refused = `status >= 400 and status <> ${clientLeft}`

/** The first operator, or one who was added: `operator:NAME`. */
const byOperator = `(caller = '${firstOperator.name}' OR substr(caller, 1, ${firstOperator.name.length + 1}) = '${firstOperator.name}:')`

/**
 * The store of calls: `requests.db` in the data directory, or memory. Synchronous; each step is short.
 *
 * Invariants: at most `rowsMax` rows, the newest; ids count up and are not used again; what is removed is overwritten. It
 * promises no durability: a power cut takes the newest rows, and a file that cannot be read is begun anew.
 */
export class RequestFile {
  readonly #database: Database
  readonly #rowsMax: number

  /** `path` undefined: in memory. */
  constructor(path: string | undefined, rowsMax: number) {
    this.#database = path === undefined ? opened(memory) : openedAnew(path)
    this.#rowsMax = rowsMax
  }

  add(entries: ReadonlyArray<RequestEntry>): void {
    const insert = this.#database.prepare(
      `INSERT INTO request (at, method, operation, status, millis, account, caller, deleted, agent, code, stages)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
    )
    this.#database.transaction(() => {
      for (const { account = null, agentId = null, at, caller = null, code = null, deleted, ...entry } of entries) {
        const scope = deleted === undefined ? null : JSON.stringify(deleted)
        const { method, millis, operation, status } = entry
        const spent = stagesText(entry.stages)
        insert.run(at, method, operation, status, tenths(millis), account, caller, scope, agentId, code, spent)
      }
    })
  }

  /** Removes what is older, or beyond the bound, of a slice of the oldest rows; -> how many. */
  prune(olderThanMillis: number): number {
    const { changes } = this.#database
      .prepare(
        `DELETE FROM request WHERE (at < ? OR id <= ?)
          AND id IN (SELECT id FROM request ORDER BY id LIMIT ${pruneSlice})`
      )
      .run(olderThanMillis, this.newest - this.#rowsMax)
    return Number(changes)
  }

  /** Id; 0: none yet. */
  get newest(): number {
    return Number(this.#database.value("SELECT coalesce(max(id), 0) FROM request"))
  }

  get oldest(): number {
    return Number(this.#database.value("SELECT coalesce(min(id), 0) FROM request"))
  }

  /** Of the ids from `from` on and below `until`. */
  list(filter: RequestFilter, from: number, until: number): ReadonlyArray<KeptRequest> {
    const conditions = ["id >= ?", "id < ?"]
    const values: Array<string | number> = [from, until]
    const add = (condition: string, ...given: ReadonlyArray<string | number | undefined>): void => {
      const known = given.filter((value) => value !== undefined)
      if (known.length === 0) return
      conditions.push(condition)
      values.push(...known)
    }
    const { account, agentId, caller, isByOperator, isRefused, isSlowestFirst = false, operation, statuses } = filter
    add("account = ?", account)
    add("agent = ?", agentId)
    add("millis >= ?", filter.millisMin)
    add("status BETWEEN ? AND ?", ...(statuses ?? []))
    if (statuses !== undefined && statuses[0] < statuses[1]) add("status <> ?", clientLeft)
    if (caller === firstOperator.name) conditions.push(byOperator)
    else add("caller = ?", caller)
    add("(operation = ? OR substr(operation, 1, length(?)) = ?)", ...namesOf(operation))
    add("at >= ?", filter.from)
    add("at < ?", filter.until)
    if (isRefused !== undefined) conditions.push(isRefused ? refused : `not (${refused})`)
    if (isByOperator !== undefined) conditions.push(isByOperator ? byOperator : `NOT coalesce(${byOperator}, FALSE)`)
    const rows = this.#database
      .prepare(
        `SELECT * FROM request WHERE ${conditions.join(" AND ")} ORDER BY ${isSlowestFirst ? "millis DESC, " : ""}id DESC LIMIT ?`
      )
      .all(...values, filter.limit)
    return rows.map((row): KeptRequest => ({
      id: Number(row["id"]),
      at: Number(row["at"]),
      method: String(row["method"]),
      operation: String(row["operation"]),
      status: Number(row["status"]),
      millis: Number(row["millis"]),
      account: row["account"] === null ? undefined : String(row["account"]),
      caller: row["caller"] === null ? undefined : String(row["caller"]),
      ...(row["agent"] !== null && { agentId: String(row["agent"]) }),
      ...(row["code"] !== null && { code: String(row["code"]) }),
      ...(row["stages"] !== null && { stages: stagesIn(String(row["stages"])) }),
      ...(row["deleted"] !== null && { deleted: JSON.parse(String(row["deleted"])) as DeletionRecord })
    }))
  }

  accounts(): ReadonlyArray<string> {
    const rows = this.#database.prepare("SELECT DISTINCT account FROM request WHERE account IS NOT NULL").all()
    return rows.map((row) => String(row["account"]))
  }

  forget(account: string): void {
    this.#database.prepare("DELETE FROM request WHERE account = ?").run(account)
    this.#database.checkpoint("TRUNCATE")
  }

  close(): void {
    this.#database.close()
  }
}

const tenths = (millis: number): number => Math.round(millis * 10) / 10

/** Milliseconds in the order of the stages, so that a row stays short: "3.1,,1.5". Null: none took any time. */
const stagesText = (stages: StageMillis = {}): string | null =>
  callStages
    .map((stage) => tenths(stages[stage] ?? 0) || "")
    .join(",")
    .replace(/,+$/, "") || null

const stagesIn = (text: string): StageMillis =>
  Object.fromEntries(
    text.split(",").flatMap((millis, at) => (millis === "" ? [] : [[callStages[at] ?? "", Number(millis)]]))
  )

/** An operation, and what the names of its group begin with. */
const namesOf = (operation: string | undefined): ReadonlyArray<string> =>
  operation === undefined ? [] : [operation, `${operation}.`, `${operation}.`]

const opened = (filename: string): Database => {
  const database = new Database({ filename, isScratch: true })
  try {
    database.exec(schema)
    // A file of an earlier release.
    const columns = database.prepare("SELECT name FROM pragma_table_info('request')").all()
    for (const added of ["deleted", "agent", "code", "stages"]) {
      if (!columns.some(({ name }) => name === added)) database.exec(`ALTER TABLE request ADD COLUMN ${added} TEXT`)
    }
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Only its owner reads it. A file that is none of ours, or damaged, is removed. */
const openedAnew = (path: string): Database => {
  try {
    return ownersOnly(path, opened(path))
  } catch (error) {
    if (!(error instanceof SqliteError) || error.reason !== "corrupt") throw error
    for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) rmSync(name)
    return ownersOnly(path, opened(path))
  }
}

const ownersOnly = (path: string, database: Database): Database => {
  chmodSync(path, 0o600)
  return database
}

interface RequestEntry {
  readonly at: number
  readonly method: string
  /** Operation, such as `memories.create`. */
  readonly operation: string
  readonly status: number
  readonly millis: number
  /** Id; undefined: the credentials were refused. */
  readonly account: string | undefined
  /** Id of the key, address of the wallet, `operator`, or `operator:NAME`. */
  readonly caller: string | undefined
  /** The one that the call reads or changes. */
  readonly agentId?: string | undefined
  /** Code of a refusal or a failure, as in its answer. */
  readonly code?: string | undefined
  readonly deleted?: DeletionRecord | undefined
  readonly stages?: StageMillis | undefined
}

/**
 * Calls of accounts that are to be written down: who called which operation when, and how it ended. A call costs one
 * entry of a list; what the store does not take in time is dropped, the oldest first.
 *
 * Invariant: names of operations and agents, ids of keys, addresses of wallets, codes of errors, times; of a deletion, whom
 * and how many memories it concerned; never content, never a query.
 */
export class PendingRequests {
  #entries: Array<RequestEntry> = []

  add(entry: RequestEntry): void {
    if (this.#entries.length >= Limits.requestsPendingMax) this.#entries.splice(0, Limits.requestsSliceMax)
    this.#entries.push(entry)
  }

  /** Up to `Limits.requestsSliceMax` of the oldest, which the list no longer has. */
  take(): ReadonlyArray<RequestEntry> {
    return this.#entries.splice(0, Limits.requestsSliceMax)
  }
}
