/**
 * Entry of the thread that commits (CommitThread.ts). It has connections of its own to the files it wrote
 * lately; the event loop reads through others and sees a commit as soon as it is made.
 *
 * Invariant: nothing is kept between orders but connections and statements, so a thread that is started
 * anew goes on where the last one ended.
 */
import { parentPort } from "node:worker_threads"
import { Database } from "@muniment/sqlite/Database"
import { FullText } from "../recall/FullText.ts"
import type { CommitOrder } from "./CommitTransaction.ts"
import { CommitTransaction } from "./CommitTransaction.ts"
import type { ThreadCommit, ThreadReply, ThreadRequest } from "./CommitThread.ts"
import { ErasureLog } from "./ErasureLog.ts"
import { SqliteConversations } from "./SqliteConversations.ts"
import { storeError } from "./storeError.ts"

/** Connections kept open beside those of the event loop: two descriptors and some 200 KB each. */
const filesOpenMax = 64

interface OpenFile {
  readonly database: Database
  readonly transaction: CommitTransaction
  readonly erasures: ErasureLog
}

const port = parentPort
if (port === null) throw new Error("CommitWorker runs only as a worker thread")

port.on("message", (request: ThreadRequest) => port.postMessage(answer(request)))

const answer = (request: ThreadRequest): ThreadReply => {
  const { id } = request
  try {
    const done = request._tag === "Commit" ? commit(request.filename, request.order) : close(request.filename)
    return { _tag: "Done", id, done }
  } catch (cause) {
    const error = storeError(cause)
    // The statements and pages of a failed transaction are not trusted any more.
    files.get(request.filename)?.database.close()
    files.delete(request.filename)
    const message = cause instanceof Error ? cause.message : String(cause)
    return { _tag: "Failed", id, error: error._tag === "StoreFenced" ? "StoreFault" : error._tag, message }
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
    transaction: new CommitTransaction(database, new FullText(database.handle), conversations)
  }
}

const close = (filename: string): undefined => {
  files.get(filename)?.database.close()
  files.delete(filename)
}
