/**
 * Entry of the thread that commits (CommitThread.ts). It has its own connections to the files it wrote
 * recently; the event loop reads through others and sees a commit as soon as it is made.
 *
 * Invariant: between orders it keeps only connections and statements, so a new thread continues where a lost
 * one ended.
 */
import { existsSync } from "node:fs"
import { busyTimeoutMillis, Database } from "@muniment/sqlite/Database"
import { classifySqlite, type SqliteError } from "@muniment/sqlite/SqliteError"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import { type LogRecord, RecordReader } from "../../log/RecordReader.ts"
import { orderOf } from "./commitBody.ts"
import { registerRowSum } from "./rowSums.ts"
import { CommitTransaction, type LoggedOrder } from "./CommitTransaction.ts"
import type { CommitReply, CommitRequest, CommitThreadSettings, Followed, FollowedEntry } from "./CommitThread.ts"
import { ErasureLog } from "../Conversations.ts"
import { storeErrorOf } from "./storeErrorOf.ts"

interface OpenFile {
  readonly database: Database
  readonly transaction: CommitTransaction
  readonly erasures: ErasureLog
}

const answer = (request: CommitRequest): CommitReply => {
  try {
    if (request._tag === "Follow") return { _tag: "Followed", followed: follow(request.filename, request.entries) }
    if (request._tag === "Empty") {
      empty(request.filename)
      return { _tag: "Emptied" }
    }
    close(request.filename)
    return { _tag: "Closed" }
  } catch (cause) {
    const error = storeErrorOf(cause)
    // After a failed transaction its statements and cached pages are not reused.
    files.get(request.filename)?.database.close()
    files.delete(request.filename)
    const message = cause instanceof Error ? cause.message : String(cause)
    return { _tag: "Failed", error: error._tag === "StoreFenced" ? "StoreFault" : error._tag, message }
  }
}

/** Least recently used first. */
const files = new Map<string, OpenFile>()

const recordOf = (entry: FollowedEntry): LogRecord => {
  if (!("place" in entry)) return entry.record
  if (reader === undefined) throw new Error("this thread was started without a log")
  return reader.read(entry)
}

const follow = (filename: string, entries: ReadonlyArray<FollowedEntry>): Followed => {
  const orders = entries.map((entry) => orderOf(recordOf(entry)))
  const file = fileOf(filename)
  const before = file.erasures.mark()
  try {
    const content = file.transaction.follow(orders)
    return { content, erased: file.erasures.since(before), refused: undefined }
  } catch (cause) {
    if (!isRefusal(cause)) throw cause
    return followUntilRefused(file, orders)
  }
}

/** One by one, so that all before the one that breaks a rule are carried out. */
const followUntilRefused = (file: OpenFile, orders: ReadonlyArray<LoggedOrder>): Followed => {
  const before = file.erasures.mark()
  let content = file.transaction.follow([])
  for (const order of orders) {
    try {
      content = file.transaction.follow([order])
    } catch (cause) {
      if (!isRefusal(cause)) throw cause
      const refused = { ordinal: order.ordinal, reason: cause.message }
      return { content, erased: file.erasures.since(before), refused }
    }
  }
  return { content, erased: file.erasures.since(before), refused: undefined }
}

/** A constraint fails at every attempt; any other failure may pass. */
const isRefusal = (cause: unknown): cause is SqliteError => classifySqlite(cause, "follow")?.reason === "constraint"

const fileOf = (filename: string): OpenFile => {
  const known = files.get(filename)
  files.delete(filename)
  if (known === undefined && files.size >= filesOpenMax) {
    for (const oldest of files.keys()) {
      close(oldest)
      break
    }
  }
  const file = known ?? open(filename)
  files.set(filename, file)
  return file
}

const open = (filename: string): OpenFile => {
  const database = new Database({ filename })
  // The log makes a commit durable: a power cut takes commits off the end of a copy, and the log has them.
  database.exec("PRAGMA synchronous=NORMAL")
  registerRowSum(database)
  const erasures = new ErasureLog()
  return { database, erasures, transaction: new CommitTransaction(database, erasures) }
}

/** Readers of the event loop take less; the orders of other files wait meanwhile. */
const emptyWaitMillis = 20

/** A connection that the thread opened for this and kept could outlive the file. */
const empty = (filename: string): void => {
  const known = files.get(filename)?.database
  if (known !== undefined) emptied(known)
  else if (existsSync(filename)) Database.using(filename, emptied)
}

const emptied = (database: Database): void => {
  database.exec(`PRAGMA busy_timeout=${emptyWaitMillis}`)
  // A failure closes the connection, and the short wait ends with it.
  database.checkpoint("TRUNCATE")
  database.exec(`PRAGMA busy_timeout=${busyTimeoutMillis}`)
}

const close = (filename: string): void => {
  files.get(filename)?.database.close()
  files.delete(filename)
}

const { filesOpenMax, logDirectory } = settingsOf<CommitThreadSettings>()
const reader = logDirectory === undefined ? undefined : new RecordReader(logDirectory)

serve(answer, {
  onClose: async () => {
    for (const filename of files.keys()) close(filename)
  }
})
