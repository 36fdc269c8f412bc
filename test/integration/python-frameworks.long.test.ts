/**
 * The adapters of the Python client whose frameworks take minutes to install: each in a virtual environment of its own,
 * checked strictly by mypy, run against the real service beside the framework's own memory, with its example and the
 * code of its page.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { useModel } from "../support/ModelServer.ts"
import { text } from "../support/ModelServerReplies.ts"
import { pythonVenv } from "../support/PythonVenv.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const source = join(repository, "packages", "python")
const server = useSharedServer()
const models = useModel()
const asAccount = async (name: string) => ({
  PYTHONPATH: join(source, "src"),
  MUNIMENT_URL: server.url,
  MUNIMENT_API_KEY: await server.newAccount(name, "owner"),
  MODEL_URL: models.baseUrl("openai-compatible")
})

/** `said`: runs of the example, what the model answers in each, and what each prints. The last one's model was told `shown`. */
const frameworks = [
  {
    name: "llamaindex",
    example: "llamaindex_memory.py",
    said: [
      { words: ["one", "I live in Lisbon"], replies: ["Noted."], printed: "Noted.\n" },
      { words: ["two", "Where do I live?"], replies: ["In Lisbon."], printed: "In Lisbon.\n" }
    ],
    shown: ["Remembered from earlier", "I live in Lisbon"]
  },
  {
    name: "crewai",
    example: "crewai_crew.py",
    // The second answer of a run is what is to be remembered of it.
    said: [
      {
        words: ["I live in Lisbon"],
        replies: ["Noted.", '{"memories": ["The home of the user is Lisbon"]}'],
        printed: "Noted.\n"
      },
      { words: ["Where do I live?"], replies: ["In Lisbon.", '{"memories": []}'], printed: "In Lisbon.\n" }
    ],
    shown: ["The home of the user is Lisbon"]
  }
]

describe.each(frameworks)("the adapter for $name", ({ example, name, said, shown }) => {
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
    for (const { printed, replies, words } of said) {
      models.script(...replies.map(text))
      // What the framework complains of comes after it.
      const output = await run([join(source, "examples", "adapters", example), ...words], { environment })
      expect(output.slice(0, printed.length)).toBe(printed)
    }
    const asked = JSON.stringify(models.requests.map(({ body }) => body).at(-said.at(-1)!.replies.length))
    for (const words of shown) expect(asked).toContain(words)
  })

  it.skipIf(missing !== "")(`is shown by code on its page that runs${missing}`, async () => {
    const page = readFileSync(join(source, "docs", "adapters.md"), "utf8")
    const blocks = [...page.matchAll(/```python\n([^]*?)```/g)].map(([, code = ""]) => code)
    const own = blocks.filter((code) => code.includes(`muniment.adapters.${name} `))
    expect(own.length).toBe(1)
    expect(await run(["-c", own.join("\n")], { environment: await asAccount(`${name}-page`) })).toContain("green tea")
  })
})
