/**
 * Clients that generators make from the OpenAPI document compile strictly and work against the real service. Long,
 * because registries bring the generators, and mypy reads 640 generated files.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pythonVenv } from "../support/PythonVenv.ts"
import { useSharedServer } from "../support/SharedServer.ts"

const packages = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@24.19.2"]
const strictly = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "false"]
const modules = ["--target", "es2022", "--module", "nodenext", "--types", "node", "--lib", "es2022,dom,dom.iterable"]

/** Both programs print this. */
const expected = "2 stored, Bob bakes bread in Oslo, memory_not_found, memory_count_gte, 2 in all\n"

const typescriptProgram = `
import createClient from "openapi-fetch"
import type { paths } from "./api.js"

const headers = { authorization: \`Bearer \${process.env["MUNIMENT_API_KEY"]}\` }
const client = createClient<paths>({ baseUrl: process.env["MUNIMENT_URL"] ?? "", headers })
const { data: stored } = await client.POST("/v1/memories", {
  body: {
    agentId: "typescript",
    memories: [
      { kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } },
      { kind: "factual_memory", data: { subject: "Bob", fact: "Bob bakes bread in Oslo" } }
    ],
    wait: "vectors"
  }
})
const query = { query: "Who makes bread?", agentId: "typescript", limit: 1 }
const { data: found } = await client.GET("/v1/memories/search", { params: { query } })
const { error } = await client.GET("/v1/memories/{id}", { params: { path: { id: "mem_unknown" } } })
const { data: signed } = await client.POST("/v1/attestations", { body: { claim: "memory_count_gte", threshold: 1 } })
const { data: page } = await client.GET("/v1/memories", { params: { query: { agentId: "typescript", order: "asc" } } })
if (!stored || !found || !signed || !page) throw new Error("a call failed")
const fact: unknown = "memories" in found ? found.memories[0]?.data["fact"] : undefined
console.log(\`\${stored.created.length} stored, \${fact}, \${error?.code}, \${signed.attestation.claim}, \${page.total} in all\`)

type Refuses<Given, Asked> = Given extends Asked ? false : true
type Body = paths["/v1/memories"]["post"]["requestBody"]["content"]["application/json"]
export const needsKind: Refuses<{ agentId: string; memories: Array<{ data: {} }> }, Body> = true
export const takesKind: Refuses<{ agentId: string; memories: Array<{ kind: string; data: {} }> }, Body> = false
`

const pythonProgram = `
import os

from muniment_client import AuthenticatedClient
from muniment_client.api.attestations import attestations_attest
from muniment_client.api.memories import memories_create, memories_get, memories_list, memories_search
from muniment_client.models import (
    AttestationsAttestBodyType1,
    AttestationsAttestResponse200,
    MemoriesCreateBodyType1,
    MemoriesCreateResponse200,
    MemoriesListOrder,
    MemoriesListResponse200,
    MemoriesSearchResponse200Type2,
    NotFoundEncoded,
)

client = AuthenticatedClient(base_url=os.environ["MUNIMENT_URL"], token=os.environ["MUNIMENT_API_KEY"])
facts = [("Alice", "Alice lives in Seattle"), ("Bob", "Bob bakes bread in Oslo")]
memories = [{"kind": "factual_memory", "data": {"subject": who, "fact": fact}} for who, fact in facts]
body = MemoriesCreateBodyType1.from_dict({"agentId": "python", "memories": memories, "wait": "vectors"})
stored = memories_create.sync(client=client, body=body)
found = memories_search.sync(client=client, query="Who makes bread?", agent_id="python", limit=1)
missing = memories_get.sync(id="mem_unknown", client=client)
claim = AttestationsAttestBodyType1.from_dict({"claim": "memory_count_gte", "threshold": 1})
signed = attestations_attest.sync(client=client, body=claim)
page = memories_list.sync(client=client, agent_id="python", order=MemoriesListOrder.ASC)
assert isinstance(stored, MemoriesCreateResponse200), stored
assert isinstance(found, MemoriesSearchResponse200Type2), found
assert isinstance(missing, NotFoundEncoded), missing
assert isinstance(signed, AttestationsAttestResponse200), signed
assert isinstance(page, MemoriesListResponse200), page
fact = found.memories[0].data["fact"]
claimed = signed.attestation.claim
print(f"{len(stored.created)} stored, {fact}, {missing.code.value}, {claimed}, {page.total} in all")
`

describe("clients generated from the OpenAPI document", () => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-generated-"))
  const venv = pythonVenv("test/support/generated-requirements.txt")
  const server = useSharedServer()
  beforeAll(async () => {
    writeFileSync(join(folder, "openapi.json"), await (await fetch(`${server.url}/openapi.json`)).text())
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const service = async (name: string) => ({
    MUNIMENT_URL: server.url,
    MUNIMENT_API_KEY: await server.newAccount(name, "owner")
  })

  it("compile and work in TypeScript, by openapi-typescript and openapi-fetch", async () => {
    const run = async (command: string, args: ReadonlyArray<string>, environment = {}): Promise<string> => {
      const env = { ...process.env, NODE_OPTIONS: "", ...environment }
      const ended = promisify(execFile)(command, args, { cwd: folder, env })
      const said = ended.catch((error: Error & { stdout?: string }) =>
        Promise.reject(new Error(`${error.message}\n${error.stdout}`))
      )
      return (await said).stdout
    }
    const bin = (name: string): string => join(folder, "node_modules", ".bin", name)
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
    writeFileSync(join(folder, "program.ts"), typescriptProgram)
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages])
    await run(bin("openapi-typescript"), ["openapi.json", "-o", "api.ts"])
    await run(bin("tsc"), [...strictly, ...modules, "program.ts"])
    expect(await run(process.execPath, ["program.js"], await service("typescript"))).toBe(expected)
  })

  it.skipIf(venv.missing !== "")(`compile and work in Python, by openapi-python-client${venv.missing}`, async () => {
    const client = join(folder, "python")
    const generate = ["-m", "openapi_python_client", "generate", "--path", join(folder, "openapi.json")]
    const said = await venv.run([...generate, "--output-path", client])
    expect(said).not.toMatch(/unable to parse|will not be generated|ERROR/i)
    writeFileSync(join(client, "program.py"), pythonProgram)
    const cache = join(venv.directory, "mypy")
    const checked = await venv.run(["-m", "mypy", "--strict", "--cache-dir", cache, "muniment_client", "program.py"], {
      cwd: client
    })
    expect(checked).toMatch(/Success: no issues found in \d+ source files/)
    expect(await venv.run(["program.py"], { cwd: client, environment: await service("python") })).toBe(expected)
  })
})
