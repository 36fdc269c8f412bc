/**
 * Status of a cluster from PostgreSQL alone: nodes and their leases, shards by the locks that are held, who owns
 * `control.db`, and what of the log no base has yet. Reads only; works while no node does.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { LogFault } from "@muniment/engine/log/LogError"
import { controlTag } from "../control/ReplicatedControl.ts"
import { asked, hasTable } from "../log/LogDatabase.ts"
import { destination, type Destination } from "../log/MoveMarks.ts"

interface Tail {
  readonly tag: string
  readonly records: number
  readonly bytes: number
}

export interface ClusterStatus {
  /** `leaseMillis`: until its lease ends; 0: it has ended. `agents`: that it owns in this lease. */
  readonly nodes: ReadonlyArray<{ readonly name: string; readonly leaseMillis: number; readonly agents: number }>
  /** `holders`: sessions that hold some, one of each node. */
  readonly shards: { readonly held: number; readonly of: number; readonly holders: number }
  /** `owner` null: none whose lease lasts. Records and bytes behind its base. */
  readonly control: { readonly owner: string | null; readonly records: number; readonly bytes: number }
  /**
   * Bases that no row points to and that wait for their day, and the last look for them: ISO times, `endedAt` null while it
   * goes on; null: there was none.
   */
  readonly strays: {
    readonly waiting: number
    readonly sweep: {
      readonly begunAt: string
      readonly endedAt: string | null
      readonly looked: number
      readonly removed: number
    } | null
  }
  /** Null: the data is here. */
  readonly movedTo: Destination | null
  /** Agents with records behind their bases; `longest`: the first by bytes. */
  readonly tails: {
    readonly agents: number
    readonly records: number
    readonly bytes: number
    readonly longest: ReadonlyArray<Tail>
  }
}

/** Agents that are named. */
const longestMax = 10

export const clusterStatus: Effect.Effect<ClusterStatus, LogFault, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const nodes = yield* asked(sql<{ name: string; leaseMillis: number; agents: number }>`
    SELECT l.node AS name,
      GREATEST(0, extract(epoch FROM l.expires_at - clock_timestamp()) * 1000)::int4 AS "leaseMillis",
      (SELECT count(*) FROM muniment_log.namespace_owner o
        WHERE o.node = l.node AND o.incarnation = l.incarnation AND o.tag <> ${controlTag})::int4 AS agents
    FROM muniment_log.node_lease l ORDER BY l.node`)
  const [shards] = yield* asked(sql<{ held: number; holders: number }>`
    SELECT count(*)::int4 AS held, count(DISTINCT k.pid)::int4 AS holders
    FROM pg_locks k JOIN pg_stat_activity a USING (pid)
    WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 2
      AND a.datname = current_database() AND a.application_name = ${shardSessions}`)
  const [owner] = yield* asked(sql<{ node: string }>`
    SELECT o.node FROM muniment_log.namespace_owner o
      JOIN muniment_log.node_lease l ON l.node = o.node AND l.incarnation = o.incarnation
    WHERE o.tag = ${controlTag} AND l.expires_at > clock_timestamp()`)
  const [control] = yield* asked(sql<{ records: number; bytes: number }>`
    SELECT count(*)::int4 AS records, COALESCE(sum(octet_length(record)), 0)::float8 AS bytes
    FROM muniment_log.namespace_log WHERE tag = ${controlTag}`)
  const [sums] = yield* asked(sql<{ agents: number; records: number; bytes: number }>`
    SELECT count(DISTINCT tag)::int4 AS agents, count(*)::float8 AS records,
      COALESCE(sum(octet_length(record)), 0)::float8 AS bytes
    FROM muniment_log.namespace_log WHERE tag <> ${controlTag}`)
  const longest = yield* asked(sql<Tail>`
    SELECT tag, count(*)::int4 AS records, COALESCE(sum(octet_length(record)), 0)::float8 AS bytes
    FROM muniment_log.namespace_log WHERE tag <> ${controlTag}
    GROUP BY tag ORDER BY bytes DESC, tag LIMIT ${longestMax}`)
  return {
    nodes,
    shards: { held: shards?.held ?? 0, of: shardCount, holders: shards?.holders ?? 0 },
    strays: yield* strays,
    movedTo: (yield* destination) ?? null,
    control: { owner: owner?.node ?? null, records: control?.records ?? 0, bytes: control?.bytes ?? 0 },
    tails: { agents: sums?.agents ?? 0, records: sums?.records ?? 0, bytes: sums?.bytes ?? 0, longest }
  }
})

const strays: Effect.Effect<ClusterStatus["strays"], LogFault, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  if (!(yield* hasTable("sweep"))) return { waiting: 0, sweep: null }
  const [counted] = yield* asked(sql<{ waiting: number }>`SELECT count(*)::int4 AS waiting
    FROM muniment_log.stray s JOIN muniment_log.namespace_owner o ON o.tag = s.tag
    WHERE NOT s.is_condemned AND o.base_object IS DISTINCT FROM s.object`)
  const [last] = yield* asked(sql<NonNullable<ClusterStatus["strays"]["sweep"]>>`
    SELECT to_char(begun_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "begunAt",
      to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "endedAt",
      looked::float8 AS looked, removed::float8 AS removed FROM muniment_log.sweep`)
  return { waiting: counted?.waiting ?? 0, sweep: last ?? null }
})

/**
 * Of the whole cluster, for ever: which node serves what is agreed by shard. A shard costs PostgreSQL an advisory lock.
 */
export const shardCount = 1_024

/** Name of the locks' sessions in PostgreSQL. */
export const shardSessions = "muniment-cluster"
