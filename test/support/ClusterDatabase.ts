/** Statements of tests in the database of a cluster, each over a connection of its own. */
import { Effect, type Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"

export const inDatabase = <A, E>(url: Redacted.Redacted, use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.provide(SqlClient.use(use), logDatabase(url, 1)))

/** Ends the lease of every node in the database, as if all had been frozen. */
export const endLeases = (sql: SqlClient) =>
  sql`UPDATE muniment_log.node_lease SET expires_at = clock_timestamp() - interval '1 s', incarnation = incarnation + 1`
