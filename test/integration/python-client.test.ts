/**
 * The Python client as its users get it: built as a wheel, installed where the repository is not in reach, checked
 * strictly by mypy with its tests and examples, and run against the real service. Its own tests are Python's.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { callLimits } from "@muniment/client/CallLimits"
import { Muniment, type MunimentOptions } from "@muniment/client/Muniment"
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { packWheel } from "../../scripts/pack.ts"
import type { Tarball } from "../../scripts/pack/Tarball.ts"
import { pythonVenv } from "../support/PythonVenv.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

type Names<Options> = Options extends unknown ? keyof Options : never
/** Settings of the TypeScript client, and what the Python client calls them; the type makes it complete. */
const settingNames: Readonly<Record<Names<MunimentOptions>, string | undefined>> = {
  apiKey: "api_key",
  audience: "audience",
  baseUrl: "base_url",
  fetch: "http_client",
  now: undefined,
  onPaymentRequired: "on_payment_required",
  patienceMillis: "patience",
  pause: "sleep",
  retries: "retries",
  serviceName: "service_name",
  timeoutMillis: "timeout",
  wallet: "wallet"
}

/** What is read of the published document. */
interface Shape {
  readonly $ref?: string
  readonly anyOf?: ReadonlyArray<Shape>
  readonly oneOf?: ReadonlyArray<Shape>
  readonly properties?: Readonly<Record<string, Shape>>
}
interface PublishedCall {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<{ readonly in: string; readonly name: string }>
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: Shape } } }
}
interface Published {
  readonly components: { readonly schemas: Readonly<Record<string, Shape>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, PublishedCall>>>>
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Groups of the contract whose calls a client has. */
const ofCallers = new Set([
  "memories",
  "context",
  "events",
  "schemas",
  "attestations",
  "credits",
  "account",
  "keys",
  "hooks"
])

const source = join(repository, "packages", "python")
const { directory, missing, run } = pythonVenv("packages/python/requirements-test.txt")
const builder = { python: join(directory, "bin", "python"), hasBackend: true }

describe.skipIf(missing !== "")(`the Python client${missing}`, () => {
  const place = mkdtempSync(join(tmpdir(), "muniment-python-"))
  const installed = join(place, "installed")
  const server = useSharedServer()
  let wheel: Tarball
  const asAccount = async (name: string) => ({
    PYTHONPATH: installed,
    MYPYPATH: `${installed}:${join(source, "tests")}`,
    MUNIMENT_VECTORS: join(repository, "test", "vectors"),
    MUNIMENT_URL: server.url,
    MUNIMENT_API_KEY: await server.newAccount(name, "owner")
  })

  beforeAll(async () => {
    mkdirSync(installed)
    wheel = await packWheel(place, builder)
    const offline = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    await run(["-m", "pip", "install", ...offline, "--target", installed, wheel.path])
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  it("is a wheel of at most 100 KB that says that it is typed, built to the same bytes again", async () => {
    expect(basename(wheel.path)).toBe("muniment-0.1.0-py3-none-any.whl")
    expect(wheel.bytes).toBeLessThanOrEqual(100_000)
    expect(readdirSync(join(installed, "muniment"))).toContain("py.typed")
    const again = await packWheel(join(place, "again"), builder)
    expect(readFileSync(again.path)).toEqual(readFileSync(wheel.path))
  })

  it("has its licence and a bill of what it asks for", () => {
    const metadata = join(installed, "muniment-0.1.0.dist-info")
    const licence = readFileSync(join(metadata, "licenses", "LICENSE"), "utf8")
    expect(licence).toBe(readFileSync(join(repository, "LICENSE"), "utf8"))
    const bill = JSON.parse(readFileSync(join(metadata, "sboms", "bom.cdx.json"), "utf8"))
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" })
    const asked = readFileSync(join(metadata, "METADATA"), "utf8").matchAll(/^Requires-Dist: ([a-z0-9-]+)/gm)
    expect(bill.components.map(({ name }: { readonly name: string }) => name)).toEqual(
      [...new Set([...asked].map(([, name]) => name))].sort()
    )
    const required = bill.components.filter(({ scope }: { readonly scope: string }) => scope === "required")
    expect(required).toMatchObject([{ name: "httpx", purl: "pkg:pypi/httpx" }])
  })

  if (isLongRun)
    it("passes the strict type check, with its tests and examples", async () => {
      const places = [join(installed, "muniment"), join(source, "tests"), join(source, "examples")]
      const cache = join(directory, "mypy")
      const options = ["--strict", "--python-version", "3.10", "--exclude", "/adapters/", "--cache-dir", cache]
      const checked = await run(["-m", "mypy", ...options, ...places])
      expect(checked).toMatch(/Success: no issues found in \d+ source files/)
    })

  it("has a method for each endpoint of the contract", async () => {
    const { account, attestations, credits, events, hooks, keys, memories, schemas } = MunimentApi.groups
    const named = [memories, events, schemas, attestations, credits, account, keys, hooks]
      .flatMap((group) => Object.values(group.endpoints))
      // The length of a search decides how it is sent.
      .filter(({ identifier }) => identifier !== "searchByBody")
      .map(({ identifier }) => snakeCase(String(identifier)))
    const shown = await run(["-c", "import muniment; print(*dir(muniment.Muniment), *dir(muniment.AsyncMuniment))"], {
      environment: { PYTHONPATH: installed }
    })
    expect(shown.trim().split(" ")).toEqual(expect.arrayContaining([...named, ...named]))
  })

  it("takes every field of a call's query and body that the contract has", async () => {
    const script = [
      "import inspect, json, muniment",
      "methods = inspect.getmembers(muniment.Muniment, inspect.isfunction)",
      "print(json.dumps({name: list(inspect.signature(method).parameters) for name, method in methods}))"
    ].join("\n")
    const taken: Record<string, string[]> = JSON.parse(
      await run(["-c", script], { environment: { PYTHONPATH: installed } })
    )
    const { components, paths }: Published = JSON.parse(JSON.stringify(openApiDocument()))
    const fieldsOf = (shape: Shape | undefined): ReadonlyArray<string> => {
      const { $ref, anyOf = [], oneOf = [], properties = {} } = shape ?? {}
      const named = $ref === undefined ? [] : fieldsOf(components.schemas[$ref.split("/").at(-1)!])
      return [...named, ...Object.keys(properties), ...[...anyOf, ...oneOf].flatMap(fieldsOf)]
    }
    const calls = Object.values(paths)
      .flatMap((path) => Object.values(path))
      .map(({ operationId, parameters = [], requestBody }) => {
        const [group = "", name = ""] = operationId.split(".")
        const inQuery = parameters.flatMap((one) => (one.in === "query" ? [one.name] : []))
        const inBody = fieldsOf(requestBody?.content["application/json"].schema)
        return { group, method: snakeCase(name), fields: new Set([...inQuery, ...inBody]) }
      })
      .filter(({ group, method }) => ofCallers.has(group) && taken[method] !== undefined)
    expect(calls.length).toBeGreaterThan(40)
    const lacking = calls.flatMap(({ fields, method }) =>
      [...fields]
        .filter((field) => !taken[method]!.some((name) => name.replace(/_$/, "") === snakeCase(field)))
        .map((field) => `${method}: ${field}`)
    )
    // A mode is a method of its own; a claim travels whole; Python reads JSON, not CSV.
    const otherwise = /^(?:search: mode|batch_update: update|attest: \w+|(?:statement|costs): format)$/
    expect(lacking.filter((one) => !otherwise.test(one))).toEqual([])
  })

  it("mirrors the TypeScript client: methods, settings, limits", async () => {
    const script = [
      "import inspect, json, muniment",
      "from muniment import limits",
      "client = muniment.Muniment",
      "print(json.dumps([",
      "  [name for name in vars(client) if not name.startswith('_')],",
      "  list(inspect.signature(client).parameters),",
      "  {name: value for name, value in vars(limits).items() if name.endswith('_MAX')}]))"
    ].join("\n")
    const shown = await run(["-c", script], { environment: { PYTHONPATH: installed } })
    const [methods, settings, limits] = JSON.parse(shown) as [string[], string[], Record<string, number>]
    // Modes of a search are methods of their own in Python, where an answer has one type; signals end a call elsewhere.
    const onlyPython = new Set(["answer", "topics", "with_options", "close"])
    const theirs = Object.getOwnPropertyNames(Muniment.prototype).filter((name) => name !== "constructor")
    expect(methods.filter((name) => !onlyPython.has(name)).sort()).toEqual(theirs.map(snakeCase).sort())
    expect([...settings].sort()).toEqual(
      Object.values(settingNames)
        .filter((name) => name !== undefined)
        .sort()
    )
    const named = Object.entries(callLimits).map(([name, value]) => [snakeCase(name).toUpperCase(), value])
    expect(limits).toEqual(Object.fromEntries(named))
  })

  it("passes its own tests against the service and on the wire", async () => {
    const output = await run(["-m", "unittest", "test_vectors", "test_wire", "test_client", "test_service"], {
      cwd: join(source, "tests"),
      environment: await asAccount("python")
    })
    expect(output).toMatch(/^Ran \d\d tests[^]*\nOK\n$/m)
  })

  if (isLongRun)
    it("does what its examples say", async () => {
      const environment = await asAccount("python-examples")
      const example = (name: string, ...words: ReadonlyArray<string>) =>
        run([join(source, "examples", name), ...words], { environment })
      expect(await example("remember.py", "I live in Lisbon")).toBe("said: I live in Lisbon\n")
      expect(await example("remember.py", "Where do I live?")).toContain("I live in Lisbon")
      expect(await example("together.py")).toBe("Bob bakes bread in Oslo\n")
      expect(await example("wallet.py")).toMatch(/has a memory: True\nsigned by the service: True\n$/)
    })

  it("shows code on its pages that runs, and in that of the handbook code that passes the strict type check", async () => {
    const environment = await asAccount("python-pages")
    const codeOf = (file: string) =>
      [...readFileSync(join(repository, file), "utf8").matchAll(/```python\n([^]*?)```/g)]
        .map(([, code]) => code)
        .join("\n")
    const readme = await run(["-c", codeOf("packages/python/README.md")], { environment })
    expect(readme).toContain("Alice lives in Seattle")
    const history = codeOf("packages/server/docs/history.md")
    const told = await run(["-c", history], { environment })
    expect(told).toMatch(/Mira lives in Lisbon[^]*Always answer in metric units[^]*\nhome Mira lives in Lisbon\n/)
    expect(told).toMatch(
      / extracted Mira moved to Porto[^]* extracted Mira lives in Lisbon\nMira lives in Lisbon\n-1 user I'm Mira/
    )
    const options = ["--strict", "--python-version", "3.10", "--cache-dir", join(directory, "mypy")]
    for (const code of [history, codeOf("packages/server/docs/context.md")])
      expect(await run(["-m", "mypy", ...options, "-c", code], { environment })).toContain("Success: no issues found")
  })
})
