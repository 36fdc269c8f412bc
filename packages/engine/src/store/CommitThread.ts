/**
 * The thread that commits: SQLite's statements and its syncs hold that thread and not the event loop, so
 * searches do not wait behind writes. One thread for all namespaces, started at once: that takes it a quarter
 * of a second, which the first write should not wait for.
 *
 * Invariants: orders of one file are carried out in the order they were given; an answer comes after the
 * commit is durable; when the thread dies, whatever it had not answered fails with an unknown outcome, and
 * the next order starts a new thread.
 */
import { Effect, type Scope } from "effect"
import { Worker } from "node:worker_threads"
import type { CommitOrder, CommitOutcome } from "./CommitTransaction.ts"
import { StoreDamaged, StoreFault, StoreFull, type StoreError } from "./NamespaceStore.ts"

/** What the thread is asked; every request is answered once. */
export type ThreadRequest =
  | { readonly _tag: "Commit"; readonly id: number; readonly filename: string; readonly order: CommitOrder }
  | { readonly _tag: "Close"; readonly id: number; readonly filename: string }

/** Errors travel as their tags: a class does not survive the way between threads. */
export type ThreadReply =
  | { readonly _tag: "Done"; readonly id: number; readonly done: ThreadCommit | undefined }
  | {
      readonly _tag: "Failed"
      readonly id: number
      readonly error: Exclude<StoreError["_tag"], "StoreFenced">
      readonly message: string
    }

export interface ThreadCommit {
  readonly outcome: CommitOutcome
  /** Scopes of conversations that lost something; undefined in the list: any. */
  readonly erased: ReadonlyArray<string | undefined>
}

interface Waiting {
  readonly succeed: (done: ThreadCommit | undefined) => void
  readonly fail: (error: StoreError) => void
}

export const openCommitThread: Effect.Effect<CommitThread, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new CommitThread()),
  (thread) => Effect.promise(() => thread.end())
)

export class CommitThread {
  #worker: Worker | undefined
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  constructor() {
    this.#worker = this.#start()
  }

  commit(filename: string, order: CommitOrder): Effect.Effect<ThreadCommit, StoreError> {
    return Effect.flatMap(
      this.#ask((id) => ({ _tag: "Commit", id, filename, order })),
      (done) =>
        done === undefined ? Effect.die(new Error("a commit was answered without an outcome")) : Effect.succeed(done)
    )
  }

  /** Closes the thread's connection to a file, if it has one. */
  close(filename: string): Effect.Effect<void, StoreError> {
    return Effect.suspend(() =>
      this.#worker === undefined ? Effect.void : Effect.asVoid(this.#ask((id) => ({ _tag: "Close", id, filename })))
    )
  }

  async end(): Promise<void> {
    await this.#worker?.terminate()
  }

  #ask(requestOf: (id: number) => ThreadRequest): Effect.Effect<ThreadCommit | undefined, StoreError> {
    return Effect.callback<ThreadCommit | undefined, StoreError>((resume) => {
      const id = ++this.#lastId
      const worker = this.#worker ?? this.#start()
      this.#waiting.set(id, {
        succeed: (done) => resume(Effect.succeed(done)),
        fail: (error) => resume(Effect.fail(error))
      })
      worker.ref()
      worker.postMessage(requestOf(id))
    })
  }

  #start(): Worker {
    const worker = new Worker(new URL("./CommitWorker.ts", import.meta.url))
    this.#worker = worker
    // Idle, it does not keep the process alive.
    worker.unref()
    worker.on("message", (reply: ThreadReply) => this.#answer(reply, worker))
    worker.on("error", (cause) => this.#lose(worker, cause))
    worker.on("exit", (code) => this.#lose(worker, new Error(`the commit thread ended with code ${code}`)))
    return worker
  }

  #answer(reply: ThreadReply, worker: Worker): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (this.#waiting.size === 0) worker.unref()
    if (reply._tag === "Done") waiting?.succeed(reply.done)
    else waiting?.fail(errorOf(reply))
  }

  /** Nobody knows what of the orders under way was committed: their owners stop and reopen. */
  #lose(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { fail } of lost) fail(new StoreFault({ cause }))
  }
}

const errorOf = ({ error, message }: Extract<ThreadReply, { readonly _tag: "Failed" }>): StoreError => {
  const cause = new Error(message)
  switch (error) {
    case "StoreFull":
      return new StoreFull({ cause })
    case "StoreDamaged":
      return new StoreDamaged({ reason: message, cause })
    case "StoreFault":
      return new StoreFault({ cause })
  }
}
