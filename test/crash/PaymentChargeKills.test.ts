/**
 * Kill -9 between a call's charge and its commit (contract: Credits): several writers, kills at random moments, and
 * after each restart as many charges as memories.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { type Answer, startServer, type TestServer } from "../support/TestServer.ts"

/** The first kills fall while the allowance is drawn, the later ones on the balance. */
const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "2000" }
const given = 1_000_000
const pricePerCreate = 5
const kills = 7
const writers = 8
/** How long the writers run before the kill, milliseconds. */
const runMillis = { least: 5, most: 400 }
const account = "metered"
const openChargesLine = /charges left open by the last end were decided/

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
    let server = await startServer({ dataDirectory, environment })
    let startsWithOpenCharges = 0
    let stored = 0
    try {
      const secret = await server.newAccount(account)
      await adjust(server)
      const load = new Load(secret, random)
      const before = await purses(server, secret)
      for (let kill = 0; kill < kills; kill++) {
        await load.runAndKill(server)
        server = await startServer({ dataDirectory, environment })
        if (openChargesLine.test(server.output())) startsWithOpenCharges++
        await load.repeatCutOff(server)
        stored = await memoriesOf(server, secret)
        const spent = before - (await purses(server, secret))
        expect({ seed, kill, spent }).toEqual({ seed, kill, spent: stored * pricePerCreate })
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
  const { status } = await server.call("POST", "/admin/ledger/adjustments", { key: server.operatorToken, body })
  expect(status).toBe(200)
}

const proof = async (server: TestServer) =>
  (await server.call("GET", "/admin/ledger/check", { key: server.operatorToken })).body

const purses = async (server: TestServer, key: string): Promise<number> => {
  const { body, status } = await server.call("GET", "/v1/credits", { key })
  expect({ status, body }).toMatchObject({ status: 200 })
  return body.allowance.credits + body.balance.credits
}

const memoriesOf = async (server: TestServer, key: string): Promise<number> => {
  const { body, status } = await server.call("GET", "/v1/account", { key })
  expect({ status, body }).toMatchObject({ status: 200 })
  const agents: ReadonlyArray<{ readonly memories: number }> = body.agents
  return agents.reduce((sum, { memories }) => sum + memories, 0)
}
