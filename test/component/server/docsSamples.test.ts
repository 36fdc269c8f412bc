/** The samples of the page at `/docs`: each operation with its examples, in each language, as the clients have it. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { transform } from "esbuild"
import { expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { repository } from "../../support/TestServer.ts"

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: { readonly examples?: ReadonlyArray<unknown> }
  }>
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: { readonly examples: ReadonlyArray<object> } } }
  }
}

const { samples } = await import("../../../packages/server/src/docs/samples.js" as string)
const { paths } = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** As the forms of the page make them. */
const calls = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const fields = operation.parameters
      .filter(({ required }) => required)
      .map(({ in: place, name, schema }) => ({ name, place, isText: true, value: String(schema.examples?.[0]) }))
    const url = new URL(path.replaceAll(/\{\w+\}/g, "id"), "http://127.0.0.1:8787")
    const body = operation.requestBody?.content["application/json"].schema.examples[0]
    return {
      operation: { ...operation, path },
      fields,
      url,
      method: method.toUpperCase(),
      headers: { ...(body !== undefined && { "content-type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body, undefined, 2)
    }
  })
)

it("are TypeScript that parses, with methods that the client has", async () => {
  let byClient = 0
  for (const call of calls) {
    const text: string = samples.TypeScript(call)
    await transform(text, { loader: "ts" })
    const [, method] = /await muniment\.(\w+)\(/.exec(text) ?? []
    if (method === undefined) continue
    byClient++
    expect([call.operation.operationId, method in Muniment.prototype]).toEqual([call.operation.operationId, true])
  }
  expect(byClient).toBeGreaterThan(40)
})

it("are Python that parses, with methods and arguments that the client has", () => {
  const checker = `
import ast, json, sys
functions = {node.name: node.args for node in ast.parse(open(sys.argv[1]).read()).body if isinstance(node, ast.FunctionDef)}
faults = []
for text in json.load(sys.stdin):
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        if not (isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "muniment"):
            continue
        args = functions.get(call.func.attr)
        if args is None:
            faults.append(call.func.attr)
            continue
        known = [one.arg for one in args.args + args.kwonlyargs]
        faults += [f"{call.func.attr}: {one.arg}" for one in call.keywords if one.arg not in known]
        if len(call.args) > len(args.args):
            faults.append(f"{call.func.attr}: too many")
print(json.dumps(faults))`
  const functions = join(repository, "packages/python/src/muniment/_calls.py")
  const input = JSON.stringify(calls.map((call) => samples.Python(call)))
  const { stderr, stdout } = spawnSync("python3", ["-c", checker, functions], { input, encoding: "utf8" })
  expect([stdout.trim(), stderr]).toEqual(["[]", ""])
})

it("are commands of a shell that have the key from the environment", () => {
  for (const call of calls) {
    const text: string = samples.curl(call)
    const { stdout } = spawnSync("sh", ["-c", `curl() { for word in "$@"; do echo "$word"; done; }\n${text}`], {
      env: { PATH: process.env["PATH"], KEY: "secret" },
      encoding: "utf8"
    })
    expect(stdout).toContain(`${call.url.href}\n`)
    expect(stdout).toContain("Bearer secret")
    if (call.body !== undefined) expect(stdout).toContain(call.body)
  }
})

it("are loaded by the page as they are in the repository", () => {
  expect(readFileSync(join(repository, "packages/server/src/docs/page.js"), "utf8")).toContain('from "./samples.js"')
})
