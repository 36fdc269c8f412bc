/**
 * Every code of the error catalogue (`packages/domain/src/Errors.ts`, contract: Errors) with the request that provokes
 * it. A code without a row fails the test, unless `elsewhere` says why, and which test provokes it.
 */
import { readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { makeFaultyDisk } from "../support/FaultyDisk.ts"
import { accountCalls, fact, schemaText, text, useAccount } from "../support/MemoryCalls.ts"
import { sharedServer, useSharedServer } from "../support/SharedServer.ts"
import { startServer, type Answer, type ServerCalls } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, walletHeaders, type Signing } from "../support/TrustCalls.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const unknownId = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"

const server = useSharedServer(environment)
const alice = useAccount(server, "alice")

beforeAll(async () => {
  await alice.post("/v1/schemas", contact)
})

const contact = { name: "contact", description: "d", uniqueOn: ["email"], schema: schemaText({ email: text }) }

const create = (memory: object, rest: object = {}) =>
  alice.post("/v1/memories", { agentId: "a", memories: [memory], ...rest })
const get = (path: string) => alice.call("GET", path)
const grant = { p: { f: evmWallet("grantor").wallet.address, g: "somebody", e: 2_000_000_000 }, s: "0x00", c: "evm" }
const withGrants = (header: string) =>
  alice.call("GET", "/v1/memories/search?query=q", { headers: { "x-grants": header } })
const signed = async (signing: Signing) =>
  server.call("GET", "/v1/account", {
    key: null,
    headers: await walletHeaders(evmWallet("w"), "GET", "/v1/account", "", signing)
  })
const bearer = (key: string | null) => server.call("GET", "/v1/account", { key })

/** Where callers are counted. */
const limited = () => sharedServer({ ...environment, MUNIMENT_RATE_LIMITS: "on", MUNIMENT_CONSOLE: "off" })

/** A wallet has 10 requests a minute. */
const tooOften = async () => {
  const own = await limited()
  const signer = evmWallet("often")
  const ask = async () =>
    own.call("GET", "/v1/schemas", { key: null, headers: await walletHeaders(signer, "GET", "/v1/schemas", "") })
  // One is given back each six seconds.
  for (let sent = 0; sent < 200; sent++) {
    const answer = await ask()
    if (answer.status === 429) return answer
    expect(answer.status).toBe(200)
  }
  return ask()
}

const asNewcomer = async (own: ServerCalls, name: string) =>
  own.call("GET", "/v1/memories", { key: null, headers: await walletHeaders(evmWallet(name), "GET", "/v1/memories") })

const beyondQuota = async () => {
  const key = await server.newAccount("full")
  await server.asOperator("POST", "/admin/quotas", { account: server.nameOf("full"), limits: { schemas: 0 } })
  return server.call("POST", "/v1/schemas", { key, body: contact })
}

const readOnlyWrite = async () => {
  const made = await server.asOperator("POST", "/admin/keys", { account: server.nameOf("reader"), readOnly: true })
  return server.call("DELETE", `/v1/memories/${unknownId}`, { key: made.body.secret })
}

const viewerChange = async () => {
  const name = server.nameOf("looks").replaceAll(" ", "-")
  const { body } = await server.asOperator("POST", "/admin/operators", { name, role: "viewer" })
  return server.call("POST", "/admin/accounts", { key: body.secret, body: { name: "never" } })
}

const suspendedCall = async () => {
  const key = await server.newAccount("suspended")
  await server.asOperator("POST", "/admin/accounts/suspend", { account: server.nameOf("suspended") })
  return bearer(key)
}

const withCookie = (cookie: string) => server.call("GET", "/v1/memories", { key: null, headers: { cookie } })

const changeByForeignPage = async () => {
  const { body } = await server.asOperator("POST", "/admin/console-links")
  const link = body.link.url.split("#link=")[1]
  const { headers } = await server.call("POST", "/console/session", { key: null, body: { link } })
  const cookie = (headers.get("set-cookie") ?? "").split(";")[0]!
  return server.call("POST", "/admin/accounts", { key: null, headers: { cookie }, body: { name: "never" } })
}

/** Neither a console nor a sign-up. */
const closed = () => sharedServer({ ...environment, MUNIMENT_CONSOLE: "off", MUNIMENT_WALLET_SIGNUP: "off" })

const consoleOff = async () => (await closed()).call("POST", "/console/session", { key: null, body: { link: "x" } })

const signUpClosed = async () => asNewcomer(await closed(), "newcomer")

const signUpLimited = async () => {
  const own = await limited()
  for (let made = 0; made < Limits.signUpsPerClientHour; made++) {
    expect((await asNewcomer(own, `newcomer ${made}`)).status).toBe(200)
  }
  return asNewcomer(own, "one more")
}

const extract = (rest: object) =>
  alice.post("/v1/memories", { agentId: "a", conversation: [{ role: "user", content: "I am Ann." }], ...rest })

/** A conversation for a server with a language model, which cannot be reached. */
const modelServer = (more: Readonly<Record<string, string>>) =>
  sharedServer({ ...environment, MUNIMENT_LLM_PROVIDER: "openai-compatible", MUNIMENT_LLM_MODEL: "m", ...more })

const withModel = async (more: Readonly<Record<string, string>>) => {
  const own = await modelServer(more)
  // Nothing but the extraction: messages that are to be kept are stored in any case.
  const remember = "extracted"
  return own.call("POST", "/v1/memories", {
    body: { agentId: "a", remember, conversation: [{ role: "user", content: "I am Ann." }] }
  })
}

/** Networks that answer quotes and nothing else: nobody listens at the RPC. */
const payments = {
  MUNIMENT_PAYMENT_NETWORKS: "base-sepolia",
  MUNIMENT_EVM_PAY_TO: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  MUNIMENT_EVM_OPERATOR_KEY: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  MUNIMENT_EVM_RPC_URL: "http://127.0.0.1:9"
}

const withPayments = async (ask: (server: ServerCalls) => Promise<Answer>) =>
  ask(await sharedServer({ ...environment, ...payments, MUNIMENT_MONTHLY_ALLOWANCE: "0" }))

const withEmptyPurses = (own: ServerCalls) =>
  own.newAccount("poor").then((key) => own.call("GET", "/v1/memories/search?query=q", { key }))

const taken = () =>
  server.asOperator("POST", "/admin/ledger/adjustments", {
    account: server.nameOf("alice"),
    credits: -1,
    reason: "r",
    key: "k"
  })

interface Row {
  readonly status: number
  readonly provoke: () => Promise<Answer>
}

const rows: Readonly<Record<string, Row>> = {
  invalid_json: { status: 400, provoke: () => alice.call("POST", "/v1/memories", { rawBody: '{"agentId":' }) },
  invalid_request: { status: 400, provoke: () => alice.post("/v1/memories", { agentId: "a" }) },
  unknown_parameter: { status: 400, provoke: () => get("/v1/memories?subject_id=x") },
  invalid_duration: { status: 400, provoke: () => create(fact("a", "b"), { ttl: "0s" }) },
  invalid_expiry: { status: 400, provoke: () => create({ ...fact("a", "b"), expiresAt: "tomorrow" }) },
  invalid_tag: {
    status: 400,
    provoke: () => alice.call("PATCH", `/v1/memories/${unknownId}`, { body: { tags: [""] } })
  },
  unknown_kind: { status: 400, provoke: () => create({ kind: "unheard_of", data: {} }) },
  schema_validation_failed: { status: 400, provoke: () => create({ kind: "factual_memory", data: {} }) },
  unique_field_missing: { status: 400, provoke: () => create({ kind: "contact", data: {} }) },
  invalid_schema: { status: 400, provoke: () => alice.post("/v1/schemas", { ...contact, schema: "[]" }) },
  batch_too_large: {
    status: 400,
    provoke: () => alice.post("/v1/memories/batch/delete", { ids: Array(101).fill(unknownId) })
  },
  invalid_filters: { status: 400, provoke: () => alice.post("/v1/memories/batch/delete", { filters: {} }) },
  grants_required: { status: 400, provoke: () => get("/v1/memories/search?query=q&scope=shared") },
  invalid_grants_header: { status: 400, provoke: () => withGrants("not Base64!") },
  too_many_grants: {
    status: 400,
    provoke: () => withGrants(grantsHeader(Array.from({ length: 11 }, () => grant))["x-grants"]!)
  },
  limit_exceeded: { status: 400, provoke: () => schemasBeyondLimit() },
  missing_credentials: { status: 401, provoke: () => bearer(null) },
  invalid_api_key: { status: 401, provoke: () => bearer("mun_nobody") },
  invalid_signature: { status: 401, provoke: () => signed({ path: "/schemas" }) },
  timestamp_out_of_range: { status: 401, provoke: () => signed({ timestampMillis: Date.now() - 121_000 }) },
  builtin_schema: { status: 403, provoke: () => alice.call("DELETE", "/v1/schemas/factual_memory") },
  operator_only: { status: 403, provoke: () => get("/admin/status") },
  not_grantor: { status: 403, provoke: () => alice.post("/v1/grants/revoke", { grant }) },
  sign_up_closed: { status: 403, provoke: signUpClosed },
  key_scope: { status: 403, provoke: () => readOnlyWrite() },
  invalid_link: {
    status: 401,
    provoke: () => server.call("POST", "/console/session", { key: null, body: { link: "guessed" } })
  },
  session_ended: { status: 401, provoke: () => withCookie(`muniment_session_${new URL(server.url).port}=over`) },
  csrf: { status: 403, provoke: changeByForeignPage },
  console_off: { status: 403, provoke: consoleOff },
  consolidation_not_found: {
    status: 404,
    provoke: () => server.asOperator("POST", "/admin/consolidations/con_none/undo")
  },
  consolidation_off: { status: 409, provoke: () => server.asOperator("POST", "/admin/consolidations", {}) },
  operator_role: { status: 403, provoke: () => viewerChange() },
  operator_not_found: { status: 404, provoke: () => server.asOperator("DELETE", "/admin/operators/nobody") },
  operator_exists: {
    status: 409,
    provoke: () => server.asOperator("POST", "/admin/operators", { name: "operator", role: "viewer" })
  },
  session_not_found: { status: 404, provoke: () => server.asOperator("DELETE", "/admin/sessions/ses_nobody") },
  account_suspended: { status: 403, provoke: () => suspendedCall() },
  memory_not_found: { status: 404, provoke: () => get(`/v1/memories/${unknownId}`) },
  schema_not_found: { status: 404, provoke: () => get("/v1/schemas/unheard_of") },
  route_not_found: { status: 404, provoke: () => get("/v1/nothing/here") },
  account_not_found: { status: 404, provoke: () => server.asOperator("GET", "/admin/export?account=nobody") },
  key_not_found: { status: 404, provoke: () => server.asOperator("DELETE", "/admin/keys/nothing") },
  version_mismatch: {
    status: 412,
    provoke: async () => {
      const { body } = await create(fact("Ebba", "rows"), { agentId: "changed" })
      return alice.call("PATCH", `/v1/memories/${body.created[0].id}`, {
        body: { tags: [] },
        headers: { "if-match": '"x"' }
      })
    }
  },
  webhook_not_found: {
    status: 404,
    provoke: () => server.asOperator("POST", "/admin/webhooks/resend", { webhook: "nothing" })
  },
  webhook_not_configured: { status: 409, provoke: () => server.asOperator("POST", "/admin/webhooks/test") },
  no_language_model: { status: 409, provoke: () => server.asOperator("POST", "/admin/reread", {}) },
  wallet_not_found: {
    status: 404,
    provoke: () =>
      server.asOperator("POST", "/admin/wallets/unlink", { address: evmWallet("never linked").wallet.address })
  },
  method_not_allowed: { status: 405, provoke: () => alice.call("PUT", "/v1/memories") },
  schema_exists: { status: 409, provoke: () => alice.post("/v1/schemas", contact) },
  kind_mismatch: { status: 409, provoke: () => replaceByAnotherKind() },
  idempotency_conflict: { status: 409, provoke: () => sameKeyOtherBody() },
  id_conflict: { status: 409, provoke: () => importUnderAnotherAgent() },
  account_exists: {
    status: 409,
    provoke: () => server.asOperator("POST", "/admin/accounts", { name: server.nameOf("alice") })
  },
  payload_too_large: {
    status: 413,
    provoke: () => alice.call("POST", "/v1/memories", { rawBody: "x".repeat(1_048_577) })
  },
  quota_exceeded: { status: 413, provoke: () => beyondQuota() },
  invalid_amount: { status: 400, provoke: () => alice.post("/v1/credits/deposit?amount_usd=0.09", {}) },
  insufficient_balance: { status: 409, provoke: taken },
  rate_limited: { status: 429, provoke: tooOften },
  sign_up_limited: { status: 429, provoke: signUpLimited },
  deposits_off: { status: 403, provoke: () => alice.post("/v1/credits/deposit", {}) },
  // Where payments are taken it is a 402, see `paymentRows`.
  insufficient_credits: {
    status: 403,
    provoke: async () => withEmptyPurses(await sharedServer({ ...environment, MUNIMENT_MONTHLY_ALLOWANCE: "0" }))
  },
  unsupported_media_type: {
    status: 415,
    provoke: () => alice.call("POST", "/v1/memories", { rawBody: "{}", headers: { "content-type": "text/plain" } })
  },
  internal_error: { status: 500, provoke: async () => (await afterDamage()).row },
  unknown_schema: { status: 400, provoke: () => extract({ schemas: ["unheard_of"] }) },
  // Nobody listens there.
  extraction_unavailable: { status: 503, provoke: () => withModel({ MUNIMENT_LLM_BASE_URL: "http://127.0.0.1:9/v1" }) },
  backup_not_configured: {
    status: 409,
    provoke: async () => (await sharedServer(environment)).asOperator("POST", "/admin/backups/runs")
  },
  model_unavailable: {
    status: 503,
    provoke: async () => {
      const own = await modelServer({ MUNIMENT_LLM_BASE_URL: "http://127.0.0.1:9/v1" })
      return own.call("POST", "/v1/chat", { body: { messages: [{ role: "user", content: "Hello" }] } })
    }
  },
  model_budget_exhausted: { status: 429, provoke: () => withModel({ MUNIMENT_LLM_TOKENS_PER_DAY: "1" }) },
  namespace_unavailable: { status: 503, provoke: async () => (await afterDamage()).file },
  control_unavailable: { status: 503, provoke: () => failingControl() },
  overloaded: { status: 503, provoke: () => overload() }
}

/** Answers of status 402 have a shape of their own (contract: Payments). */
const paymentRows: Readonly<Record<string, () => Promise<Answer>>> = {
  payment_required: () => withPayments((own) => own.call("POST", "/v1/credits/deposit")),
  payment_invalid: () =>
    withPayments((own) => own.call("POST", "/v1/credits/deposit", { headers: { "x-payment": "not Base64!" } })),
  insufficient_credits: () => withPayments(withEmptyPurses)
}

/** Codes that no request of this file can provoke here, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  payment_unavailable: "a chain that is away: payments-faults.test.ts",
  // The row above is its 413.
  quota_exceeded: "as 429 needs open requests: test/integration/quotas.test.ts",
  payment_pending: "needs a chain: test/integration/payments-faults.test.ts",
  payment_already_used: "needs a chain: test/integration/payments-faults.test.ts",
  audience_required: "needs a setting of its own: test/integration/trust-audience.test.ts",
  wrong_audience: "needs the extended text: test/integration/trust-audience.test.ts",
  not_refundable: "needs a chain: test/integration/payments-refund.test.ts",
  payment_not_found: "needs a chain: test/integration/payments-refund.test.ts",
  consolidation_superseded: "needs a language model: test/integration/consolidation.test.ts",
  erasure_open: "needs a call under way: test/integration/account-erasure.test.ts",
  cluster_backup: "needs several nodes: test/integration/openapi-examples.test.ts with MUNIMENT_TEST_NODES",
  request_timeout: "needs a request that does not come: test/integration/unread-requests.test.ts",
  expectation_failed: "no client sends it: test/integration/unread-requests.test.ts",
  headers_too_large: "its connection ends: test/integration/unread-requests.test.ts",
  clock_step: "needs a clock of its own: test/integration/storage-insurance.test.ts",
  insufficient_storage: "needs a disk of its own: test/crash/FullDisk.test.ts"
}

describe("the error catalogue", () => {
  it("has a row for every code that the contract declares, and none for others", async () => {
    const declared = Object.values(await import("@muniment/domain/Errors")).flatMap((error) =>
      typeof error === "function" && "fields" in error && "code" in error.fields ? [...error.fields.code.literals] : []
    )
    expect([...Object.keys(rows), ...Object.keys(paymentRows), ...Object.keys(elsewhere)].toSorted()).toEqual(
      declared.toSorted()
    )
  })

  it.each(Object.entries(rows))(
    "%s: answers with its status, a text, its code and nothing of the inside",
    async (code, { status, provoke }) => {
      const { status: answered, headers, body } = await provoke()
      expect([answered, body.code]).toEqual([status, code])
      expect(body).toMatchObject({ success: false, error: expect.stringMatching(/\S/) })
      expect(["success", "error", "code", "details", "quota"]).toEqual(expect.arrayContaining(Object.keys(body)))
      for (const detail of body.details ?? []) {
        expect(detail.message).toMatch(/\S/)
        expect(["index", "path", "message"]).toEqual(expect.arrayContaining(Object.keys(detail)))
      }
      expect(JSON.stringify(body)).not.toMatch(/\bat \w+.*:\d+|sqlite|node_modules|\/packages\/|memory_schema/i)
      expect(headers.get("content-type")).toMatch(/^application\/json/)
      expect(headers.get("x-request-id")).toMatch(/\S/)
    }
  )

  it.each(Object.entries(paymentRows))(
    "%s: answers 402 with the protocol's version first and ways to pay",
    async (code, provoke) => {
      const { status, headers, body } = await provoke()
      expect([status, body.code]).toEqual([402, code])
      expect(Object.keys(body)[0]).toBe("x402Version")
      expect(body.accepts).toHaveLength(1)
      expect(body.error).toMatch(/\S/)
      expect(headers.get("payment-required")).toMatch(/\S/)
    }
  )

  it("stored nothing of all that was refused", async () => {
    const { body } = await get("/v1/account")
    expect(body.agents).toEqual([
      { agentId: "changed", memories: 1 },
      { agentId: "replaced", memories: 1 },
      { agentId: "twice", memories: 1 }
    ])
  })
})

const schemasBeyondLimit = async () => {
  const bob = await accountCalls(server, "bob")
  for (let at = 0; at < 200; at++) await bob.post("/v1/schemas", { ...contact, name: `s${at}` })
  return bob.post("/v1/schemas", { ...contact, name: "one_more" })
}

const replaceByAnotherKind = async () => {
  const [{ id }] = await alice.create("replaced", [fact("a", "b")])
  return create({ kind: "temporal_event", data: { event: "e" }, id }, { agentId: "replaced" })
}

const sameKeyOtherBody = async () => {
  const send = (what: string) =>
    alice.post("/v1/memories", { agentId: "twice", memories: [fact("a", what)] }, { "idempotency-key": "one" })
  await send("first")
  return send("second")
}

const importUnderAnotherAgent = async () => {
  const carol = await accountCalls(server, "carol")
  await carol.create("first", [fact("a", "b")])
  const exported = await server.asOperator("GET", `/admin/export?account=${server.nameOf("carol")}`)
  const records = exported.body.records.map((record: object) => ({ ...record, agentId: "second" }))
  return server.asOperator("POST", "/admin/import", { account: server.nameOf("carol"), records })
}

/** Answers after the file of a namespace was overwritten, and a row of the control database, while no server ran. */
interface Damaged {
  readonly file: Answer
  readonly row: Answer
}
let damaged: Promise<Damaged> | undefined
const afterDamage = (): Promise<Damaged> => (damaged ??= damage())

const damage = async (): Promise<Damaged> => {
  const dataDirectory = temporaryDirectory()
  const options = { dataDirectory, environment, oneBox: "directoryFiles" } as const
  const first = await startServer(options)
  const write = (agentId: string) =>
    first.call("POST", "/v1/memories", { body: { agentId, memories: [fact("a", "b")] } })
  await write("a")
  const files = readdirSync(dataDirectory, { recursive: true, encoding: "utf8" })
  const own = files.filter((file) => /namespaces.*\.db$/.test(file)).map((file) => join(dataDirectory, file))
  expect(own).toHaveLength(1)
  // A service with most of its agents set aside is not ready.
  for (const sound of ["b", "c", "d"]) await write(sound)
  const key = await first.newAccount("keeper", "pro")
  expect((await first.call("POST", "/v1/schemas", { key, body: contact })).status).toBe(200)
  await first.stop()
  for (const file of own) writeFileSync(file, Buffer.alloc(statSync(file).size, "damage"))
  const control = new DatabaseSync(join(dataDirectory, "control.db"))
  control.exec("UPDATE memory_schema SET unique_on = '{'")
  control.close()
  const second = await startServer(options)
  const file = await second.call("GET", "/v1/memories?agentId=a")
  const row = await second.call("GET", "/v1/schemas", { key })
  await second.stop()
  return { file, row }
}

/** The disk refuses what is written to the control database. */
const failingControl = async () => {
  const disk = makeFaultyDisk()
  const own = await startServer({ environment: { ...environment, ...disk.environment }, oneBox: "faultyDisk" })
  disk.arm({ operation: "write", path: "control.db", fault: "EIO", times: 1_000_000 })
  const failed = await own.call("POST", "/v1/memories", { body: { agentId: "a", memories: [fact("a", "b")] } })
  disk.disarm()
  await own.stop()
  disk.remove()
  return failed
}

/** More at once than may wait here. */
const overload = async () => {
  const own = await sharedServer({ ...environment, MUNIMENT_QUEUE_WAIT_MILLIS: "1" })
  const dora = await accountCalls(own, "dora")
  for (;;) {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        dora.post("/v1/memories", { agentId: "a", memories: [fact("x", `${at}`)] })
      )
    )
    const refused = answers.find(({ status }) => status === 503)
    if (refused !== undefined) return refused
  }
}
