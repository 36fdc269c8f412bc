/**
 * The public conformance suite of MCP on the service's endpoint. Most of its scenarios call tools, resources and prompts
 * of the suite's own sample server by name, or want what the service does not offer: these are expected to fail, each
 * by name and with the reason. The suite fails on any other failure, and on one that is expected and passes.
 */
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "vitest"
import { sharedServer, withoutModel } from "../support/SharedServer.ts"

const suite = "@modelcontextprotocol/conformance@0.1.16"

const sampleTool = "calls a tool of the suite's sample server (test_...), which no other server has"
const sampleResource = "reads a resource of the suite's sample server (test://...)"
const samplePrompt = "gets a prompt of the suite's sample server (test_...)"
const noRequests = `${sampleTool}; the service never asks its clients anything`

const expectedFailures: Readonly<Record<string, string>> = {
  "logging-set-level": "the capability `logging` is not offered: an answer says all there is to say",
  "completion-complete": "the capability `completions` is not offered",
  "tools-call-simple-text": sampleTool,
  "tools-call-image": sampleTool,
  "tools-call-audio": sampleTool,
  "tools-call-embedded-resource": sampleTool,
  "tools-call-mixed-content": sampleTool,
  "tools-call-with-logging": sampleTool,
  "tools-call-error": sampleTool,
  "tools-call-with-progress": sampleTool,
  "tools-call-sampling": noRequests,
  "tools-call-elicitation": noRequests,
  "elicitation-sep1034-defaults": noRequests,
  "elicitation-sep1330-enums": noRequests,
  "server-sse-multiple-streams": "the endpoint has no sessions, and answers in JSON instead of streams",
  "resources-read-text": sampleResource,
  "resources-read-binary": sampleResource,
  "resources-templates-read": sampleResource,
  "resources-subscribe": "subscriptions are not offered: nothing is pushed (contract: MCP)",
  "resources-unsubscribe": "subscriptions are not offered: nothing is pushed (contract: MCP)",
  "prompts-get-simple": samplePrompt,
  "prompts-get-with-args": samplePrompt,
  "prompts-get-embedded-resource": samplePrompt,
  "prompts-get-with-image": samplePrompt
}

const folder = mkdtempSync(join(tmpdir(), "muniment-conformance-"))
writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }))
const run = (command: string, args: ReadonlyArray<string>) =>
  promisify(execFile)(command, args, { cwd: folder, env: { ...process.env, NODE_OPTIONS: "" } })
const missing = await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", suite]).then(
  () => "",
  (error: Error) => ` (skipped: npm cannot install the suite: ${error.message})`
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The suite sends no credentials: they are added on the way. `Host` and `Origin` of others pass as they come. */
const withCredentials = async (target: URL, key: string): Promise<Server> => {
  const relay = createServer((asked, answer) => {
    const own = asked.headers.host === `127.0.0.1:${(relay.address() as AddressInfo).port}`
    const hosted = { host: target.host, ...(asked.headers.origin !== undefined && { origin: target.origin }) }
    const headers = { ...asked.headers, authorization: `Bearer ${key}`, ...(own && hosted) }
    const options = { host: target.hostname, port: target.port, path: asked.url, method: asked.method, headers }
    const passed = request(options, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(answer)
    })
    passed.on("error", () => answer.destroy())
    asked.pipe(passed)
  })
  relay.listen(0, "127.0.0.1")
  await once(relay, "listening")
  return relay
}

describe.skipIf(missing !== "")(`the conformance suite of MCP${missing}`, () => {
  it("finds nothing but what is expected", async () => {
    const server = await sharedServer(withoutModel)
    const relay = await withCredentials(new URL(server.url), await server.newAccount("conformance", "owner"))
    const baseline = join(folder, "expected.yaml")
    writeFileSync(baseline, JSON.stringify({ server: Object.keys(expectedFailures) }))
    const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/mcp`
    const program = join(folder, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
    try {
      const { stdout } = await run(process.execPath, [program, "server", "--url", url, "--expected-failures", baseline])
      for (const name of ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list"]) {
        expect(stdout).toContain(`✓ ${name}: 1 passed, 0 failed`)
      }
      expect(stdout).toContain("✓ dns-rebinding-protection: 2 passed, 0 failed")
    } catch (error) {
      const { message, stdout = "" } = error as Error & { readonly stdout?: string }
      throw new Error(stdout === "" ? message : stdout, { cause: error })
    } finally {
      relay.close()
    }
  })
})
