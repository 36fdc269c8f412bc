/**
 * The adapters for agent frameworks of TypeScript as their users get them: compiled and packed, in an empty folder
 * outside the repository with the packed client and the frameworks from a registry. Their own tests and examples run
 * there against the real service. Where npm reaches no registry they are skipped, and say so.
 */
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "vitest"
import { packClient } from "../../scripts/pack.ts"
import { adapterNames, buildAdapter, compileStrictly, installFrameworks } from "../../scripts/pack/AdapterPackages.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer, text } from "../support/ModelServerReplies.ts"
import { sharedServer } from "../support/SharedServer.ts"
import { patienceMillis, repository } from "../support/TestServer.ts"

const folder = mkdtempSync(join(tmpdir(), "muniment-adapters-"))
const missing = await installFrameworks(repository, folder, packClient(folder).path).then(
  () => "",
  (error: Error) => ` (skipped: npm cannot install the frameworks: ${error.message})`
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(missing !== "")(`the adapters${missing}`, () => {
  const run = async (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) => {
    const server = await sharedServer()
    const service = { MUNIMENT_URL: server.url, MUNIMENT_API_KEY: await server.newAccount("adapter", "owner") }
    const env = { ...process.env, NODE_OPTIONS: "", ...service, ...environment }
    const ended = promisify(execFile)(process.execPath, args, { cwd: folder, env })
    const failed = (error: Error & { stdout?: string }) =>
      Promise.reject(new Error(`${error.message}\n${error.stdout}`))
    return (await ended.catch(failed)).stdout
  }

  it.each(adapterNames(repository))("%s is packed, and does with its framework what its tests say", async (name) => {
    await buildAdapter(repository, folder, name)
    for (const part of ["tests", "example"]) {
      cpSync(join(repository, "packages", "adapters", name, part), join(folder, part, name), { recursive: true })
      await compileStrictly(folder, `${part}/${name}`, join(folder, "built", part, name))
    }
    expect(await run(["--test", "--test-reporter=tap", `built/tests/${name}/*.test.js`])).toMatch(
      /^# pass [1-9]\d*\n# fail 0$/m
    )
  })

  it("let a chat over the AI SDK remember across runs", async () => {
    const models = await ModelServer.start()
    const server = await sharedServer()
    const key = await server.newAccount("chat", "owner")
    const environment = { MUNIMENT_API_KEY: key, MODEL_URL: models.baseUrl("openai-compatible") }
    models.script(text("Noted."), text("In Lisbon."))
    const said = (words: string) => run(["built/example/ai-sdk/remember.js", words], environment)
    expect(await said("My home is in Lisbon.")).toBe("Noted.\n")
    const found = async () => {
      const { body } = await server.call("GET", "/v1/memories/search?query=Where+do+I+live%3F", { key })
      return body.memories.length
    }
    await expect.poll(found, { timeout: patienceMillis }).toBeGreaterThan(0)
    expect(await said("Where do I live?")).toBe("In Lisbon.\n")
    expect(models.requests.at(-1)!.system).toContain("My home is in Lisbon.")
    await models.close()
  })

  it("let a graph of LangGraph remember across runs", async () => {
    const environment = { MUNIMENT_API_KEY: await (await sharedServer()).newAccount("graph", "owner") }
    const said = (words: string) => run(["built/example/langgraph/remember.js", words], environment)
    expect(await said("My sister plays the oboe")).toBe("I know nothing about that.\n")
    expect(await said("Which instrument does my sister play?")).toBe("My sister plays the oboe\n")
  })

  it("let Claude's memory tool keep a file across runs", async () => {
    const models = await ModelServer.start()
    const keys = {
      MUNIMENT_API_KEY: await (await sharedServer()).newAccount("files", "owner"),
      ANTHROPIC_API_KEY: "sk"
    }
    const environment = { ...keys, ANTHROPIC_BASE_URL: models.baseUrl("anthropic") }
    const said = (words: string) => run(["built/example/anthropic/remember.js", words], environment)
    const path = "/memories/home.md"
    models.script(answer({ command: "create", path, file_text: "Lives in Lisbon" }), text("Noted."))
    expect(await said("I live in Lisbon")).toBe("Noted.\n")
    models.script(answer({ command: "view", path }), text("In Lisbon."))
    expect(await said("Where do I live?")).toBe("In Lisbon.\n")
    expect(JSON.stringify(models.requests.at(-1)!.body)).toContain("Lives in Lisbon")
    await models.close()
  })

  it("let an agent of Mastra remember across threads", async () => {
    const models = await ModelServer.start()
    const server = await sharedServer()
    const key = await server.newAccount("mastra", "owner")
    const environment = { MUNIMENT_API_KEY: key, MODEL_URL: models.baseUrl("openai-compatible") }
    models.script(text("Noted."), text("In Lisbon."))
    const said = (...words: ReadonlyArray<string>) => run(["built/example/mastra/remember.js", ...words], environment)
    expect(await said("one", "My home is in Lisbon.")).toBe("Noted.\n")
    const found = async () => {
      const { body } = await server.call("GET", "/v1/memories/search?query=Where+do+I+live%3F", { key })
      return body.memories.length
    }
    await expect.poll(found, { timeout: patienceMillis }).toBeGreaterThan(0)
    expect(await said("two", "Where do I live?")).toBe("In Lisbon.\n")
    expect(JSON.stringify(models.requests.at(-1)!.body)).toContain("User: My home is in Lisbon.")
    await models.close()
  })
})
