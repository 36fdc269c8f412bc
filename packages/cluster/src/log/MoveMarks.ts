/**
 * Marks of moves in a cluster's database: the move of a machine that brought its data, and the directory into which its
 * data was moved since. A cluster that was moved away serves no more until an operator reopens it, so that the two do
 * not go on side by side.
 *
 * Invariant: the data was moved away only by who owned `control.db` meanwhile: the mark is made under that tenure.
 */
import { Data, Effect, type Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { MigrationError } from "effect/sql/Migrator"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { LogFault } from "@muniment/engine/log/LogError"
import { asked, hasTable } from "./LogDatabase.ts"
import { migrateLog } from "./logSchema.ts"
import { SharedSecrets } from "./SharedSecrets.ts"

const arrived = "arrived"
const left = "left"

const Destination = Schema.fromJsonString(Schema.Struct({ host: Schema.String, directory: Schema.String }))
/** Where the data is now. */
export type Destination = typeof Destination.Type

/** The data is in a directory of one machine. */
export class ClusterMoved extends Data.TaggedError("ClusterMoved")<{ readonly to: Destination }> {
  override get message(): string {
    const { directory, host } = this.to
    return `the data of this cluster was moved into ${directory} on ${host}: start the service there, or repeat a move that was interrupted; to go on with the cluster as it was then, without what the directory has since: npm run muniment -- cluster reopen`
  }
}

const said = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient
  if (!(yield* hasTable("move"))) return undefined
  const [row] = yield* asked(sql<{ said: string }>`SELECT said FROM muniment_log.move WHERE name = ${name}`)
  return row?.said
})

/** Undefined: its data was not moved away. */
export const destination: Effect.Effect<Destination | undefined, LogFault, SqlClient> = Effect.flatMap(
  said(left),
  (text) =>
    text === undefined
      ? Effect.undefined
      : Effect.mapError(Schema.decodeEffect(Destination)(text), (cause) => new LogFault({ cause }))
)

export const demandHere: Effect.Effect<void, LogFault | ClusterMoved, SqlClient> = Effect.flatMap(destination, (to) =>
  to === undefined ? Effect.void : Effect.fail(new ClusterMoved({ to }))
)

/** By the owner of `tag`; -> whether it is still that. */
export const markLeft = (tag: NamespaceTag, tenure: bigint, to: Destination) =>
  SqlClient.use((sql) =>
    Effect.map(
      sql`INSERT INTO muniment_log.move (name, said)
        SELECT ${left}, ${JSON.stringify(to)} FROM muniment_log.namespace_owner WHERE tag = ${tag} AND tenure = ${tenure}
          FOR UPDATE
        ON CONFLICT (name) DO UPDATE SET said = excluded.said RETURNING name`,
      ([row]) => row
    )
  )

/** -> whether it had been moved away. */
export const reopen: Effect.Effect<boolean, LogFault, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  if ((yield* said(left)) === undefined) return false
  yield* asked(sql`DELETE FROM muniment_log.move WHERE name = ${left}`)
  return true
})

/** Whether that move brought the data. */
export const hasArrived = (id: string): Effect.Effect<boolean, LogFault, SqlClient> =>
  Effect.map(said(arrived), (by) => by === id)

const markArrived = (id: string): Effect.Effect<void, LogFault, SqlClient> =>
  SqlClient.use((sql) =>
    Effect.asVoid(asked(sql`INSERT INTO muniment_log.move (name, said) VALUES (${arrived}, ${id})`))
  )

/** As its file says. Its base holds everything up to `ordinal`. */
export interface MovedNamespace {
  readonly tag: NamespaceTag
  readonly epoch: number
  readonly seq: number
  readonly ordinal: number
  /** Name of its base. */
  readonly object: string
}

/**
 * The data of one machine becomes that of an unused cluster: rows of the namespaces, whose bases are there
 * already, and the secrets, in one transaction.
 *
 * Invariant: a cluster has all of it or nothing; one that has anything, or a node that runs, is refused and not changed.
 */
interface MovedData {
  /** Id of the move. */
  readonly id: string
  /** With `control.db`, under its tag. */
  readonly namespaces: ReadonlyArray<MovedNamespace>
  readonly secrets: ReadonlyArray<{ readonly name: string; readonly text: string }>
}

/** The cluster is not as a move needs it. */
class ClusterInUse extends Data.TaggedError("ClusterInUse")<{ readonly message: string }> {}

/** Rows of one statement. */
const rowsMax = 1_000

/** Longer than a lease lasts after its node has ended: a lease that is still there is that of a running node. */
const leaseEndsTries = 12
const leaseEndsEachMillis = 500

/** Looks, and changes nothing; a database without the tables is empty too. */
export const demandUnused: Effect.Effect<void, ClusterInUse | LogFault, SqlClient> = Effect.gen(function* () {
  if (!(yield* hasTables)) return
  yield* demandEmpty
  yield* noNodeSoon
})

/** The tables that a move out of the cluster reads, and no node that changes them. */
export const demandData: Effect.Effect<void, ClusterInUse | LogFault, SqlClient> = Effect.gen(function* () {
  if (!(yield* hasTables)) return yield* new ClusterInUse({ message: "the database has no data of a cluster" })
  yield* noNodeSoon
})

const demandNoNode: Effect.Effect<void, ClusterInUse | LogFault, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const nodes = yield* asked(
    sql<{ node: string }>`SELECT node FROM muniment_log.node_lease WHERE expires_at > clock_timestamp() ORDER BY node`
  )
  if (nodes.length > 0)
    return yield* new ClusterInUse({
      message: `nodes of the cluster run (${nodes.map(({ node }) => node).join(", ")}); stop all of them`
    })
})

const noNodeSoon = Effect.retry(demandNoNode, {
  while: (error) => error._tag === "ClusterInUse",
  schedule: Schedule.spaced(leaseEndsEachMillis),
  times: leaseEndsTries
})

/** All or nothing. */
export const takeOver = (
  { id, namespaces, secrets }: MovedData,
  secret: Redacted.Redacted
): Effect.Effect<void, ClusterInUse | LogFault | MigrationError | SqlError, SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* migrateLog
    yield* Effect.gen(function* () {
      // Nodes that start now wait, and find the data.
      yield* asked(
        sql`LOCK TABLE muniment_log.node_lease, muniment_log.namespace_owner, muniment_log.secret IN EXCLUSIVE MODE`
      )
      yield* demandNoNode
      yield* demandEmpty
      for (let at = 0; at < namespaces.length; at += rowsMax) yield* insert(namespaces.slice(at, at + rowsMax))
      const sealed = new SharedSecrets(sql, secret)
      for (const { name, text } of secrets) yield* sealed.set(name, text)
      yield* asked(sql`DELETE FROM muniment_log.move`)
      yield* markArrived(id)
    }).pipe(sql.withTransaction)
  })

const hasTables = hasTable("secret")

const demandEmpty = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* asked(
    sql<{ used: boolean }>`SELECT EXISTS (SELECT FROM muniment_log.namespace_owner)
      OR EXISTS (SELECT FROM muniment_log.secret) AS used`
  )
  if (row?.used !== false)
    return yield* new ClusterInUse({
      message: "the database has the data of a cluster already; a machine is moved into an empty database only"
    })
})

const insert = Effect.fnUntraced(function* (rows: ReadonlyArray<MovedNamespace>) {
  const sql = yield* SqlClient
  const column = <A>(of: (row: MovedNamespace) => A): ReadonlyArray<A> => rows.map(of)
  yield* asked(sql`INSERT INTO muniment_log.namespace_owner (tag, epoch, seq, ordinal, base_object, base_ordinal)
    SELECT tag, epoch, seq, ordinal, base_object, ordinal FROM unnest(
      ${column(({ tag }) => tag)}::text[], ${column(({ epoch }) => epoch)}::int8[],
      ${column(({ seq }) => seq)}::int8[], ${column(({ ordinal }) => ordinal)}::int8[],
      ${column(({ object }) => object)}::text[]) AS t(tag, epoch, seq, ordinal, base_object)`)
})
