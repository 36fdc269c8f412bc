/**
 * The PostgreSQL of a run against clusters (`MUNIMENT_TEST_NODES`): one for the whole run, started with the first cluster,
 * with a database for each. It belongs to the main process; test files ask for databases over loopback.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { logDatabase, untilDatabaseAnswers } from "@muniment/cluster/log/LogDatabase"
import { PostgresServer } from "../../scripts/cluster/PostgresServer.ts"

/** Set by the main process for those of the test files. */
const deskVariable = "MUNIMENT_TEST_DATABASES"
/** Nine for each node of the clusters that run at the same time. */
const connectionsMax = 500

/** Runs for the main process and returns its end. */
export const openTestDatabases = async (): Promise<() => Promise<void>> => {
  let starting: Promise<PostgresServer> | undefined
  const postgres = () => (starting ??= PostgresServer.start({ connectionsMax }))
  const change = async (method: string, name: string): Promise<string> => {
    const server = await postgres()
    const statement = method === "DELETE" ? `DROP DATABASE ${name} WITH (FORCE)` : `CREATE DATABASE ${name}`
    const found = SqlClient.use((sql) =>
      Effect.gen(function* () {
        const known = yield* sql`SELECT 1 FROM pg_database WHERE datname = ${name}`
        if (known.length === (method === "DELETE" ? 1 : 0)) yield* sql.unsafe(statement)
      })
    )
    await Effect.runPromise(untilDatabaseAnswers(found.pipe(Effect.provide(logDatabase(server.url(), 1)))))
    return Redacted.value(server.url(name))
  }
  const desk = createServer((request, response) => {
    json(request)
      .then((name) => change(request.method ?? "", String(name)))
      .then(
        (url) => response.end(url),
        (cause: unknown) => response.writeHead(500).end(String(cause))
      )
  })
  desk.listen(0, "127.0.0.1")
  await once(desk, "listening")
  process.env[deskVariable] = `http://127.0.0.1:${(desk.address() as AddressInfo).port}`
  return async () => {
    delete process.env[deskVariable]
    desk.close()
    await (await starting)?.stop()
  }
}

/** Made if it is not there; its URL. */
export const testDatabase = async (name: string): Promise<Redacted.Redacted> => Redacted.make(await ask("POST", name))

export const dropTestDatabase = async (name: string): Promise<void> => void (await ask("DELETE", name))

const ask = async (method: string, name: string): Promise<string> => {
  const desk = process.env[deskVariable]
  if (desk === undefined) throw new Error("this run has no PostgreSQL of its own")
  const response = await fetch(desk, { method, body: JSON.stringify(name) })
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}
