/**
 * The daily job over HTTP (contract: Plans and the daily job): of two free accounts with the same memories, the insured
 * one pays 3,330 millionths a memory and keeps them, the other loses those older than a week by two runs. Days are made
 * due by moving the rows of the job a day back, while nobody serves.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { idsOf } from "../support/MemoryCalls.ts"
import { type Answer, type CallOptions, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "1000" }
const dayMillis = 86_400_000
const microCreditsPerMemoryDay = 3_330

interface Tenant {
  readonly name: string
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
}

const directory = temporaryDirectory()
let server: TestServer
let insured: Tenant
let uninsured: Tenant
const keys = new Map<string, string>()

const tenant = async (name: string): Promise<Tenant> => {
  keys.set(name, await server.newAccount(name))
  return { name, call: (method, path, options) => server.call(method, path, { key: keys.get(name)!, ...options }) }
}

/** Ids have the form of the service's, one for each letter. */
const idOf = (letter: string) => `mem_01KAJ8Q0V7E5XK9D2M4N6P8R0${letter}`

const importMemories = async ({ name }: Tenant, letters: string) => {
  const ages: Readonly<Record<string, number>> = { old: 8, older: 400, young: 6 }
  const records = Object.entries(ages).map(([word, ageDays], at) => ({
    id: idOf(letters[at]!),
    agentId: "assistant",
    kind: "factual_memory",
    data: { subject: "Alice", fact: `Alice has a ${word} tortoise` },
    tags: [],
    mentions: [],
    confidence: 1,
    createdAt: Date.now() - ageDays * dayMillis,
    updatedAt: Date.now() - ageDays * dayMillis,
    origin: "direct"
  }))
  expect((await server.asOperator("POST", "/admin/import", { account: name, records })).body).toMatchObject({
    imported: 3
  })
}

const dayBefore = (day: string) => new Date(Date.parse(day) - dayMillis).toISOString().slice(0, 10)

const inControl = (work: (control: DatabaseSync) => void) => {
  const control = new DatabaseSync(join(directory, "control.db"))
  work(control)
  control.close()
}

/** The day that was settled last is due again at the next start, for accounts that it has no row of. */
const giveDayBack = (control: DatabaseSync) => {
  const row = control.prepare("SELECT last_day FROM job_state").get() as { last_day: string }
  control.prepare("UPDATE job_state SET last_day = ?").run(dayBefore(row.last_day))
  // Accounts that did not exist at the day's moment are not its business.
  control.prepare("UPDATE account SET created_at = created_at - ?").run(30 * dayMillis)
}

/** The same for the uninsured account, whose mark is a day older. */
const giveMarkedDayBack = (control: DatabaseSync) => {
  giveDayBack(control)
  control.prepare("DELETE FROM job_run WHERE insured = 0").run()
  control.prepare("UPDATE purge_mark SET run_at = run_at - ?").run(dayMillis)
}

const search = async ({ call }: Tenant) => (await call("GET", "/v1/memories/search?query=tortoise")).body.memories
const attested = async ({ call }: Tenant) =>
  (await call("POST", "/v1/attestations", { body: { claim: "memory_count_gte", threshold: 3 } })).body.attestation
    .result

const balanceMicro = async ({ call }: Tenant) =>
  Math.round((await call("GET", "/v1/credits")).body.balance.credits * 1_000_000)

beforeAll(async () => {
  server = await startServer({ dataDirectory: directory, environment })
  insured = await tenant("insured")
  uninsured = await tenant("uninsured")
  await importMemories(insured, "ABC")
  await importMemories(uninsured, "DEF")
  const gift = { account: "insured", credits: 1, reason: "test", key: "gift" }
  expect((await server.asOperator("POST", "/admin/ledger/adjustments", gift)).status).toBe(200)
})
afterAll(async () => {
  await server.stop()
})

describe("before the daily job", () => {
  it("both have their memories, and the insured one knows until when", async () => {
    expect(await search(insured)).toHaveLength(3)
    expect(await search(uninsured)).toHaveLength(3)
    expect((await uninsured.call("GET", "/v1/credits")).body.insuredUntil).toBeUndefined()
    const { insuredUntil } = (await insured.call("GET", "/v1/credits")).body
    const days = Math.ceil(1_000_000 / (3 * microCreditsPerMemoryDay))
    expect(insuredUntil % dayMillis).toBe(600_000)
    expect(insuredUntil).toBeGreaterThan(Date.now() + days * dayMillis)
    expect(insuredUntil).toBeLessThanOrEqual(Date.now() + (days + 1) * dayMillis)
  })

  it("a dry run tells what the next one would do, and does nothing", async () => {
    const { body } = await server.asOperator("POST", "/admin/jobs/run", { dryRun: true })
    const told = (name: string) =>
      body.days[0].accounts.find(({ account }: { readonly account: string }) => account === name)
    expect(body.dryRun).toBe(true)
    expect(told("insured")).toMatchObject({
      live: 3,
      insured: 3,
      purged: 0,
      chargedMicro: 3 * microCreditsPerMemoryDay
    })
    expect(told("uninsured")).toMatchObject({ live: 3, insured: 0, marked: 2, purged: 0, chargedMicro: 0 })
    expect(await search(uninsured)).toHaveLength(3)
    expect(await balanceMicro(insured)).toBe(1_000_000)
  })
})

const restart = async (between: (control: DatabaseSync) => void) => {
  await server.stop()
  inControl(between)
  server = await startServer({ dataDirectory: directory, environment })
}

describe("the daily job, caught up at the start", () => {
  beforeAll(() => restart(giveDayBack))

  it("charged the insured account exactly, and left its memories", async () => {
    expect(await balanceMicro(insured)).toBe(1_000_000 - 3 * microCreditsPerMemoryDay)
    expect(idsOf(await search(insured)).toSorted()).toEqual(["A", "B", "C"].map(idOf))
    expect(await attested(insured)).toMatchObject({ satisfied: true, matchCount: 3 })
  })

  it("warned the other, and removed nothing yet", async () => {
    expect(await search(uninsured)).toHaveLength(3)
    const { purgeNotice } = (await uninsured.call("GET", "/v1/credits")).body
    expect(purgeNotice).toMatchObject({ memories: 2 })
    expect(purgeNotice.from % dayMillis).toBe(600_000)
    expect(purgeNotice.from).toBeGreaterThan(Date.now() + dayMillis / 2)
    expect((await insured.call("GET", "/v1/credits")).body.purgeNotice).toBeUndefined()
  })
})

describe("the daily job a day later", () => {
  beforeAll(() => restart(giveMarkedDayBack))

  it("removed what was older than a week from the other: search, get, counts and attestations agree", async () => {
    expect(idsOf(await search(uninsured))).toEqual([idOf("F")])
    expect(await attested(uninsured)).toMatchObject({ satisfied: false, matchCount: 1 })
    for (const [letter, status] of [
      ["D", 404],
      ["E", 404],
      ["F", 200]
    ] as const) {
      expect((await uninsured.call("GET", `/v1/memories/${idOf(letter)}`)).status).toBe(status)
    }
    expect((await uninsured.call("GET", "/v1/account")).body.agents).toEqual([{ agentId: "assistant", memories: 1 }])
    expect(await balanceMicro(uninsured)).toBe(0)
  })

  it("is in the list of runs and in the account's transactions, once, however often it is run again", async () => {
    expect((await server.asOperator("POST", "/admin/jobs/run", {})).body).toMatchObject({ dryRun: false, days: [] })
    const { body: listed } = await server.asOperator("GET", "/admin/jobs")
    expect(listed.runs).toMatchObject([{ purged: 2, insured: 3, chargedMicro: 3 * microCreditsPerMemoryDay }])
    const { body } = await insured.call("GET", "/v1/credits/transactions")
    const storage = body.transactions.filter(({ kind }: { readonly kind: string }) => kind === "storage")
    expect(storage).toMatchObject([{ purse: "balance", credits: -0.00999 }])
    expect((await server.asOperator("GET", "/admin/ledger/check")).body).toMatchObject({ ok: true, problems: [] })
  })
})

describe("a clock that has stepped by more than a day while nobody served", () => {
  beforeAll(() =>
    restart((control) => {
      giveMarkedDayBack(control)
      control.prepare("UPDATE job_clock SET seen_at = seen_at - ?").run(40 * dayMillis)
    })
  )

  const metric = async () =>
    /^muniment_jobs_clock_stepped (\d)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]

  it("is told by health, status and metrics; nothing is charged, and a run is refused", async () => {
    const before = await balanceMicro(insured)
    const { body: health } = await server.call("GET", "/health/ready")
    expect(health).toMatchObject({ status: "degraded", checks: { clock: expect.stringContaining("stepped") } })
    const { body: status } = await server.asOperator("GET", "/admin/status")
    expect(status.clockStep.now - status.clockStep.seenAt).toBeGreaterThan(39 * dayMillis)
    expect(status.warnings).toContainEqual(expect.stringContaining("jobs run --accept-clock"))
    expect(await metric()).toBe("1")
    expect(refusalOf(await server.asOperator("POST", "/admin/jobs/run", {}))).toEqual([409, "clock_step"])
    expect((await server.asOperator("GET", "/admin/jobs")).body.clockStep).toEqual(
      expect.objectContaining({ seenAt: expect.any(Number) })
    )
    expect(await balanceMicro(insured)).toBe(before)
  })

  it("is believed once the operator says so", async () => {
    const before = await balanceMicro(insured)
    const { body } = await server.asOperator("POST", "/admin/jobs/run", { acceptClock: true })
    expect(body.days).toHaveLength(1)
    expect(await metric()).toBe("0")
    expect((await server.asOperator("GET", "/admin/status")).body.clockStep).toBeNull()
    expect((await server.asOperator("POST", "/admin/jobs/run", {})).body).toMatchObject({ dryRun: false, days: [] })
    expect(await balanceMicro(insured)).toBe(before)
  })
})
