/** Connections to PostgreSQL with and without TLS, as their URL asks for it. */
import { execFileSync } from "node:child_process"
import { chownSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect } from "vitest"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { PostgresServer } from "../../../scripts/cluster/PostgresServer.ts"
import { it } from "../../support/it.ts"

let plain: PostgresServer
let secured: PostgresServer
let certificate: string
beforeAll(async () => {
  plain = await PostgresServer.start()
  secured = await PostgresServer.start()
  certificate = await withTls(secured)
})
afterAll(async () => {
  await plain?.stop()
  await secured?.stop()
})

const on = <A, E>(server: PostgresServer, mode: string, use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const url = Redacted.make(`${Redacted.value(server.url())}?sslmode=${mode}`)
    return Effect.scoped(Effect.provide(SqlClient.use(use), logDatabase(url, 2)))
  })

/** Makes it offer TLS, with a certificate of its own. */
const withTls = async (server: PostgresServer): Promise<string> => {
  const [key, cert] = [join(server.data, "server.key"), join(server.data, "server.crt")]
  const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
  execFileSync("openssl", ["req", "-x509", ...kind, ...names, "-keyout", key, "-out", cert], { stdio: "pipe" })
  const { gid, uid } = statSync(server.data)
  for (const file of [key, cert]) chownSync(file, uid, gid)
  await Effect.runPromise(
    on(server, "disable", (sql) =>
      Effect.andThen(sql.unsafe("ALTER SYSTEM SET ssl = on"), sql`SELECT pg_reload_conf()`)
    )
  )
  return readFileSync(cert, "utf8")
}

const trusting = <A, E, R>(steps: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = getCACertificates("default")
      setDefaultCACertificates([...before, certificate])
      return before
    }),
    () => steps,
    (before) => Effect.sync(() => setDefaultCACertificates(before))
  )

const isEncrypted = (sql: SqlClient) =>
  Effect.map(sql<{ ssl: boolean }>`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`, ([row]) => row!.ssl)

describe("a connection to PostgreSQL", () => {
  it.live("is encrypted as its URL asks", function* () {
    expect(yield* on(secured, "disable", isEncrypted)).toBe(false)
    expect(yield* on(plain, "prefer", isEncrypted)).toBe(false)
    expect(yield* trusting(on(secured, "prefer", isEncrypted))).toBe(true)
    expect(yield* trusting(on(secured, "require", isEncrypted))).toBe(true)
  })

  it.live(
    "is refused without the TLS that its URL asks for, and with a certificate that nobody vouches for",
    function* () {
      for (const server of [plain, secured])
        expect((yield* Effect.flip(on(server, "require", isEncrypted)))._tag).toBe("SqlError")
    }
  )

  it.live("carries answers of several pages whole", function* () {
    const long = (sql: SqlClient) => sql<{ text: string }>`SELECT repeat('0123456789', 500000) AS text`
    for (const [row] of [yield* on(plain, "disable", long), yield* trusting(on(secured, "require", long))])
      expect(row!.text).toBe("0123456789".repeat(500_000))
  })

  it.live("ends the statement there that is given up here", () =>
    trusting(
      on(secured, "require", (sql) =>
        Effect.gen(function* () {
          const running = sql<{ count: bigint }>`
            SELECT count(*) AS count FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'`
          const until = (count: number) => Effect.repeat(running, { until: ([row]) => Number(row!.count) === count })
          const sleep = Effect.andThen(sql`SET LOCAL statement_timeout = 0`, sql`SELECT pg_sleep(600)`)
          yield* Effect.raceFirst(sql.withTransaction(sleep), until(1))
          yield* until(0)
        })
      )
    )
  )
})
