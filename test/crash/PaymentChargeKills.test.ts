/**
 * Kill -9 between a call's charge and its commit (contract: Credits): several writers, kills at random moments, and
 * after each restart as many charges as memories. Hours pass between a kill and the next start, more than a day in all,
 * so that every run meets the daily job, which takes its own charge: what is counted are the charges of calls.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { clockMaker } from "../support/MovedClock.ts"
import { repetitions } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { type Answer, startServer, type TestServer } from "../support/TestServer.ts"

/** The first kills fall while the allowance is drawn, the later ones on the balance. */
const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "2000" }
const given = 1_000_000
const pricePerCreate = 5
const kills = repetitions(20)
const writers = 8
/** How long the writers run before the kill, milliseconds. */
const runMillis = { least: 5, most: 400 }
/** Below the day from which on jobs do not believe the clock. */
const pauseMillis = 21_600_000
const account = "metered"
const openChargesLine = /charges left open by a crash were decided/

interface Create {
  readonly marker: string
  /** Undefined: whether it happened stays unknown to its writer. */
  readonly key: string | undefined
}

describe(`kill -9 between the charge and the commit of priced writes, ${kills} times`, () => {
  it("leaves one charge for each stored memory, and none without", async () => {
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-charges-"))
    const clock = clockMaker(dataDirectory)("service")
    const start = () => startServer({ dataDirectory, environment: { ...environment, ...clock.environment } })
    let server = await start()
    let startsWithOpenCharges = 0
    let stored = 0
    let spent: Spent = { calls: 0, storage: 0 }
    try {
      const secret = await server.newAccount(account)
      await adjust(server)
      const load = new Load(secret, random)
      for (let kill = 0; kill < kills; kill++) {
        await load.runAndKill(server)
        clock.move((kill + 1) * pauseMillis)
        server = await start()
        if (openChargesLine.test(server.output())) startsWithOpenCharges++
        await load.repeatCutOff(server)
        stored = await memoriesOf(server, secret)
        spent = await spentOf(server, secret)
        expect({ seed, kill, calls: spent.calls }).toEqual({ seed, kill, calls: stored * pricePerCreate })
        expect(await proof(server)).toMatchObject({ ok: true, problems: [] })
        // What was acknowledged is there; of what was cut off without a key, some may be.
        expect(stored).toBeGreaterThanOrEqual(load.acknowledged)
        expect(stored).toBeLessThanOrEqual(load.acknowledged + load.lostSight)
      }
      console.log(
        `charges: seed ${seed}, ${kills} kills, ${stored} memories stored, ${load.lostSight} requests cut off ` +
          `without a key, ${startsWithOpenCharges} starts found open charges`
      )
      expect(load.acknowledged).toBeGreaterThan(0)
      expect(spent.storage).toBeGreaterThan(0)
    } finally {
      await server.kill()
      rmSync(dataDirectory, { recursive: true, force: true })
    }
  })
})

/** Writers, and what they were told. */
class Load {
  acknowledged = 0
  lostSight = 0
  readonly #secret: string
  readonly #random: SeededRandom
  #count = 0
  #cutOff: Array<Create> = []

  constructor(secret: string, random: SeededRandom) {
    this.#secret = secret
    this.#random = random
  }

  async runAndKill(server: TestServer): Promise<void> {
    const running = Array.from({ length: writers }, () => this.#write(server))
    await new Promise((wake) => setTimeout(wake, this.#random.between(runMillis.least, runMillis.most)))
    await server.kill()
    await Promise.all(running)
  }

  /** With its key a call is charged and stored once, whether the kill came before the commit or after. */
  async repeatCutOff(server: TestServer): Promise<void> {
    for (const create of this.#cutOff) {
      if (create.key === undefined) this.lostSight++
      else this.#tell(await this.#send(server, create))
    }
    this.#cutOff = []
  }

  async #write(server: TestServer): Promise<void> {
    for (;;) {
      const marker = `m${++this.#count}`
      const create = { marker, key: this.#random.next() < 0.5 ? marker : undefined }
      const answer = await this.#send(server, create).catch(() => undefined)
      if (answer === undefined) return void this.#cutOff.push(create)
      this.#tell(answer)
    }
  }

  #send(server: TestServer, { marker, key }: Create): Promise<Answer> {
    return server.call("POST", "/v1/memories", {
      key: this.#secret,
      body: { agentId: "a", memories: [fact(marker, "was written once")] },
      headers: key === undefined ? {} : { "idempotency-key": key }
    })
  }

  #tell({ body, status }: Answer): void {
    expect({ status, body }).toMatchObject({ status: 200 })
    this.acknowledged++
  }
}

const adjust = async (server: TestServer): Promise<void> => {
  const body = { account, credits: given, reason: "test", key: "gift" }
  const { status } = await server.asOperator("POST", "/admin/ledger/adjustments", body)
  expect(status).toBe(200)
}

const proof = async (server: TestServer) => (await server.asOperator("GET", "/admin/ledger/check")).body

interface Spent {
  /** Credits charged for calls, from both purses. */
  readonly calls: number
  /** By the daily job. */
  readonly storage: number
}

interface Movement {
  readonly kind: string
  readonly purse: string
  readonly credits: number
}

/** Every movement adds up to the purses, so nothing is taken that is not among them. */
const spentOf = async (server: TestServer, key: string): Promise<Spent> => {
  const movements = await movementsOf(server, key)
  const { body, status } = await server.call("GET", "/v1/credits", { key })
  expect({ status, body }).toMatchObject({ status: 200 })
  expect(microsOf(movements)).toBe(Math.round((body.allowance.credits + body.balance.credits) * 1_000_000))
  const taken = (kind: string) => -microsOf(movements.filter((movement) => movement.kind === kind)) / 1_000_000
  return { calls: taken("charge"), storage: taken("storage") }
}

const microsOf = (movements: ReadonlyArray<Movement>): number =>
  movements.reduce((sum, { credits }) => sum + Math.round(credits * 1_000_000), 0)

const movementsOf = async (server: TestServer, key: string): Promise<ReadonlyArray<Movement>> => {
  const movements: Array<Movement> = []
  for (let cursor = ""; ;) {
    const page = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
    const { body, status } = await server.call("GET", `/v1/credits/transactions?limit=100${page}`, { key })
    expect({ status, body }).toMatchObject({ status: 200 })
    movements.push(...body.transactions)
    if (body.nextCursor === undefined) return movements
    cursor = body.nextCursor
  }
}

const memoriesOf = async (server: TestServer, key: string): Promise<number> => {
  const { body, status } = await server.call("GET", "/v1/account", { key })
  expect({ status, body }).toMatchObject({ status: 200 })
  const agents: ReadonlyArray<{ readonly memories: number }> = body.agents
  return agents.reduce((sum, { memories }) => sum + memories, 0)
}
