/**
 * Global set-up of the system tests: servers shared by all test files that want the same environment. The first file
 * that asks for an environment starts its server; all are stopped at the end of the run. Test files run in processes
 * of their own, so they ask over loopback (`SharedServer.ts`).
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import type { TestProject } from "vitest/node"
import { leftOut, testNodes } from "./OneBox.ts"
import { startServer, type TestServer } from "./TestServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Answers `POST /`, an environment as JSON, with the URLs and the operator's token of its server. */
    readonly sharedServers: string
  }
}

export default async (project: TestProject) => {
  const closeDatabases = testNodes > 1 ? await (await import("./TestDatabases.ts")).openTestDatabases() : undefined
  if (testNodes > 1) console.log(leftOut())
  const started = new Map<string, Promise<TestServer>>()
  const serverFor = (environment: string): Promise<TestServer> => {
    const known = started.get(environment)
    if (known !== undefined) return known
    const starting = startServer({ environment: JSON.parse(environment) as Record<string, string> })
    started.set(environment, starting)
    return starting
  }
  const stopAll = async (): Promise<void> => {
    const all = [...started.values()]
    started.clear()
    await Promise.allSettled(all.map(async (starting) => (await starting).stop()))
  }
  const desk = createServer((request, response) => {
    text(request)
      .then(serverFor)
      .then(
        ({ nodes, operatorToken, url }) => response.end(JSON.stringify({ nodes, operatorToken, url })),
        (cause: unknown) => response.writeHead(500).end(String(cause))
      )
  })
  desk.listen(0, "127.0.0.1")
  await once(desk, "listening")
  project.provide("sharedServers", `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)
  // While watching, a server started before an edit would run the code before it.
  project.onTestsRerun(stopAll)
  return async () => {
    desk.close()
    await stopAll()
    await closeDatabases?.()
  }
}
