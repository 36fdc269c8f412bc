/**
 * Re-embedding over real server processes and real models: the configured model changes under a filled
 * directory, the process is killed in the middle, a model comes late. Every memory ends with one vector
 * of the configured model, and is found all the while.
 */
import { mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { modelPreference } from "@muniment/models/ModelCatalog"
import { startServer, type TestServer } from "../../support/TestServer.ts"
import { realModelsDir, requireRealModel } from "../models/realModel.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const testMillis = 240_000
const requestSize = 100

/** Two models that are there; the test is about a change from one to the other. */
const twoModels = (): readonly [string, string] => {
  requireRealModel()
  const there = modelPreference.filter((id) => readdirSync(realModelsDir).includes(id))
  const [newer, older] = there
  if (newer === undefined || older === undefined) {
    throw new Error(`this test needs two models in ${realModelsDir}, found: ${there.join(", ")}; npm test brings them`)
  }
  return [older, newer]
}

const subjects = ["harbour", "orchestra", "volcano", "library", "glacier", "bakery", "railway", "vineyard"]
const factOf = (number: number) => `Visit number ${number} was to the ${subjects[number % subjects.length]!} by the sea`

const store = async (server: TestServer, from: number, count: number): Promise<void> => {
  for (let at = from; at < from + count; at += requestSize) {
    const { status } = await server.call("POST", "/v1/memories/batch/create", {
      body: {
        agentId: "assistant",
        memories: Array.from({ length: Math.min(requestSize, from + count - at) }, (_, offset) => ({
          kind: "factual_memory",
          data: { subject: "Ann", fact: factOf(at + offset) }
        }))
      }
    })
    expect(status).toBe(200)
  }
}

interface Progress {
  readonly model: string | null
  readonly pending: number
  readonly total: number
}
const progress = async (server: TestServer): Promise<Progress> =>
  (await server.asOperator("GET", "/admin/reembed")).body

/** Polls until the progress satisfies `isReached`; the time limit is the test's own. */
const progressUntil = async (server: TestServer, isReached: (now: Progress) => boolean): Promise<Progress> => {
  for (;;) {
    const now = await progress(server)
    if (isReached(now)) return now
    await new Promise((wake) => setTimeout(wake, 20))
  }
}

/** A search by a word that no memory holds: only a vector can find anything. */
const foundByMeaning = async (server: TestServer): Promise<ReadonlyArray<{ dense: number | null }>> => {
  const { status, body } = await server.call("GET", "/v1/memories/search?query=ferryboats&explain=true&limit=5")
  expect(status).toBe(200)
  return body.memories.map(({ explain }: { explain: { dense: number | null } }) => explain)
}

/** Vectors on disk by model, and memories without one; the server must have ended. */
const vectorsIn = (dataDirectory: string) => {
  const directory = join(dataDirectory, "namespaces")
  const byModel = new Map<string, number>()
  let missing = 0
  for (const name of readdirSync(directory).filter((file) => file.endsWith(".db"))) {
    const database = new DatabaseSync(join(directory, name))
    const bare = database.prepare("SELECT count(*) AS n FROM memory WHERE slot NOT IN (SELECT slot FROM vector)").get()
    missing += Number(bare?.["n"])
    for (const { model, value } of database.prepare("SELECT model, value FROM vector").all()) {
      byModel.set(String(model), (byModel.get(String(model)) ?? 0) + 1)
      const vector = new Float32Array((value as Uint8Array).slice().buffer)
      expect(Math.hypot(...vector)).toBeCloseTo(1, 4)
    }
    database.close()
  }
  return { byModel: Object.fromEntries(byModel), missing }
}

const serverOf = (dataDirectory: string, model: string, modelsDirectory = realModelsDir) =>
  startServer({
    dataDirectory,
    environment: { MUNIMENT_EMBEDDING_MODEL: model, MUNIMENT_MODELS_DIR: modelsDirectory, MUNIMENT_LOG_LEVEL: "Error" }
  })

describe("re-embedding", () => {
  it(
    "gives a filled directory vectors of the new model, through a kill in the middle, while the old ones serve",
    { timeout: testMillis },
    async () => {
      const [older, newer] = twoModels()
      const directory = temporaryDirectory()
      const count = 400

      const first = await serverOf(directory, older)
      await store(first, 0, count)
      expect((await progressUntil(first, ({ pending }) => pending === 0)).model).toBe(older)
      expect(await first.stop()).toBe(0)
      expect(vectorsIn(directory)).toEqual({ byModel: { [older]: count }, missing: 0 })

      const second = await serverOf(directory, newer)
      const begun = await progressUntil(second, ({ pending, total }) => total === count && pending < count)
      expect(begun.model).toBe(newer)
      const during = await foundByMeaning(second)
      expect(during).toHaveLength(5)
      expect(during.every(({ dense }) => dense !== null)).toBe(true)
      const killedAt = await progress(second)
      await second.kill()
      const half = vectorsIn(directory)
      expect(half.missing).toBe(0)
      expect((half.byModel[older] ?? 0) + (half.byModel[newer] ?? 0)).toBe(count)
      expect(half.byModel[newer]).toBeGreaterThanOrEqual(count - killedAt.pending)
      expect(half.byModel[older]).toBeGreaterThan(0)

      const third = await serverOf(directory, newer)
      const resumed = await progressUntil(third, ({ total }) => total === count)
      expect(resumed.pending).toBeLessThanOrEqual(half.byModel[older]!)
      await store(third, count, 50)
      await progressUntil(third, ({ pending }) => pending === 0)
      expect(await foundByMeaning(third)).toHaveLength(5)
      expect(await third.stop()).toBe(0)
      expect(vectorsIn(directory)).toEqual({ byModel: { [newer]: count + 50 }, missing: 0 })
    }
  )

  it("gives vectors to what was stored without a model", async () => {
    const [, model] = twoModels()
    const directory = temporaryDirectory()
    const without = await serverOf(directory, "none")
    await store(without, 0, 40)
    expect(await foundByMeaning(without)).toEqual([])
    await without.stop()
    expect(vectorsIn(directory)).toEqual({ byModel: {}, missing: 40 })

    const server = await serverOf(directory, model)
    await progressUntil(server, ({ pending, total }) => total === 40 && pending === 0)
    expect(await foundByMeaning(server)).toHaveLength(5)
    await server.stop()
    expect(vectorsIn(directory)).toEqual({ byModel: { [model]: 40 }, missing: 0 })
  })

  it("gives vectors to what was stored before the model came, without a restart", async () => {
    const [, model] = twoModels()
    const modelsDirectory = temporaryDirectory()
    const server = await serverOf(temporaryDirectory(), model, modelsDirectory)
    await store(server, 0, 40)
    expect(await foundByMeaning(server)).toEqual([])
    expect(await progress(server)).toMatchObject({ model, pending: 40 })
    mkdirSync(modelsDirectory, { recursive: true })
    symlinkSync(join(realModelsDir, model), join(modelsDirectory, model))
    await progressUntil(server, ({ pending, total }) => total === 40 && pending === 0)
    expect(await foundByMeaning(server)).toHaveLength(5)
    await server.stop()
    rmSync(join(modelsDirectory, model))
  })
})
