/**
 * A server that other test files use at the same time. Accounts isolate them: a name given to `newAccount` belongs to
 * this handle alone. What concerns the whole server (its metrics, its log, its end) needs a server of the test's own.
 */
import { randomUUID } from "node:crypto"
import { inject } from "vitest"
import { beforeTests } from "./beforeTests.ts"
import { callsOf, type ServerCalls, type TestServer } from "./TestServer.ts"

/** Calls without a key come from an account on the owner's plan that belongs to this handle. */
export const sharedServer = async (environment: Readonly<Record<string, string>> = {}): Promise<ServerCalls> => {
  const sorted = Object.entries(environment).sort(([left], [right]) => (left < right ? -1 : 1))
  const body = JSON.stringify(Object.fromEntries(sorted))
  const response = await fetch(inject("sharedServers"), { method: "POST", body })
  if (!response.ok) throw new Error(await response.text())
  const server = (await response.json()) as Pick<TestServer, "nodes" | "operatorToken" | "url">
  const handle = randomUUID().slice(0, 8)
  const { newAccount } = callsOf(server)
  const nameOf = (name: string) => `${name}-${handle}`
  const own = (name: string, plan?: string) => newAccount(nameOf(name), plan)
  return { ...callsOf(server, await own("operator", "owner")), nameOf, newAccount: own }
}

/** The same for the tests of a file or of a describe block. */
export const useSharedServer = (environment: Readonly<Record<string, string>> = {}): ServerCalls =>
  beforeTests(() => sharedServer(environment))

/** The environment of a server that needs no embedding model; it starts in a second. */
export const withoutModel = { MUNIMENT_EMBEDDING_MODEL: "none" }

/** Where callers are counted, each account by itself. */
export const limitedRates = { ...withoutModel, MUNIMENT_RATE_LIMITS: "on" }
