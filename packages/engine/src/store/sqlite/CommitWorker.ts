/**
 * Entry of the thread that commits (CommitThread.ts). It has its own connections to the files it wrote
 * recently; the event loop reads through others and sees a commit as soon as it is made.
 *
 * Invariant: between orders it keeps only connections and statements, so a new thread continues where a lost
 * one ended.
 */
import { Database } from "@muniment/sqlite/Database"
import { serve } from "@muniment/worker/WorkerEntry"
import { SqlitePostings } from "./SqlitePostings.ts"
import type { CommitOrder } from "./CommitTransaction.ts"
import { CommitTransaction } from "./CommitTransaction.ts"
import type { CommitReply, CommitRequest, ThreadCommit } from "./CommitThread.ts"
import { ErasureLog } from "../ErasureLog.ts"
import { SqliteConversations } from "./SqliteConversations.ts"
import { storeErrorOf } from "./storeErrorOf.ts"

/** Connections kept open: two file descriptors and about 200 KB each. */
const filesOpenMax = 64

interface OpenFile {
  readonly database: Database
  readonly transaction: CommitTransaction
  readonly erasures: ErasureLog
}

const answer = (request: CommitRequest): CommitReply => {
  try {
    if (request._tag === "Commit") return { _tag: "Committed", commit: commit(request.filename, request.order) }
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

const commit = (filename: string, order: CommitOrder): ThreadCommit => {
  const file = fileOf(filename)
  const before = file.erasures.mark()
  const outcome = file.transaction.run(order)
  return { outcome, erased: file.erasures.since(before) }
}

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
  const erasures = new ErasureLog()
  const conversations = new SqliteConversations(database, { erasures })
  return {
    database,
    erasures,
    transaction: new CommitTransaction(database, new SqlitePostings(database.handle), conversations)
  }
}

const close = (filename: string): void => {
  files.get(filename)?.database.close()
  files.delete(filename)
}

serve(answer)
