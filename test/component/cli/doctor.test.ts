/** `doctor`: the trial goes through /v1 and leaves nothing; each thing that can be wrong has its finding. */
import { statusChecks } from "@muniment/cli/Checks"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import { describe, expect, it } from "vitest"
import { ModelServer } from "../../support/ModelServer.ts"
import { startWireServer, type WireAnswer, type WireRequest } from "../client/WireServer.ts"
import { healthy, ok, refused, runCli } from "./runCli.ts"

const key = { id: "key_9", account: "doctor", label: "", prefix: "mun_", createdAt: 0 }

const commitLog = {
  segments: 2,
  bytes: 2 ** 25,
  firstOrdinal: 1,
  lastOrdinal: 9,
  syncs: 4,
  isCurrent: true,
  isFull: false,
  damage: []
}

const erasure = {
  account: "acc_1",
  dryRun: false,
  startedAt: 0,
  finishedAt: 1,
  removed: { agents: 1, memories: 0, keys: 1, wallets: 0, schemas: 0, answers: 0 },
  files: { removed: [], left: [] },
  ledger: { closed: [], total: 0 }
}

/** A service in good health; `overrides` by method and path. */
const service =
  (overrides: Readonly<Record<string, WireAnswer>> = {}) =>
  ({ method, url }: WireRequest): WireAnswer => {
    const route = `${method} ${url.split("?")[0]}`
    const answers: Readonly<Record<string, WireAnswer>> = {
      "GET /admin/status": { status: 200, body: healthy },
      "GET /admin/accounts": ok({ accounts: [] }),
      "POST /admin/accounts/erase": ok({ erasure }),
      "POST /admin/keys": ok({ key, secret: "mun_trial" }),
      "DELETE /admin/keys/key_9": ok({ key, alsoRevoked: [] }),
      "POST /v1/memories": ok({ created: [{ id: "mem_9" }], updated: [] }),
      "GET /v1/memories/search": ok({ memories: [{ id: "mem_9" }], searchedAt: "now" }),
      "POST /v1/memories/batch/delete": ok({ deleted: 1 }),
      "DELETE /v1/memories/mem_9": ok({})
    }
    return overrides[route] ?? answers[route] ?? refused(404, "route_not_found", route)
  }

const routesOf = (requests: ReadonlyArray<WireRequest>): ReadonlyArray<string> =>
  requests.map(({ method, url }) => `${method} ${url.split("?")[0]}`)

describe("doctor's trial", () => {
  it("writes, searches and deletes in an account of its own, which it erases", async () => {
    const run = await runCli(["doctor"], service())
    expect(run.isSuccess).toBe(true)
    expect(routesOf(run.requests)).toEqual([
      "GET /admin/status",
      "GET /admin/accounts",
      "POST /admin/keys",
      "POST /v1/memories",
      "GET /v1/memories/search",
      "POST /v1/memories",
      "POST /v1/memories/batch/delete",
      "DELETE /v1/memories/mem_9",
      "POST /admin/accounts/erase"
    ])
    expect(run.out).toContain("rules read 1 memories")
    expect(run.requests[3]?.headers["authorization"]).toBe("Bearer mun_trial")
  })

  it("fails when the memory just written is not found, and cleans up all the same", async () => {
    const run = await runCli(
      ["doctor", "--json"],
      service({ "GET /v1/memories/search": ok({ memories: [], searchedAt: "now" }) })
    )
    expect(run.isSuccess).toBe(false)
    const { checks } = JSON.parse(run.out) as {
      readonly checks: ReadonlyArray<{ readonly name: string; readonly verdict: string }>
    }
    expect(checks.find(({ name }) => name === "search")?.verdict).toBe("fail")
    expect(routesOf(run.requests).slice(-2)).toEqual(["DELETE /v1/memories/mem_9", "POST /admin/accounts/erase"])
  })

  it("revokes its key when the write is refused, where its account was there before", async () => {
    const run = await runCli(
      ["doctor"],
      service({
        "GET /admin/accounts": ok({ accounts: [{ id: "acc_1", name: "doctor", plan: "free", createdAt: 0 }] }),
        "POST /v1/memories": refused(507, "insufficient_storage", "the disk is full")
      })
    )
    expect(run).toMatchObject({ isSuccess: false, out: expect.stringContaining("the disk is full") })
    expect(routesOf(run.requests).at(-1)).toBe("DELETE /admin/keys/key_9")
  })

  /** The second post of memories is the conversation. */
  const readingAnswered = (answer: WireAnswer) => {
    let posts = 0
    return runCli(["doctor"], (request) =>
      request.method === "POST" && request.url === "/v1/memories" && ++posts === 2 ? answer : service()(request)
    )
  }

  it("fails when the conversation cannot be read, and says where to look", async () => {
    const run = await readingAnswered(refused(400, "unknown_schema", "the model said no"))
    expect(run).toMatchObject({ isSuccess: false, out: expect.stringContaining("the model said no") })
    expect(run.out).toContain("MUNIMENT_LLM_")
  })

  it.each([
    ["model_timeout", "MUNIMENT_LLM_TIMEOUT_MILLIS"],
    ["model_truncated", "npm run muniment -- reread"]
  ])("fails where only rules can read, and says why and what to do: %s", async (code, remedy) => {
    const extractionProblem = { code, message: "the language model did not answer in time" }
    const run = await readingAnswered(ok({ created: [], updated: [], extraction: "partial", extractionProblem }))
    expect(run.isSuccess).toBe(false)
    expect(run.out).toMatch(/fail +extraction +the language model did not answer in time/)
    expect(run.out).toContain(remedy)
  })

  it("does not take a conversation that waits to be read for one in which nothing is found", async () => {
    const { isSuccess, out } = await readingAnswered(ok({ created: [], updated: [], extraction: "pending" }))
    expect(isSuccess).toBe(true)
    expect(out).toMatch(/warn +extraction +rules had not read a short conversation after \d+ ms/)
  })

  it("reports an account that could not be erased", async () => {
    const run = await runCli(
      ["doctor"],
      service({ "POST /admin/accounts/erase": refused(503, "overloaded", "calls have not ended") })
    )
    expect(run).toMatchObject({ isSuccess: false, out: expect.stringContaining("calls have not ended") })
  })
})

describe("doctor where rules read conversations", () => {
  const ollama = async () => {
    const server = await ModelServer.start()
    const models = ["qwen3:8b", "gemma3:4b", "nomic-embed-text:latest"].map((id) => ({ id, owned_by: "library" }))
    server.pages.set("/v1/models", { object: "list", data: models })
    server.pages.set("/api/version", { version: "0.12.3" })
    return server
  }
  const run = (ports: ReadonlyArray<number>, reader = "rules", ...args: ReadonlyArray<string>) =>
    runCli(
      ["doctor", ...args],
      service({
        "GET /admin/status": { status: 200, body: { ...healthy, extraction: { ...healthy.extraction, reader } } }
      }),
      undefined,
      ports
    )

  it("finds a language model on this machine, and shows the lines that turn it on", async () => {
    const server = await ollama()
    const { out } = await run([server.port])
    expect(out).toContain(`Ollama answers at ${server.baseUrl("openai-compatible")} (also gemma3:4b).`)
    expect(out.split("\n")).toEqual(
      expect.arrayContaining([
        "export MUNIMENT_LLM_PROVIDER=openai-compatible",
        `export MUNIMENT_LLM_BASE_URL=${server.baseUrl("openai-compatible")}`,
        "export MUNIMENT_LLM_MODEL=qwen3:8b"
      ])
    )
    const { languageModels } = JSON.parse((await run([server.port], "rules", "--json")).out)
    expect(languageModels).toMatchObject([{ name: "Ollama", models: ["qwen3:8b", "gemma3:4b"] }])
    await server.close()
  })

  it("says nothing of a port where nothing listens, or something else does", async () => {
    await using web = await startWireServer(() => ({ status: 200, body: "<html>an application</html>" }))
    const gone = await ModelServer.start()
    const { port } = gone
    await gone.close()
    const { out } = await run([Number(new URL(web.url).port), port])
    expect(web.requests.map(({ url }) => url)).toEqual(["/v1/models"])
    expect(out).not.toContain("MUNIMENT_LLM_PROVIDER")
  })

  it("does not look for one when one is configured", async () => {
    const server = await ollama()
    expect((await run([server.port], "gpt-4.1-mini")).out).not.toContain("Ollama")
    await server.close()
  })
})

it("doctor waits for a model that is being loaded", async () => {
  const loading = { ...healthy, embedding: { model: "m", ready: false, detail: "m: loading", pending: 0 } }
  const run = await runCli(["doctor"], (request, index) =>
    index === 0 ? { status: 200, body: loading } : service()(request)
  )
  expect(routesOf(run.requests).slice(0, 3)).toEqual(["GET /admin/status", "GET /admin/status", "GET /admin/accounts"])
  expect(run.out).not.toContain("warn")
})

const network = {
  network: "base",
  isReachable: true,
  nodes: [],
  problems: [],
  isOffered: true,
  feeBalance: 0.1,
  booksUsd: 5,
  payeeUsd: 5
} as const

const webhook = { isConfigured: true, pending: 0, oldestSeconds: 0, failed: 0 }

describe("doctor's findings", () => {
  const verdictOf = (status: Partial<ServiceStatus>, name: string) =>
    statusChecks({ ...healthy, ...status }).find((check) => check.name === name)

  it("are all ok for a service in good health", () => {
    expect(new Set(statusChecks(healthy).map(({ verdict }) => verdict))).toEqual(new Set(["ok"]))
  })

  const cases: ReadonlyArray<readonly [string, Partial<ServiceStatus>, string, string]> = [
    ["service that is not ready", { ready: false }, "service", "fail"],
    ["missing model", { embedding: { model: null, ready: false, detail: "no files", pending: 0 } }, "model", "warn"],
    [
      "language model that does not answer",
      { extraction: { ...healthy.extraction, problem: { message: "no connection", remedy: "start it", since: 1 } } },
      "language model",
      "warn"
    ],
    ["memories without vector", { embedding: { model: "m", ready: false, detail: "", pending: 5 } }, "vectors", "warn"],
    ["missing hnswlib-node", { index: { engine: "hnsw", isAvailable: false, detail: "" } }, "index", "warn"],
    ["damaged file", { quarantined: [{ file: "a.db", reason: "malformed" }] }, "store", "fail"],
    [
      "file that the scrubber found damaged",
      {
        scrub: {
          ageSeconds: 60,
          isRunning: false,
          files: 3,
          damaged: [{ file: "control.db", reason: "table account: rot", isMended: false }]
        }
      },
      "scrubber",
      "fail"
    ],
    ["payment that waits", { payments: { oldestOpenSeconds: 3_600, networks: [network] } }, "payments", "warn"],
    [
      "node of payments that is away",
      { payments: { oldestOpenSeconds: 0, networks: [{ ...network, isReachable: false, isOffered: false }] } },
      "payments on base",
      "fail"
    ],
    [
      "empty wallet for fees",
      { payments: { oldestOpenSeconds: 0, networks: [{ ...network, feeBalance: 0, isOffered: false }] } },
      "payments on base",
      "fail"
    ],
    [
      "nodes of payments that do not send",
      {
        payments: {
          oldestOpenSeconds: 0,
          networks: [{ ...network, problems: [{ question: "broadcast", cause: "underpriced", since: 1 }] }]
        }
      },
      "payments on base",
      "warn"
    ],
    ["webhook that gave up", { webhooks: { ...webhook, failed: 2 } }, "webhooks", "fail"],
    ["webhook that has been away", { webhooks: { ...webhook, pending: 1, oldestSeconds: 3_600 } }, "webhooks", "warn"],
    ["message without a webhook", { webhooks: { ...webhook, isConfigured: false, pending: 1 } }, "webhooks", "warn"],
    ["clock that has stepped", { clockStep: { seenAt: 0, now: 1e9 } }, "clock", "warn"],
    ["control.db far before its log", { control: { behind: 5_000, checkedSeconds: null } }, "control.db", "warn"],
    ["damaged commit log", { commitLog: { ...commitLog, damage: ["record 7 is damaged"] } }, "commit log", "warn"],
    ["commit log without room", { commitLog: { ...commitLog, isFull: true } }, "commit log", "fail"],
    ["commit log that has ended", { commitLog: { ...commitLog, isCurrent: false } }, "commit log", "warn"],
    ["disk that is getting full", { disk: { freeBytes: 2 ** 29, ballastBytes: 0 } }, "disk", "warn"],
    ["full disk", { disk: { freeBytes: 2 ** 20, ballastBytes: 0 } }, "disk", "fail"],
    ["warning of the configuration", { warnings: ["host is 0.0.0.0"] }, "configuration", "warn"]
  ]
  it("say in words what nodes of payments do not do", () => {
    const detailOf = (question: "verify" | "sign" | "broadcast" | "look") => {
      const problems = [{ question, cause: "underpriced", since: 1 }]
      const networks = [{ ...network, problems }]
      return verdictOf({ payments: { oldestOpenSeconds: 0, networks } }, "payments on base")?.detail
    }
    expect(detailOf("look")).toMatch(/^its nodes do not say what became of transactions since 1970\S* .*: underpriced$/)
    expect(detailOf("verify")).toContain("do not check payments")
  })

  it.each(cases)("a %s is found: %j", (_, status, name, verdict) => {
    expect(verdictOf(status, name)).toMatchObject({ verdict, remedy: expect.stringMatching(/./) })
  })
})
