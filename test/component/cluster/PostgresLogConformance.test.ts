/** The commit log in PostgreSQL against the suite that every log of namespaces has to pass. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { LogFault } from "@muniment/engine/log/LogError"
import { inDatabase } from "../../support/ClusterDatabase.ts"
import { logTag } from "../../support/CommitLogs.ts"
import { logConformance } from "../../support/logConformance.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

const inServer = <A, E>(use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.suspend(() => inDatabase(server.url(), use)).pipe(Effect.mapError((cause) => new LogFault({ cause })))

let nodes = 0

logConformance("the log in PostgreSQL", () => ({
  open: Effect.gen(function* () {
    const log = yield* openPostgresLog({ url: server.url(), node: `node ${nodes++}` })
    return {
      log,
      enter: (number, state) => Effect.andThen(log.claim(logTag(number)), log.attach(logTag(number), state)),
      read: (number, after) => log.tail(logTag(number), after)
    }
  }),
  edit: (number, ordinal, change) =>
    inServer((sql) =>
      Effect.gen(function* () {
        const [row] = yield* sql<{ record: Uint8Array }>`
          SELECT record FROM muniment_log.namespace_log WHERE tag = ${logTag(number)} AND ordinal = ${ordinal}::int8`
        const record = Buffer.from(row!.record)
        change(record)
        yield* sql`UPDATE muniment_log.namespace_log SET record = ${record}::bytea
          WHERE tag = ${logTag(number)} AND ordinal = ${ordinal}::int8`
      })
    ),
  piecesWith: (text) =>
    inServer((sql) =>
      Effect.map(
        sql<{ n: bigint }>`SELECT count(*) AS n FROM muniment_log.namespace_log
          WHERE position(${Buffer.from(text)}::bytea IN record) > 0`,
        ([row]) => Number(row!.n)
      )
    )
}))
