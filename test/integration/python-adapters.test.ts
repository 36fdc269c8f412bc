/**
 * The adapters of the Python client, each with the framework that it is for, run against the real service beside the
 * framework's own stores: every day that for LangChain, in the long run all. Their examples and types are in
 * `python-adapters.long.test.ts`, those whose frameworks are long to install in `python-frameworks.long.test.ts`.
 */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { pythonVenv } from "../support/PythonVenv.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { sharedServer } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const source = join(repository, "packages", "python")
const { missing, run } = pythonVenv("packages/python/requirements-adapters.txt")

describe.skipIf(missing !== "")(`the adapters of the Python client${missing}`, () => {
  it("do what the frameworks' own stores do", async () => {
    const server = await sharedServer()
    const which = isLongRun ? "test_*.py" : "test_langchain.py"
    const output = await run(["-W", "error::ResourceWarning", "-m", "unittest", "discover", "-p", which], {
      cwd: join(source, "tests", "adapters"),
      environment: {
        PYTHONPATH: join(source, "src"),
        MUNIMENT_URL: server.url,
        MUNIMENT_API_KEY: await server.newAccount("adapters", "owner"),
        OPENAI_API_KEY: "unused",
        OPENAI_AGENTS_DISABLE_TRACING: "1"
      }
    })
    expect(output).toMatch(/^Ran \d+ tests[^]*\nOK\n$/m)
  })
})
