/**
 * LangGraph's own tests of its stores, from the sources of its packages, over the store for LangGraph. Those that it does
 * not pass are named here, and why; the page of the adapters has the numbers. Long, because some make thousands of calls.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { pythonVenv } from "../support/PythonVenv.ts"
import { sharedServer } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const source = join(repository, "packages", "python")
const { missing, run } = pythonVenv("packages/python/requirements-langgraph-suite.txt")

/** By the name of the test, of any file and with any parameters. */
const notPassed: Readonly<Record<string, string>> = {
  test_vector_store_initialization: "looks for the embedding model and the tables of an index that it configured",
  test_embed_with_path: "configures which fields are embedded, and expects cosines of its own embedding model",
  test_scores: "expects cosines of its own embedding model",
  test_sql_injection_vulnerability:
    "expects an error for a field name that SQL could not take; here it matches nothing",
  test_no_running_loop: "expects that calls which wait are refused in a coroutine; here they work"
}

describe.skipIf(missing !== "")(`LangGraph's own tests of its stores${missing}`, () => {
  it("pass, but for those that are about an embedding model or a database of the store", async () => {
    const server = await sharedServer()
    const folder = mkdtempSync(join(tmpdir(), "muniment-langgraph-"))
    try {
      const environment = {
        PYTHONPATH: join(source, "src"),
        MUNIMENT_URL: server.url,
        MUNIMENT_API_KEY: await server.newAccount("langgraph-own", "owner")
      }
      const program = join(source, "tests", "adapters", "long_langgraph_own.py")
      const outcomes = Object.entries<string>(JSON.parse(await run([program, folder], { environment })))
      const failed = outcomes.filter(([, outcome]) => outcome === "failed").map(([test]) => nameOf(test))
      expect([...new Set(failed)].toSorted()).toEqual(Object.keys(notPassed).toSorted())
      const page = readFileSync(join(source, "docs", "adapters.md"), "utf8")
      expect(page).toContain(`passes ${outcomes.length - failed.length} of the ${outcomes.length} tests`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

const nameOf = (test: string): string => /::(?:\w+::)?(\w+)(?:\[|$)/.exec(test)?.[1] ?? test
