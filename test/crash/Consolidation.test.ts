/** Kills of a service that consolidates: no memory is lost or doubled, each change has its entry, and all of it can be undone. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { expect, it } from "vitest"
import { sectionOf } from "../support/FencedPrompt.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer } from "../support/ModelServerReplies.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

const names = "Ada Ben Cleo Dora Emil Fay Gus Hugo Iris Jon Kai Lea Mona Nils Otto Pia Quin Rita Sven Tilda".split(" ")
const animals = "cat dog bee hen cow pig rat bat owl fox elk ant yak eel ram emu ape cod auk gnu".split(" ")
const short = names.map((name, at) => `Alice feeds the ${animals[at]} ${name}`)
const long = names.map((name, at) => `Alice feeds the ${animals[at]} ${name} in Oslo`)

interface Memory {
  readonly id: string
  readonly data: { readonly fact: string }
  readonly context: { readonly isLatest: boolean }
}
interface Entry {
  readonly id: string
  readonly into: string
  readonly memories: ReadonlyArray<string>
}

it("a kill at any moment of a consolidation loses and doubles nothing", { timeout: 600_000 }, async () => {
  const random = new SeededRandom(chosenSeed())
  const model = await ModelServer.start()
  let told: ReadonlyArray<string> = []
  model.otherwise = ({ prompt, system }) => {
    if (!system.startsWith("You tidy"))
      return answer({
        memories: told.map((text, at) => ({ op: "add", about: "Alice", type: "fact", text, n: [at + 1], quote: text }))
      })
    const lines = sectionOf(prompt, "MEMORIES") as ReadonlyArray<{ id: string; group: number; text: string }>
    const changes = Map.groupBy(lines, ({ group }) => group)
      .values()
      .map((group) => ({ op: "merge", ids: group.map(({ id }) => id), text: group.at(-1)!.text.replace(".", "") }))
    return answer({ changes: [...changes] })
  }
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-test-"))
  const start = () =>
    startServer({
      dataDirectory,
      environment: {
        MUNIMENT_EMBEDDING_MODEL: "none",
        ...model.environment(),
        MUNIMENT_CONSOLIDATE: "on"
      }
    })
  const everyVersion = async (server: TestServer): Promise<ReadonlyArray<Memory>> =>
    (await server.call("GET", "/v1/memories?agentId=a&include=extracted&includeSuperseded=true&limit=100")).body
      .memories
  const entries = async (server: TestServer): Promise<ReadonlyArray<Entry>> =>
    (await server.asOperator("GET", "/admin/consolidations?limit=1000")).body.consolidations

  let server = await start()
  for (const texts of [short, long]) {
    told = texts
    const conversation = texts.map((text) => ({ role: "user", content: `Bob wrote: "${text}"` }))
    const body = { agentId: "a", wait: "extraction", remember: "extracted", conversation }
    expect((await server.call("POST", "/v1/memories", { body })).body.created).toHaveLength(names.length)
  }
  const before = await everyVersion(server)
  for (let kills = 0; kills < 4; kills++) {
    const asked = server.asOperator("POST", "/admin/consolidations", {}).catch(() => undefined)
    // Now and then early, now and then after some changes.
    const done = (await entries(server)).length + (kills % 2)
    const isOver = () => Promise.race([asked.then(() => true), pause(1, false)])
    while ((await entries(server)).length < done && !(await isOver())) await pause(0)
    await pause(random.between(0, 60))
    await server.kill()
    await asked
    server = await start()
    const found = await everyVersion(server)
    expect(found.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)))
    const latest = found.filter(({ context }) => context.isLatest)
    for (const name of names) {
      const own = latest.filter(({ data }) => data.fact.includes(name))
      const made = own.filter(({ id }) => before.every((one) => one.id !== id))
      expect([own.length, made.length]).toEqual(made.length === 0 ? [2, 0] : [1, 1])
    }
    const made = found.filter(({ id }) => before.every((one) => one.id !== id)).map(({ id }) => id)
    expect((await entries(server)).map(({ into }) => into).toSorted()).toEqual(made.toSorted())
  }

  await server.asOperator("POST", "/admin/consolidations", {})
  const all = await entries(server)
  expect(all).toHaveLength(names.length)
  for (const { id } of all)
    expect((await server.asOperator("POST", `/admin/consolidations/${id}/undo`)).status).toBe(200)
  expect(await everyVersion(server)).toEqual(before)
  await server.stop()
  await model.close()
  rmSync(dataDirectory, { recursive: true, force: true })
})
