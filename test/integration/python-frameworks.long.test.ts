/**
 * The adapters of the Python client whose frameworks take minutes to install: each in a virtual environment of its own,
 * checked strictly by mypy, run against the real service beside the framework's own memory, with its example and the
 * code of its page.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ModelServer } from "../support/ModelServer.ts"
import { text } from "../support/ModelServerReplies.ts"
import { pythonVenv } from "../support/PythonVenv.ts"
import { sharedServer } from "../support/SharedServer.ts"
import { repository, type ServerCalls } from "../support/TestServer.ts"

const source = join(repository, "packages", "python")
let server: ServerCalls
let models: ModelServer
const asAccount = async (name: string) => ({
  PYTHONPATH: join(source, "src"),
  MUNIMENT_URL: server.url,
  MUNIMENT_API_KEY: await server.newAccount(name, "owner"),
  MODEL_URL: models.baseUrl("openai-compatible")
})
beforeAll(async () => {
  server = await sharedServer()
  models = await ModelServer.start()
})
afterAll(() => models?.close())

const frameworks = [{ name: "llamaindex", example: "llamaindex_memory.py", shown: "Remembered from earlier" }]

describe.each(frameworks)("the adapter for $name", ({ example, name, shown }) => {
  const { directory, missing, run } = pythonVenv(`packages/python/requirements-${name}.txt`)

  it.skipIf(missing !== "")(`passes the strict type check, with its tests and example${missing}`, async () => {
    const places = [
      `src/muniment/adapters/${name}.py`,
      `tests/adapters/long_${name}.py`,
      `examples/adapters/${example}`
    ]
    const options = ["--strict", "--python-version", "3.10", "--follow-imports", "silent"]
    const files = places.map((place) => join(source, place))
    const checked = await run(["-m", "mypy", ...options, "--cache-dir", join(directory, "mypy"), ...files], {
      environment: { MYPYPATH: join(source, "src") }
    })
    expect(checked).toMatch(/Success: no issues found in 3 source files/)
  })

  it.skipIf(missing !== "")(`does what the framework's own memory does${missing}`, async () => {
    const output = await run(["-m", "unittest", `long_${name}`], {
      cwd: join(source, "tests", "adapters"),
      environment: await asAccount(name)
    })
    expect(output).toMatch(/^Ran \d+ tests?[^]*\nOK\n$/m)
  })

  it.skipIf(missing !== "")(`lets its example remember across sessions${missing}`, async () => {
    const environment = await asAccount(`${name}-example`)
    const said = (...words: ReadonlyArray<string>) =>
      run([join(source, "examples", "adapters", example), ...words], { environment })
    models.script(text("Noted."), text("In Lisbon."))
    expect(await said("one", "I live in Lisbon")).toBe("Noted.\n")
    expect(await said("two", "Where do I live?")).toBe("In Lisbon.\n")
    const asked = JSON.stringify(models.requests.at(-1)!.body)
    expect(asked).toContain("I live in Lisbon")
    expect(asked).toContain(shown)
  })

  it.skipIf(missing !== "")(`is shown by code on its page that runs${missing}`, async () => {
    const page = readFileSync(join(source, "docs", "adapters.md"), "utf8")
    const blocks = [...page.matchAll(/```python\n([^]*?)```/g)].map(([, code = ""]) => code)
    const own = blocks.filter((code) => code.includes(`muniment.adapters.${name} `))
    expect(own.length).toBe(1)
    expect(await run(["-c", own.join("\n")], { environment: await asAccount(`${name}-page`) })).toContain("green tea")
  })
})
