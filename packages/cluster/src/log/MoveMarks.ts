/**
 * Marks of moves in a cluster's database: the move of a machine that brought its data, and the directory into which its
 * data was moved since. A cluster that was moved away serves no more until an operator reopens it, so that the two do
 * not go on side by side.
 *
 * Invariant: the data was moved away only by who owned `control.db` meanwhile: the mark is made under that tenure.
 */
import { Data, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { LogFault } from "@muniment/engine/log/LogError"
import { asked, hasTable } from "./LogDatabase.ts"

const arrived = "arrived"
const left = "left"

const Destination = Schema.fromJsonString(Schema.Struct({ host: Schema.String, directory: Schema.String }))
/** Where the data is now. */
export type Destination = typeof Destination.Type

/** The data is in a directory of one machine. */
export class ClusterMoved extends Data.TaggedError("ClusterMoved")<{ readonly to: Destination }> {
  override get message(): string {
    const { directory, host } = this.to
    return `the data of this cluster was moved into ${directory} on ${host}: start the service there, or repeat a move that was interrupted; to go on with the cluster as it was then, without what the directory has since: muniment cluster reopen`
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

export const markArrived = (id: string): Effect.Effect<void, LogFault, SqlClient> =>
  SqlClient.use((sql) =>
    Effect.asVoid(asked(sql`INSERT INTO muniment_log.move (name, said) VALUES (${arrived}, ${id})`))
  )
