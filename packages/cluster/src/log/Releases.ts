/**
 * Tells the database which namespaces this node has closed, until it has heard it. Otherwise their next owner waits
 * for the end of this node's lease, which does not come while the node lives. So too for a namespace of which this node
 * does not know whether it owns it: a claim or an append without an answer.
 */
import { Clock, Effect, Queue, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { processTag } from "@muniment/engine/log/logFormat"
import type { LogFault } from "@muniment/engine/log/LogError"
import { Rounds } from "@muniment/worker/Rounds"
import { asked } from "./LogDatabase.ts"
import type { NodeSignals } from "./NodeSignals.ts"

/** After an attempt that failed, and between two looks at what is in doubt. */
const againMillis = 500
/** A statement that was given up has ended by then (`LogDatabase.ts`). */
const doubtMillis = 5_000

export class Releases {
  readonly #node: string
  readonly #sql: SqlClient
  readonly #tenures = new Map<NamespaceTag, bigint>()
  /** Until when each is looked at; undefined: not looked at yet. */
  readonly #doubts = new Map<NamespaceTag, number | undefined>()
  readonly #signals: NodeSignals
  readonly #wake: Queue.Queue<void>

  private constructor(node: string, sql: SqlClient, signals: NodeSignals, wake: Queue.Queue<void>) {
    this.#node = node
    this.#sql = sql
    this.#signals = signals
    this.#wake = wake
  }

  /** Tells what is left when the scope closes, too. */
  static readonly open = Effect.fnUntraced(function* (
    node: string,
    sql: SqlClient,
    signals: NodeSignals
  ): Effect.fn.Return<Releases, never, Scope.Scope> {
    const releases = new Releases(node, sql, signals, yield* Queue.sliding<void>(1))
    yield* Effect.addFinalizer(() => Effect.ignore(releases.#told))
    yield* Rounds.whenWoken({
      name: "releases of namespaces",
      until: Queue.take(releases.#wake),
      work: releases.#tellAll,
      again: releases.#untilAgain
    })
    return releases
  })

  tell(tag: NamespaceTag, tenure: bigint): void {
    this.#tenures.set(tag, tenure)
    Queue.offerUnsafe(this.#wake, undefined)
  }

  /** This node has not claimed it, as far as it knows, and the database may say that it has. */
  doubt(tag: NamespaceTag): void {
    this.#doubts.set(tag, undefined)
    Queue.offerUnsafe(this.#wake, undefined)
  }

  /** It is claimed again, which ends the old tenure. */
  forget(tag: NamespaceTag): void {
    this.#tenures.delete(tag)
    this.#doubts.delete(tag)
  }

  get #tellAll(): Effect.Effect<void, LogFault> {
    return Effect.gen({ self: this }, function* () {
      while (!(yield* this.#told)) yield* this.#untilAgain
    })
  }

  /** Waits until the next attempt, at most until something is released. */
  get #untilAgain(): Effect.Effect<unknown> {
    return Effect.timeoutOption(Queue.take(this.#wake), againMillis)
  }

  /** Whether the database has heard all. */
  get #told(): Effect.Effect<boolean, LogFault> {
    return Effect.gen({ self: this }, function* () {
      if (this.#doubts.size > 0) yield* this.#look
      if (this.#tenures.size > 0) yield* this.#tell
      return this.#doubts.size === 0 && this.#tenures.size === 0
    })
  }

  /** Looks which of the tenures in doubt the database says are this node's. */
  get #look(): Effect.Effect<void, LogFault> {
    return Effect.gen({ self: this }, function* () {
      const sql = this.#sql
      const nowMillis = yield* Clock.currentTimeMillis
      for (const [tag, until] of this.#doubts) this.#doubts.set(tag, until ?? nowMillis + doubtMillis)
      const tags = [...this.#doubts.keys()]
      const rows = yield* asked(
        sql<{ tag: NamespaceTag; tenure: bigint }>`SELECT tag, tenure FROM muniment_log.namespace_owner
          WHERE tag = ANY(${tags}::text[]) AND node = ${this.#node}`
      )
      // A claim that was begun meanwhile has ended its doubt.
      for (const { tag, tenure } of rows) if (this.#doubts.has(tag)) this.#tenures.set(tag, tenure)
      for (const [tag, until = Infinity] of this.#doubts) if (until <= nowMillis) this.#doubts.delete(tag)
    })
  }

  get #tell(): Effect.Effect<void, LogFault> {
    return Effect.suspend(() => {
      const sql = this.#sql
      const told = [...this.#tenures]
      const statement = sql`UPDATE muniment_log.namespace_owner o SET node = NULL
        FROM unnest(${told.map(([tag]) => tag)}::text[], ${told.map(([, tenure]) => tenure)}::int8[]) AS t(tag, tenure)
        WHERE o.tag = t.tag AND o.tenure = t.tenure AND o.node = ${this.#node}`
      return Effect.flatMap(asked(statement), () => {
        for (const [tag, tenure] of told) if (this.#tenures.get(tag) === tenure) this.#tenures.delete(tag)
        return told.some(([tag]) => tag === processTag) ? this.#signals.tell : Effect.void
      })
    })
  }
}
