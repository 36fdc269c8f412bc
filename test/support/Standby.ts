/**
 * A synchronous standby of a PostgreSQL that runs: a copy of its files by a base backup, which follows over a link that
 * can be held and cut.
 */
import { execFile } from "node:child_process"
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { make } from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { layer } from "effect/reactivity/Reactivity"
import type { SqlClient } from "effect/sql/SqlClient"
import type { PostgresServer } from "../../scripts/cluster/PostgresServer.ts"
import { CutProxy } from "./CutProxy.ts"
import { patienceMillis } from "./TestServer.ts"

const name = "standby"
const lookEachMillis = 50

export class Standby {
  readonly server: PostgresServer
  /** From it to its primary. */
  readonly link: CutProxy

  private constructor(server: PostgresServer, link: CutProxy) {
    this.server = server
    this.link = link
  }

  /** Resolves when commits of the primary wait for it. */
  static async start(primary: PostgresServer): Promise<Standby> {
    const directory = mkdtempSync(join(dirname(dirname(primary.data)), "standby-"))
    const { gid, uid } = statSync(primary.data)
    chownSync(directory, uid, gid)
    await inSessions(primary, 1, (sql) => backUp(sql, primary.data, join(directory, "data"), { uid, gid }))
    const link = await CutProxy.start(primary.port)
    const to = new URL(Redacted.value(primary.url("postgres", link.port)))
    const server = await primary.startCopy(directory, {
      primary_conninfo: `host=${to.hostname} port=${to.port} user=${to.username} password=${to.password} application_name=${name}`
    })
    const standby = new Standby(server, link)
    try {
      await inSessions(primary, 2, follow)
    } catch (cause) {
      await standby.stop()
      throw cause
    }
    return standby
  }

  async stop(): Promise<void> {
    this.link.stop()
    await this.server.stop()
  }

  /** It takes writes from now on, and waits for nobody. */
  async promote(): Promise<void> {
    this.link.stop()
    await inSessions(this.server, 1, (sql) => sql`SELECT pg_promote(true, ${patienceMillis / 1_000}::int)`)
  }
}

/** `pg_basebackup` is not among the binaries. */
const backUp = Effect.fnUntraced(function* (
  sql: SqlClient,
  from: string,
  to: string,
  owner: { readonly uid: number; readonly gid: number }
) {
  // The client reads the bytes of a place in the log, which it does not know, as text.
  yield* sql`SELECT pg_backup_start('standby', true)::text`
  yield* Effect.promise(() => copied(from, to))
  const [stopped] = yield* sql<{ labelfile: string }>`SELECT labelfile FROM pg_backup_stop(false)`
  for (const runtime of ["postmaster.pid", "postmaster.opts"]) rmSync(join(to, runtime), { force: true })
  rmSync(join(to, "pg_replslot"), { recursive: true })
  mkdirSync(join(to, "pg_replslot"), { mode: 0o700 })
  writeFileSync(join(to, "backup_label"), stopped!.labelfile, { mode: 0o600 })
  writeFileSync(join(to, "standby.signal"), "", { mode: 0o600 })
  for (const made of ["pg_replslot", "backup_label", "standby.signal"]) chownSync(join(to, made), owner.uid, owner.gid)
})

/** Files may go while they are copied. */
const copied = async (from: string, to: string): Promise<void> => {
  for (const until = Date.now() + patienceMillis; ;) {
    rmSync(to, { recursive: true, force: true })
    try {
      await promisify(execFile)("cp", ["-a", from, to])
      return
    } catch (cause) {
      if (Date.now() > until) throw cause
    }
  }
}

/** Until commits wait for it: the view of the standbys says "sync" before every process has read the setting. */
const follow = Effect.fnUntraced(function* (sql: SqlClient) {
  yield* sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (${name})'`)
  yield* sql`SELECT pg_reload_conf()`
  yield* untilThere(sql`SELECT 1 FROM pg_stat_replication WHERE application_name = ${name} AND sync_state = 'sync'`)
  const commit = sql`SELECT pg_logical_emit_message(true, ${name}, '')::text`
  const waiting = sql`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  yield* Effect.raceFirst(Effect.forever(commit), untilThere(waiting))
})

const untilThere = Effect.fnUntraced(function* <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>) {
  for (const until = Date.now() + patienceMillis; Date.now() < until; yield* Effect.sleep(lookEachMillis))
    if ((yield* rows).length > 0) return
  throw new Error("the standby does not follow")
})

const inSessions = <A, E>(
  server: PostgresServer,
  maxConnections: number,
  use: (sql: SqlClient) => Effect.Effect<A, E>
): Promise<A> =>
  make({ url: server.url(), maxConnections }).pipe(
    Effect.flatMap(use),
    Effect.scoped,
    Effect.provide(layer),
    Effect.runPromise
  )
