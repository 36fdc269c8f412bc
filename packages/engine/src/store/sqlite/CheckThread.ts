/**
 * Checks of whole files on a thread of their own, which starts with the first check and ends when it has been idle:
 * reads of a slow or failing disk hold neither the event loop nor a commit.
 */
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"
import { Effect, type Scope } from "effect"
import type { LogEntry } from "../../log/CommitLog.ts"
import type { CheckReply, CheckRequest } from "./FileCheck.ts"
import type { FileVerdict, Pace } from "../NamespaceStore.ts"
import { StoreDamaged, StoreFault, type StoreError } from "../StoreError.ts"
import type { CopyContent } from "./namespaceMeta.ts"

/** Files are read once a week, one soon after the other; a thread takes some 25 MB of memory. */
const idleMillis = 5_000

/** Faults of one file that are kept. */
const faultsMax = 20

export interface FileChecks {
  /** `agentId`: of a namespace's file, whose memories are compared with their hashes. */
  readonly check: (filename: string, agentId: string | undefined, pace: Pace) => Effect.Effect<FileVerdict, StoreError>
  /** Writes a copy of a file as of one moment. */
  readonly snapshot: (filename: string, snapshot: string) => Effect.Effect<CopyContent, StoreError>
  /** Carries out records of the log in a file of its own; fails with `StoreDamaged` if they do not follow what it has. */
  readonly expect: (filename: string, entries: ReadonlyArray<LogEntry>) => Effect.Effect<void, StoreError>
  /** What a snapshot has otherwise than a file that was made from the log. */
  readonly differences: (snapshot: string, expected: string) => Effect.Effect<ReadonlyArray<string>, StoreError>
}

export interface CheckThreadSettings {
  /** Directory of the log that namespaces' files follow; undefined: they follow none. */
  readonly logDirectory: string | undefined
}

export const openCheckThread = Effect.fnUntraced(function* (
  settings: CheckThreadSettings
): Effect.fn.Return<FileChecks, never, Scope.Scope> {
  const worker = yield* openWorkerThread<CheckRequest, CheckReply>({
    name: "check",
    entry: new URL("./CheckWorker.ts", import.meta.url),
    settings,
    concurrency: 1,
    // One check of the scrubber, and one of each namespace that has just failed.
    queueMax: Infinity,
    idleMillis
  })
  const faultsOf = (request: CheckRequest) =>
    Effect.map(ask(worker, request), (reply) => (reply._tag === "Checked" ? reply.faults : []))
  return {
    check: (filename, agentId, pace) => checkFile(worker, { filename, agentId, pace }),
    snapshot: (filename, snapshot) =>
      Effect.flatMap(ask(worker, { _tag: "Snapshot", filename, snapshot }), (reply) =>
        reply._tag === "Taken" ? Effect.succeed(reply.content) : Effect.fail(damaged(reply))
      ),
    expect: (filename, entries) =>
      Effect.flatMap(ask(worker, { _tag: "Expect", filename, entries }), (reply) =>
        reply._tag === "Checked" && reply.faults.length > 0 ? Effect.fail(damaged(reply)) : Effect.void
      ),
    differences: (filename, expected) => faultsOf({ _tag: "Differences", filename, expected })
  }
})

const damaged = (reply: Answered): StoreDamaged =>
  new StoreDamaged({ reason: reply._tag === "Checked" ? reply.faults.join("; ") : "no snapshot", cause: undefined })

const checkFile = Effect.fn("FileChecks.check")(function* (
  worker: WorkerThread<CheckRequest, CheckReply>,
  { agentId, filename, pace }: { readonly filename: string; readonly agentId: string | undefined; readonly pace: Pace }
) {
  const first = yield* ask(worker, { _tag: "Tables", filename, isNamespace: agentId !== undefined })
  if (first._tag !== "Tables") return { bytes: 0, faults: first._tag === "Checked" ? first.faults : [] }
  const { bytes, tables } = first
  const faults: Array<string> = []
  for (const table of tables) {
    const reply = yield* ask(worker, { _tag: "Table", filename, table })
    if (reply._tag === "Checked") faults.push(...reply.faults)
    yield* pace(bytes / tables.length)
  }
  // What its b-trees do not hold together cannot be read row by row.
  if (agentId !== undefined && faults.length === 0 && tables.includes("memory")) {
    for (let from: number | undefined = 0; from !== undefined;) {
      const reply: Answered = yield* ask(worker, { _tag: "Rows", filename, agentId, from })
      from = reply._tag === "Checked" ? reply.next : undefined
      if (reply._tag === "Checked") faults.push(...reply.faults)
      yield* pace(0)
    }
  }
  return { bytes, faults: faults.slice(0, faultsMax) } satisfies FileVerdict
})

type Answered = Exclude<CheckReply, { readonly _tag: "Unreadable" }>

const ask = (worker: WorkerThread<CheckRequest, CheckReply>, request: CheckRequest) =>
  worker.ask(request).pipe(
    Effect.mapError((cause): StoreError => new StoreFault({ cause })),
    Effect.flatMap((reply) =>
      reply._tag === "Unreadable"
        ? Effect.fail<StoreError>(new StoreFault({ cause: new Error(reply.message) }))
        : Effect.succeed(reply)
    )
  )
