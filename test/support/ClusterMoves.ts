/** Moves between a data directory and databases of one PostgreSQL of the test file, by the command line. */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { PostgresServer } from "../../scripts/cluster/PostgresServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { openToPostgres } from "./clusterEnvironment.ts"

export class ClusterMoves {
  readonly root: string
  readonly #postgres: PostgresServer
  readonly #secret = randomBytes(32).toString("hex")

  private constructor(root: string, postgres: PostgresServer) {
    this.root = root
    this.#postgres = postgres
  }

  static async start(): Promise<ClusterMoves> {
    const root = temporaryDirectory()
    openToPostgres(root)
    return new ClusterMoves(root, await PostgresServer.start({ kept: join(root, "postgres") }))
  }

  stop(): Promise<void> {
    return this.#postgres.stop()
  }

  in<A, E>(database: string, use: (sql: SqlClient) => Effect.Effect<A, E>): Promise<A> {
    const client = logDatabase(this.#postgres.url(database), 1)
    return Effect.runPromise(SqlClient.use(use).pipe(Effect.provide(client)))
  }

  async make(database: string): Promise<void> {
    await this.in("postgres", (sql) => sql.unsafe(`CREATE DATABASE ${database}`))
  }

  /** Of the command; its bases lie in a folder of that name. */
  environment(database: string, dataDirectory: string): Record<string, string> {
    return {
      MUNIMENT_DATABASE_URL: Redacted.value(this.#postgres.url(database)),
      MUNIMENT_BASES: join(this.root, `bases-${database}`),
      MUNIMENT_CLUSTER_SECRET: this.#secret,
      MUNIMENT_DATA_DIR: dataDirectory
    }
  }
}
