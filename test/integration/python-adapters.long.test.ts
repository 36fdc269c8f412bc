/**
 * The examples of the Python client's adapters as a user runs them, and their types, strictly, with their tests. Long,
 * because every run of an example loads a framework, and mypy reads all of them.
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
const { directory, missing, run } = pythonVenv("packages/python/requirements-adapters.txt")

describe.skipIf(missing !== "")(`the adapters of the Python client${missing}`, () => {
  const server = useSharedServer()
  const models = useModel()
  const asAccount = async (name: string) => ({
    PYTHONPATH: join(source, "src"),
    MUNIMENT_URL: server.url,
    MUNIMENT_API_KEY: await server.newAccount(name, "owner"),
    OPENAI_BASE_URL: models.baseUrl("openai-compatible"),
    OPENAI_API_KEY: "unused",
    OPENAI_AGENTS_DISABLE_TRACING: "1"
  })
  const example = async (name: string, environment: Readonly<Record<string, string>>, words: ReadonlyArray<string>) =>
    run([join(source, "examples", "adapters", name), ...words], { environment })

  it("let a retriever of LangChain find what was said in another thread", async () => {
    const environment = await asAccount("langchain")
    const said = (...words: ReadonlyArray<string>) => example("langchain_recall.py", environment, words)
    expect(await said("one", "I like green tea", "I live in Lisbon")).toBe("2 messages in one\n")
    expect(await said("two", "Which tea do I like?")).toBe("I like green tea\n0 messages in two\n")
  })

  it("let a graph of LangGraph remember across runs, each user alone", async () => {
    const environment = await asAccount("langgraph")
    const said = (...words: ReadonlyArray<string>) => example("langgraph_agent.py", environment, words)
    expect(await said("ann", "I like green tea", "I live in Lisbon")).toBe("nothing yet\nI like green tea\n")
    expect(await said("ann", "Which beverage do I like?")).toBe("I like green tea\n")
    expect(await said("bob", "Which beverage do I like?")).toBe("nothing yet\n")
  })

  it("give an agent of the OpenAI Agents SDK its history back in the next run", async () => {
    const environment = await asAccount("agents")
    models.script(text("Hello Ann."), text("You are Ann."))
    const said = (words: string) => example("openai_agents_session.py", environment, ["thread-1", words])
    expect(await said("My name is Ann")).toBe("Hello Ann.\n")
    expect(await said("Who am I?")).toBe("You are Ann.\n")
    const contents = models.requests.at(-1)!.turns.map(({ content }) => JSON.stringify(content))
    expect(contents).toEqual([
      expect.stringContaining("My name is Ann"),
      expect.stringContaining("Hello Ann."),
      expect.stringContaining("Who am I?")
    ])
  })

  it("are shown by code on their page that runs", async () => {
    const environment = await asAccount("page")
    const page = readFileSync(join(source, "docs", "adapters.md"), "utf8")
    const blocks = [...page.matchAll(/```python\n([^]*?)```/g)]
      .map(([, code = ""]) => code)
      .filter((code) => !/adapters\.(?:crewai|llamaindex) /.test(code))
    models.script(text("Noted."))
    expect(blocks.length).toBeGreaterThan(2)
    expect(await run(["-c", blocks.join("\n")], { environment })).toBe(
      "I take the train to work\nAnn drinks green tea\nNoted.\n"
    )
  })

  it("pass the strict type check, with their tests and examples", async () => {
    const places = ["src/muniment/adapters", "tests/adapters", "examples/adapters"].map((place) => join(source, place))
    // Checked with their frameworks by `python-frameworks.long.test.ts`.
    const options = [
      "--strict",
      "--python-version",
      "3.10",
      "--follow-imports",
      "silent",
      "--exclude",
      "llamaindex|crewai|langgraph_own"
    ]
    const checked = await run(["-m", "mypy", ...options, "--cache-dir", join(directory, "mypy"), ...places], {
      environment: { MYPYPATH: join(source, "src") }
    })
    expect(checked).toMatch(/Success: no issues found in \d+ source files/)
  })
})
