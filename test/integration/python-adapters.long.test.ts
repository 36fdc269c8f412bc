/**
 * The types of the Python client's adapters, strictly, with their tests and examples. Long, because mypy reads the
 * frameworks too.
 */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { pythonVenv } from "../support/PythonVenv.ts"
import { repository } from "../support/TestServer.ts"

const source = join(repository, "packages", "python")
const { directory, missing, run } = pythonVenv("packages/python/requirements-adapters.txt")

describe.skipIf(missing !== "")(`the adapters of the Python client${missing}`, () => {
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
