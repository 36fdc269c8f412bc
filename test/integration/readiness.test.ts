/** `/health/ready` with 100,000 accounts (contract: Health and documents): its work does not grow with them. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { Database } from "@muniment/sqlite/Database"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

const accounts = 100_000
const probes = 50
/** Processor time of one probe: listing the accounts takes hundreds of milliseconds. */
const millisMax = 20

const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-readiness-"))
let server: TestServer

beforeAll(async () => {
  const first = await startServer({ dataDirectory, environment: withoutModel })
  await first.stop()
  const control = new Database({ filename: join(dataDirectory, "control.db") })
  control.exec(
    `WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${accounts})
     INSERT INTO account (id, name, plan, created_at) SELECT 'acc_' || n, 'account ' || n, 'free', n FROM number`
  )
  control.close()
  server = await startServer({ dataDirectory, environment: withoutModel })
})
afterAll(async () => {
  await server.stop()
  rmSync(dataDirectory, { recursive: true, force: true })
})

const ready = () => server.call("GET", "/health/ready", { key: null })

it("takes no longer for 100,000 accounts", async () => {
  await ready()
  const before = mainThreadMillis(server.process.pid!)
  for (let probe = 0; probe < probes; probe++) expect((await ready()).status).toBe(200)
  expect((mainThreadMillis(server.process.pid!) - before) / probes).toBeLessThan(millisMax)
})

/** User and system time of the main thread; the system counts in ticks of 10 ms. */
const mainThreadMillis = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}
