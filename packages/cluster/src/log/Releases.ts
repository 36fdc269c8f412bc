/**
 * Tells the database which namespaces this node has closed, until it has heard it. Otherwise their next owner waits
 * for the end of this node's lease, which does not come while the node lives.
 */
import { Effect, Queue, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { processTag } from "@muniment/engine/log/logFormat"
import { asked } from "./LogDatabase.ts"
import type { NodeSignals } from "./NodeSignals.ts"

/** After an attempt that failed. */
const againMillis = 500

export class Releases {
  readonly #node: string
  readonly #sql: SqlClient
  readonly #tenures = new Map<NamespaceTag, bigint>()
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
    yield* Effect.addFinalizer(() => releases.#told)
    yield* Effect.forkScoped(Effect.forever(releases.#tellNext))
    return releases
  })

  tell(tag: NamespaceTag, tenure: bigint): void {
    this.#tenures.set(tag, tenure)
    Queue.offerUnsafe(this.#wake, undefined)
  }

  /** It is claimed again, which ends the old tenure. */
  forget(tag: NamespaceTag): void {
    this.#tenures.delete(tag)
  }

  get #tellNext(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* Queue.take(this.#wake)
      while (!(yield* this.#told)) yield* Effect.sleep(againMillis)
    })
  }

  /** Whether the database has heard all. */
  get #told(): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const sql = this.#sql
      const told = [...this.#tenures]
      if (told.length === 0) return Effect.succeed(true)
      const statement = sql`UPDATE muniment_log.namespace_owner o SET node = NULL
        FROM unnest(${told.map(([tag]) => tag)}::text[], ${told.map(([, tenure]) => tenure)}::int8[]) AS t(tag, tenure)
        WHERE o.tag = t.tag AND o.tenure = t.tenure AND o.node = ${this.#node}`
      return Effect.matchEffect(asked(statement), {
        onSuccess: () => {
          for (const [tag, tenure] of told) if (this.#tenures.get(tag) === tenure) this.#tenures.delete(tag)
          const isAwaited = told.some(([tag]) => tag === processTag)
          return Effect.as(isAwaited ? this.#signals.tell : Effect.void, true)
        },
        onFailure: () => Effect.succeed(false)
      })
    })
  }
}
