/**
 * Tells all nodes at once that something has changed which they would otherwise find out at their next look: who is a
 * member of the cluster, and who owns `control.db`. By NOTIFY of PostgreSQL, which a connection of its own listens to.
 *
 * Invariant: nothing depends on a signal. Whoever waits for one looks again after a while.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { Clock, Effect, Latch, Queue, Schedule, type Scope } from "effect"
import type { LogFault } from "@muniment/engine/log/LogError"
import { Rounds } from "@muniment/worker/Rounds"
import { asked } from "./LogDatabase.ts"

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

const leaseMillis = 5_000
const marginMillis = 300
const renewEachMillis = 1_000
const nanosPerMilli = 1_000_000n

/**
 * Lease of this node, during which it may answer reads of what it claimed. It is renewed every second for five; a lease
 * that ended begins a new incarnation of the node, for which everything is claimed anew.
 *
 * Invariant: the lease ends here before it ends in the database, by a clock that also runs while the process is
 * stopped. Needed are clocks that run equally fast, not clocks that agree.
 */
export class NodeLease {
  readonly node: string
  readonly #sql: SqlClient
  readonly #clock: Clock.Clock
  #incarnation = 0
  #validUntilMillis = -Infinity

  private constructor(node: string, sql: SqlClient, clock: Clock.Clock) {
    this.node = node
    this.#sql = sql
    this.#clock = clock
  }

  /** Takes the lease and renews it until the scope closes; then ends it, so that other nodes need not wait until it expires. */
  static readonly open = Effect.fnUntraced(function* (
    node: string,
    sql: SqlClient
  ): Effect.fn.Return<NodeLease, LogFault, Scope.Scope> {
    const lease = new NodeLease(node, sql, yield* Clock.Clock)
    yield* lease.#renew
    yield* Effect.addFinalizer(() => lease.#end)
    yield* Rounds.add({
      name: "lease of this node",
      schedule: Schedule.spaced(renewEachMillis),
      work: lease.#renew,
      isCut: true,
      again: Effect.sleep(renewEachMillis)
    })
    return lease
  })

  get incarnation(): number {
    return this.#incarnation
  }

  /** Whether what was claimed in that incarnation still belongs to this node. */
  isCurrent(incarnation: number): boolean {
    return incarnation === this.#incarnation && this.#nowMillis < this.#validUntilMillis
  }

  get #renew(): Effect.Effect<void, LogFault> {
    return Effect.gen({ self: this }, function* () {
      const sql = this.#sql
      const askedAtMillis = this.#nowMillis
      const [row] = yield* asked(
        sql<{ incarnation: bigint }>`
          INSERT INTO muniment_log.node_lease AS l (node, incarnation, expires_at)
          VALUES (${this.node}, 1, clock_timestamp() + ${leaseMillis}::int * interval '1 millisecond')
          ON CONFLICT (node) DO UPDATE SET
            incarnation = CASE WHEN l.expires_at > clock_timestamp() AND l.incarnation = ${this.#incarnation}::int8
              THEN l.incarnation ELSE l.incarnation + 1 END,
            expires_at = excluded.expires_at
          RETURNING incarnation`
      )
      this.#incarnation = Number(row?.incarnation)
      this.#validUntilMillis = askedAtMillis + leaseMillis - marginMillis
    })
  }

  get #end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const sql = this.#sql
      const incarnation = this.#incarnation
      this.#validUntilMillis = -Infinity
      const ended = sql`UPDATE muniment_log.node_lease SET expires_at = clock_timestamp()
        WHERE node = ${this.node} AND incarnation = ${incarnation}::int8`
      return Effect.ignore(asked(ended))
    })
  }

  /** Monotonic. */
  get #nowMillis(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe() / nanosPerMilli)
  }
}
