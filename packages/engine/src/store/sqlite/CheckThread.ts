/**
 * Checks of whole files on a thread of their own, which starts with the first check and ends when it has been idle:
 * reads of a slow or failing disk hold neither the event loop nor a commit.
 */
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"
import { Effect, type Scope } from "effect"
import type { CheckReply, CheckRequest } from "./FileCheck.ts"
import type { FileVerdict, Pace } from "../NamespaceStore.ts"
import { StoreFault, type StoreError } from "../StoreError.ts"

const idleMillis = 60_000

/** Faults of one file that are kept. */
const faultsMax = 20

export interface FileChecks {
  /** `agentId`: of a namespace's file, whose memories are compared with their hashes. */
  readonly check: (filename: string, agentId: string | undefined, pace: Pace) => Effect.Effect<FileVerdict, StoreError>
}

export const openCheckThread: Effect.Effect<FileChecks, never, Scope.Scope> = Effect.gen(function* () {
  const worker = yield* openWorkerThread<CheckRequest, CheckReply>({
    name: "check",
    entry: new URL("./CheckWorker.ts", import.meta.url),
    concurrency: 1,
    // One check of the scrubber, and one of each namespace that has just failed.
    queueMax: Infinity,
    idleMillis
  })
  return { check: (filename, agentId, pace) => checkFile(worker, { filename, agentId, pace }) }
})

const checkFile = Effect.fn("FileChecks.check")(function* (
  worker: WorkerThread<CheckRequest, CheckReply>,
  { agentId, filename, pace }: { readonly filename: string; readonly agentId: string | undefined; readonly pace: Pace }
) {
  const first = yield* ask(worker, { _tag: "Tables", filename, isNamespace: agentId !== undefined })
  if (first._tag !== "Tables") return { bytes: 0, faults: first.faults }
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
