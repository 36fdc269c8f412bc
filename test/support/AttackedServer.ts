/**
 * A server with an account that is attacked and one that has nothing to do with it, both with memories, a
 * kind and tools, and what must be the same of them before and after.
 */
import { expect } from "vitest"
import { type Injection, injections } from "./Injections.ts"
import { type McpCaller, mcpCaller } from "./McpCalls.ts"
import { accountCalls, fact, type MemoryCalls, schemaText, text } from "./MemoryCalls.ts"
import { startServer, type TestServer } from "./TestServer.ts"

type Json = Awaited<ReturnType<MemoryCalls["get"]>>

export interface AttackedServer {
  readonly server: TestServer
  /** Is attacked. */
  readonly alice: MemoryCalls
  /** Has nothing to do with it. */
  readonly bob: MemoryCalls
  readonly aliceTools: McpCaller
  readonly bobTools: McpCaller
}

export const attackedServer = async (environment: Readonly<Record<string, string>>): Promise<AttackedServer> => {
  const server = await startServer({ environment })
  const [alice, bob] = [await accountCalls(server, "alice"), await accountCalls(server, "bob")]
  for (const calls of [alice, bob]) {
    await calls.post("/v1/schemas", {
      name: "contact",
      description: "Somebody's address",
      schema: schemaText({ email: text }, { required: ["email"] }),
      uniqueOn: ["email"]
    })
    await calls.create("known", [
      fact("Alice", "Alice lives in Seattle"),
      fact("Alice", "Alice likes green tea"),
      { kind: "contact", data: { email: "alice@example.org" } }
    ])
  }
  const [aliceTools, bobTools] = [await mcpCaller(server, alice.key), await mcpCaller(server, bob.key)]
  return { server, alice, bob, aliceTools, bobTools }
}

const listed = async (calls: MemoryCalls, parameters = ""): Promise<Json> =>
  (await calls.call("GET", `/v1/memories?limit=100${parameters}`)).body

/** All that no attack may change. */
export const stateOf = async ({ alice, aliceTools, bob, bobTools }: AttackedServer): Promise<Json> => ({
  alice: [
    (await listed(alice, "&agentId=known")).memories,
    (await alice.call("GET", "/v1/schemas/contact")).body,
    (await alice.call("GET", "/v1/account")).body.account,
    (await aliceTools.tools()).filter(({ name }) => !isOfAttack(name))
  ],
  bob: [
    await listed(bob),
    (await bob.call("GET", "/v1/schemas")).body,
    (await bob.call("GET", "/v1/account")).body,
    await bobTools.tools()
  ]
})

/** The attacked account spends credits; the other pays for what this test itself reads of it. */
export const creditsOf = async (calls: MemoryCalls): Promise<number> =>
  (await calls.call("GET", "/v1/credits")).body.allowance.credits

const isOfAttack = (toolName: string): boolean => toolName.startsWith("write_attack_")
export const kindOf = ({ id }: Injection): string => `attack_${id.replaceAll("-", "_")}`

export const registerKind = async (calls: MemoryCalls, attack: Injection) => {
  const kind = { name: kindOf(attack), description: attack.text, schema: schemaText({ note: text, owner: text }) }
  const { body, status } = await calls.post("/v1/schemas", kind)
  expect(status, JSON.stringify(body)).toBe(200)
}

export const expectUntouched = async (attacked: AttackedServer, before: Json) => {
  expect(await stateOf(attacked)).toEqual(before)
  const { body } = await attacked.server.asOperator("GET", "/admin/ledger/check")
  expect(body, JSON.stringify(body)).toMatchObject({ ok: true, problems: [] })
  for (const attack of injections) {
    for (const word of attack.forbidden) expect(attacked.server.output(), attack.id).not.toContain(word)
  }
}
