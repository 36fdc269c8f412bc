/**
 * Tells all nodes at once that something has changed which they would otherwise find out at their next look: who is a
 * member of the cluster, and who owns `control.db`. By NOTIFY of PostgreSQL, which a connection of its own listens to.
 *
 * Invariant: nothing depends on a signal. Whoever waits for one looks again after a while.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { Effect, Latch, Queue, Schedule, type Scope } from "effect"
import { Rounds } from "@muniment/worker/Rounds"

const channel = "muniment_nodes"
const againMillis = 1_000
/** A connection that has gone silent is not noticed otherwise. */
const renewMillis = 300_000

export class NodeSignals {
  #changed = Latch.makeUnsafe(false)
  readonly #sql: PgClient

  private constructor(sql: PgClient) {
    this.#sql = sql
  }

  /** Listens until the scope closes, on a connection of `listening`; tells over `sql`. */
  static readonly open = Effect.fnUntraced(function* (
    sql: PgClient,
    listening: PgClient
  ): Effect.fn.Return<NodeSignals, never, Scope.Scope> {
    const signals = new NodeSignals(sql)
    const heard = Effect.scoped(
      Effect.flatMap(listening.listen(channel), (notifications) => {
        // Signals from before this connection listened.
        signals.#wake()
        const woken = Effect.tap(Queue.take(notifications), () => Effect.sync(() => signals.#wake()))
        return Effect.repeat(woken, Schedule.forever)
      })
    ).pipe(Effect.timeoutOption(renewMillis))
    yield* Rounds.add({
      name: "signals of nodes",
      schedule: Schedule.spaced(againMillis),
      work: heard,
      isFirstNow: true,
      isCut: true,
      again: Effect.sleep(againMillis)
    })
    return signals
  })

  /** The next signal from the moment of this call, which is before the look whose answer it may outdate. */
  next(): Effect.Effect<void> {
    return this.#changed.await
  }

  /** Without an answer the others find out by themselves. */
  get tell(): Effect.Effect<void> {
    return Effect.ignore(Effect.timeout(this.#sql.notify(channel, ""), againMillis))
  }

  #wake(): void {
    const changed = this.#changed
    this.#changed = Latch.makeUnsafe(false)
    changed.openUnsafe()
  }
}
