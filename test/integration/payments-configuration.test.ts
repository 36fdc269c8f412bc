/** What the operator's configuration of payments does to a server; no chain is asked here. */
import { describe, expect, it } from "vitest"
import { evmAddresses, evmKeys } from "../../scripts/devchains/Wallets.ts"
import { failingStart } from "../support/FailingStart.ts"
import { fact } from "../support/MemoryCalls.ts"
import { depositPath, newDepositor, paymentHeader } from "../support/PaymentCalls.ts"
import { everyDay } from "../support/Repetitions.ts"
import { sharedServer, useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { startServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const unreachableUrl = "http://127.0.0.1:9"
const evmOnly = {
  MUNIMENT_PAYMENT_NETWORKS: "base-sepolia",
  MUNIMENT_EVM_PAY_TO: evmAddresses.payTo,
  MUNIMENT_EVM_OPERATOR_KEY: evmKeys.operator,
  MUNIMENT_EVM_RPC_URL: unreachableUrl
}

/** Of one write. */
const smallAllowance = { ...withoutModel, MUNIMENT_MONTHLY_ALLOWANCE: "5" }

describe("without networks and without an allowance of the operator's", () => {
  const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "" } })

  // 1,000 credits are 200 of these.
  it.each(everyDay(1, ["free", "starter", "pro"]))(
    "plan %s is never refused for credits, and every call is recorded",
    async (plan) => {
      const key = await server.newAccount(`bounded-${plan}`, plan)
      const write = (at: number) =>
        server.call("POST", "/v1/memories", {
          key,
          body: { agentId: "a", memories: [fact(`subject ${at}`, "is here")] }
        })
      const answers: Array<Awaited<ReturnType<typeof write>>> = []
      for (let from = 0; from < 220; from += 20) {
        answers.push(...(await Promise.all(Array.from({ length: 20 }, (_, at) => write(from + at)))))
      }
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      const [last] = answers.slice(-1)
      expect([last!.headers.get("x-credits-charged"), last!.headers.get("x-credits-remaining")]).toEqual([
        "5",
        "unlimited"
      ])
      const { body } = await server.call("GET", "/v1/credits", { key })
      expect(body).toMatchObject({ plan, allowance: { credits: null, monthly: null }, balance: { credits: 0 } })
      const { body: listed } = await server.call("GET", "/v1/credits/transactions", { key })
      expect(new Set(listed.transactions.map(({ purse }: { readonly purse: string }) => purse))).toEqual(
        new Set(["own-use"])
      )
      expect((await server.asOperator("GET", "/admin/ledger/check")).body).toMatchObject({ problems: [] })
    }
  )

  it("a wallet opens an account that is not refused either", async () => {
    const { call } = await newDepositor(server)
    const memory = { agentId: "a", memories: [fact("a", "b")] }
    expect((await call("POST", "/v1/memories", { body: memory })).headers.get("x-credits-remaining")).toBe("unlimited")
  })

  it("the start says so", () => {
    expect(server.output()).toMatch(/Credits: calls are recorded and not charged/)
  })
})

describe("the operator's look at an account", () => {
  it("shows the account's own plan and purses", async () => {
    const server = await sharedServer(smallAllowance)
    await server.newAccount("looked-at", "free")
    const look = (path: string, method = "GET", body?: object) =>
      server.call(method, path, {
        key: server.operatorToken,
        headers: { "x-account": server.nameOf("looked-at") },
        ...(body !== undefined && { body })
      })
    expect((await look("/v1/account")).body.account.plan).toBe("free")
    expect((await look("/v1/credits")).body).toMatchObject({ plan: "free", allowance: { credits: 5, monthly: 5 } })
    for (let at = 0; at < 3; at++) {
      const written = await look("/v1/memories", "POST", { agentId: "a", memories: [fact(`s ${at}`, "is here")] })
      expect([written.status, written.headers.get("x-credits-remaining")]).toEqual([200, "unlimited"])
    }
    expect((await look("/v1/credits")).body.allowance.credits).toBe(5)
  })
})

describe("without networks", () => {
  const server = useSharedServer(smallAllowance)

  it("a deposit is 403 without Retry-After, paid or not, and everything else works", async () => {
    const who = await newDepositor(server)
    for (const headers of [{}, paymentHeader("base-sepolia", {})]) {
      const { body, headers: answered, status } = await who.deposit(5, headers)
      expect([status, body.code, answered.get("retry-after")]).toEqual([403, "deposits_off", null])
    }
    const memory = { agentId: "a", memories: [fact("a", "b")] }
    expect((await who.call("POST", "/v1/memories", { body: memory })).status).toBe(200)
    expect((await who.call("GET", "/v1/credits")).body.balance).toEqual({ credits: 0, usd: 0 })
    expect((await server.call("GET", "/health/ready", { key: null })).status).toBe(200)
  })

  it("empty purses are told so, without a demand that names no way to pay", async () => {
    const who = await newDepositor(server)
    const memory = { agentId: "a", memories: [fact("a", "b")] }
    await who.call("POST", "/v1/memories", { body: memory })
    const { body, status } = await who.call("POST", "/v1/memories", { body: memory })
    expect([status, body.code, body.accepts]).toEqual([403, "insufficient_credits", undefined])
    expect(body.error).toContain("takes no deposits")
  })
})

it("a service behind a proxy names its resources by its public URL", async () => {
  const server = await startServer({
    environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_PUBLIC_URL: "https://memory.example.com/", ...evmOnly }
  })
  const who = await newDepositor(server)
  const { body } = await server.call("POST", depositPath(5), { key: who.secret })
  expect(body.accepts).toMatchObject([
    { network: "base-sepolia", resource: "https://memory.example.com/v1/credits/deposit" }
  ])
  expect(body.accepts).toHaveLength(1)
  await server.stop()
})

const mistakes: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, string]> = [
  ["an unknown network", { MUNIMENT_PAYMENT_NETWORKS: "base-mainnet" }, "MUNIMENT_PAYMENT_NETWORKS"],
  ["a key that is no key", { MUNIMENT_EVM_OPERATOR_KEY: `${evmKeys.operator}00` }, "MUNIMENT_EVM_OPERATOR_KEY"]
]
it.each(mistakes)(
  "%s stops the start by the name of its variable, without showing a key",
  async (_, changed, variable) => {
    const directory = temporaryDirectory()
    const { code, output } = await failingStart(directory, { ...evmOnly, ...changed })
    expect(code).not.toBe(0)
    expect(output).toContain(variable)
    expect(output).not.toContain(evmKeys.operator.slice(2))
  }
)
