/**
 * Two accounts, each full of a word of its own: no answer to one may hold a byte of the other. Every
 * route of the contract is called by the second account with everything that belongs to the first;
 * what is foreign answers exactly as what does not exist.
 */
import { beforeAll, describe, expect, it } from "vitest"
import type { Grant } from "@muniment/domain/Grant"
import { contractRoutes } from "../support/Contract.ts"
import type { Answer, CallOptions } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, signedGrant } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

/** What an account has: each text holds its canary, ids are made by the server. */
interface Tenant {
  readonly canary: string
  readonly key: string
  readonly ids: ReadonlyArray<string>
  readonly agentId: string
  readonly subjectId: string
  readonly threadId: string
  readonly schemaName: string
  /** By a wallet of the account, valid, and for somebody who is neither of the two. */
  readonly grant: Grant
  readonly keyId: string
  readonly hookId: string
  readonly cursor: string
  readonly accountId: string
}

/** How a route names things: those of a tenant, or others that nobody has. */
type Names = Pick<Tenant, "ids" | "agentId" | "subjectId" | "threadId" | "schemaName" | "grant" | "keyId" | "hookId">
type Calls = ReadonlyArray<readonly [path: string, options?: CallOptions]>

const server = useServer()
let victim: Tenant
let intruder: Tenant
let nobodysGrant: Grant

beforeAll(async () => {
  victim = await settle("canaryvictim")
  intruder = await settle("canaryintruder")
  nobodysGrant = await grantBy("nobody")
})

const schemaOf = (canary: string) =>
  JSON.stringify({
    type: "object",
    description: canary,
    properties: { key: { type: "string" }, [`${canary}field`]: { type: "string" } },
    required: ["key"]
  })

const grantBy = (name: string) => signedGrant(evmWallet(name), { g: "somebody else" })

const settle = async (canary: string): Promise<Tenant> => {
  const key = await server.newAccount(`${canary}-account`)
  const schemaName = `${canary}_kind`
  const agentId = `${canary}-agent`
  const [subjectId, threadId] = [`${canary}-subject`, `${canary}-thread`]
  const as = (body: unknown, headers: Readonly<Record<string, string>> = {}): CallOptions => ({ key, body, headers })
  const registered = { name: schemaName, description: canary, uniqueOn: ["key"], schema: schemaOf(canary) }
  expect((await server.call("POST", "/v1/schemas", as(registered))).status).toBe(200)
  const memories = [
    ...Array.from({ length: 5 }, (_, at) => ({
      kind: "factual_memory",
      data: { subject: `${canary} ${at}`, fact: `The secret word is ${canary}` }
    })),
    { kind: "temporal_event", data: { event: `${canary} meets a friend`, eventDate: "2026-05-05" } },
    { kind: schemaName, data: { key: canary, [`${canary}field`]: canary } }
  ]
  // With vectors, so that what a search explains is the same at each call.
  const body = { agentId, subjectId, threadId, memories, wait: "vectors" }
  const made = await server.call("POST", "/v1/memories", as(body, { "idempotency-key": "the same key" }))
  expect(made.status).toBe(200)
  const ids: ReadonlyArray<string> = made.body.created.map(({ id }: { readonly id: string }) => id)
  const tags = [`${canary}tag`]
  expect((await server.call("PATCH", `/v1/memories/${ids[0]}`, as({ tags }))).status).toBe(200)
  const said = { useful: true, query: `where is ${canary}` }
  expect((await server.call("POST", `/v1/memories/${ids[0]}/feedback`, as(said))).status).toBe(200)
  const page = await server.call("GET", "/v1/memories?limit=2", { key })
  const { body: who } = await server.call("GET", "/v1/account", { key })
  const cursor: string = page.body.nextCursor
  const keyId: string = (await server.call("GET", "/v1/keys", { key })).body.keys[0].id
  const grant = await grantBy(canary)
  const wallet = { account: `${canary}-account`, address: grant.p.f }
  expect((await server.asOperator("POST", "/admin/wallets", wallet)).status).toBe(200)
  // Paused: nothing is sent.
  const url = `https://${canary}.example.com/hook`
  const hookId: string = (await server.call("POST", "/v1/webhooks", as({ url }))).body.webhook.id
  expect((await server.call("PATCH", `/v1/webhooks/${hookId}`, as({ state: "paused" }))).status).toBe(200)
  const accountId: string = who.account.id
  return { canary, key, ids, agentId, subjectId, threadId, schemaName, grant, keyId, hookId, cursor, accountId }
}

const nobodys = (): Names => ({
  ids: ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", "mem_01KAJ8Q0V7E5XK9D2M4N6P8R1T"],
  agentId: "nobody-agent",
  subjectId: "nobody-subject",
  threadId: "nobody-thread",
  schemaName: "nobody_kind",
  grant: nobodysGrant,
  keyId: "key_nobody",
  hookId: "hook_nobody"
})

const filtersOf = ({ agentId, subjectId, threadId, schemaName }: Names): ReadonlyArray<Record<string, string>> => [
  { agentId },
  { subjectId },
  { threadId },
  { kind: schemaName },
  { agentId, subjectId, threadId, kind: schemaName }
]

const fact = (text: string) => ({ kind: "factual_memory", data: { subject: text, fact: text } })

/**
 * The calls that reach for what `names` names, route by route. A route of the contract that has none
 * fails the test: whoever adds a route says here how it could leak.
 */
const callsOf: Readonly<Record<string, (names: Names, word: string) => Calls>> = {
  "memories.create": ({ agentId, schemaName, ids }) => [
    ["/v1/memories", { body: { agentId: "mine", memories: [{ kind: schemaName, data: { key: "k" } }] } }],
    ["/v1/memories", { body: { agentId, memories: [{ ...fact("overwritten"), id: ids[0] }] } }],
    ["/v1/memories", { body: { agentId: "mine", memories: [{ ...fact("overwritten"), id: ids[0] }] } }]
  ],
  "memories.batchCreate": ({ agentId, schemaName, ids }) => [
    ["/v1/memories/batch/create", { body: { agentId: "mine", memories: [{ kind: schemaName, data: { key: "k" } }] } }],
    ["/v1/memories/batch/create", { body: { agentId, memories: [{ ...fact("overwritten"), id: ids[0] }] } }]
  ],
  "memories.list": (names, word) => [
    ...["data.subject", "data.key", "metadata.x"].map(
      (field) => [`/v1/memories?where=${encodeURIComponent(JSON.stringify({ [field]: { gte: word } }))}`] as const
    ),
    [`/v1/memories?feedback=given&includeSuperseded=true&agentId=${names.agentId}`],
    [`/v1/memories?asOf=2100-01-01T00:00:00Z&includeSuperseded=true&agentId=${names.agentId}`],
    ...filtersOf(names).map((filters) => [`/v1/memories?${new URLSearchParams(filters)}`] as const),
    [`/v1/memories?cursor=${encodeURIComponent(cursorAt(names.ids[0]!))}&agentId=${names.agentId}`]
  ],
  "memories.facets": (names, word) =>
    ["agents", "kinds", "subjects", "threads", "tags"].flatMap((facet): Calls => [
      [`/v1/memories/facets?facet=${facet}&contains=${word}`],
      ...filtersOf(names).map(
        (filters) => [`/v1/memories/facets?${new URLSearchParams({ ...filters, facet })}`] as const
      )
    ]),
  "memories.lookup": ({ agentId, subjectId, schemaName }, word) => [
    ["/v1/memories/lookup", { body: { agentId, subjectId, kind: schemaName, key: { key: word } } }],
    ["/v1/memories/lookup", { body: { agentId, subjectId, kind: "factual_memory", key: { subject: word } } }]
  ],
  "memories.extract": ({ schemaName }) => [
    ["/v1/memories/extract", { body: { conversation: [{ role: "user", content: "c" }], schemas: [schemaName] } }]
  ],
  "memories.search": (names, word) => [
    [`/v1/memories/search?query=${word}&agentId=${names.agentId}`],
    ...filtersOf(names).map(
      (filters) =>
        [
          `/v1/memories/search?${new URLSearchParams({ ...filters, query: word, explain: "true", limit: "100" })}`
        ] as const
    ),
    [`/v1/memories/search?query=${word}&agentId=${names.agentId}`, { headers: grantsHeader([names.grant]) }],
    [`/v1/memories/search?query=${word}&scope=shared&limit=100`, { headers: grantsHeader([names.grant]) }],
    [`/v1/memories/search?query=${word}&scope=own&tags=${word}tag&includeSuperseded=true&agentId=${names.agentId}`]
  ],
  // Without a language model the filters are all that could tell.
  "context.chat": ({ agentId, subjectId }, word) => [
    ["/v1/chat", { body: { agentId, subjectId, messages: [{ role: "user", content: word }] } }]
  ],
  "context.context": ({ agentId, grant, subjectId, threadId }, word) => {
    const context = (body: object, headers?: CallOptions["headers"]) =>
      ["/v1/context", { body, ...(headers !== undefined && { headers }) }] as const
    return [
      context({ agentId, subjectId }),
      context({ agentId, subjectId, threadId, query: word, format: "json" }),
      context({ subjectId, messages: [{ role: "user", content: word }] }),
      context({ query: word, scope: "shared" }, grantsHeader([grant])),
      context({ agentId, query: word }, grantsHeader([grant]))
    ]
  },
  "context.subjects": ({ agentId, subjectId }, word) => [
    [`/v1/subjects?agentId=${agentId}`],
    [`/v1/subjects?contains=${word}`],
    [
      `/v1/subjects?cursor=${Buffer.from(JSON.stringify({ after: subjectId })).toString("base64url")}&agentId=${agentId}`
    ]
  ],
  "context.profile": ({ agentId, subjectId }) => [
    [`/v1/subjects/${subjectId}/profile`],
    [`/v1/subjects/${subjectId}/profile?agentId=${agentId}`]
  ],
  "memories.searchByBody": (names, word) => {
    const search = (body: object, headers?: CallOptions["headers"]) =>
      ["/v1/memories/search", { body: { query: word, ...body }, ...(headers !== undefined && { headers }) }] as const
    return [
      search({ agentId: names.agentId }),
      search({ where: { or: [{ "data.subject": { gte: word } }, { "data.key": word }] } }),
      search({ asOf: 4_102_444_800_000, includeSuperseded: true, agentId: names.agentId }),
      search({ agentId: names.agentId }, grantsHeader([names.grant])),
      search({ scope: "shared", limit: 100 }, grantsHeader([names.grant])),
      search({ scope: "own", tags: [`${word}tag`], includeSuperseded: true, agentId: names.agentId })
    ]
  },
  "memories.get": ({ ids, grant }) =>
    ids.map((id) => [`/v1/memories/${id}`, { headers: grantsHeader([grant]) }] as const),
  "memories.history": ({ ids, grant }) =>
    ids.map((id) => [`/v1/memories/${id}/history`, { headers: grantsHeader([grant]) }] as const),
  "memories.restore": ({ ids }) => ids.map((id) => [`/v1/memories/${id}/restore`] as const),
  "memories.feedback": ({ ids }, word) =>
    ids.map((id) => [`/v1/memories/${id}/feedback`, { body: { useful: false, query: word } }] as const),
  "memories.update": ({ ids }) => ids.map((id) => [`/v1/memories/${id}`, { body: { tags: ["taken"] } }] as const),
  "memories.delete": ({ ids }) => [
    ...ids.map((id) => [`/v1/memories/${id}`] as const),
    [`/v1/memories/${ids[0]}`, { headers: { "idempotency-key": "the same key" } }]
  ],
  "memories.batchSearch": (names, word) => {
    const queries = filtersOf(names).map((filters) => ({ query: word, filters }))
    return [
      ["/v1/memories/batch/search", { body: { queries } }],
      ["/v1/memories/batch/search", { body: { queries }, headers: grantsHeader([names.grant]) }],
      ["/v1/memories/batch/search", { body: { queries, scope: "shared" }, headers: grantsHeader([names.grant]) }]
    ]
  },
  "memories.batchDelete": (names) => [
    ["/v1/memories/batch/delete", { body: { ids: names.ids } }],
    ["/v1/memories/batch/delete", { body: { ids: names.ids, dryRun: true } }],
    ["/v1/memories/batch/delete", { body: { filters: { agentId: names.agentId, where: { not: { "data.x": 1 } } } } }],
    ...filtersOf(names).flatMap((filters): Calls => [
      ["/v1/memories/batch/delete", { body: { filters, dryRun: true } }],
      ["/v1/memories/batch/delete", { body: { filters } }]
    ])
  ],
  "memories.batchUpdate": ({ ids }) => [["/v1/memories/batch/update", { body: { ids, update: { tags: ["taken"] } } }]],
  "schemas.register": () => [["/v1/schemas", { body: { name: "1 bad name", description: "d", schema: "{}" } }]],
  "schemas.trySchema": ({ schemaName }) => [["/v1/schemas/try", { body: { kind: schemaName, data: {} } }]],
  "schemas.listSchemas": () => [["/v1/schemas"]],
  "schemas.getSchema": ({ schemaName }) => [[`/v1/schemas/${schemaName}`]],
  "schemas.updateSchema": ({ schemaName }) => [[`/v1/schemas/${schemaName}`, { body: { description: "taken" } }]],
  "schemas.deleteSchema": ({ schemaName }) => [[`/v1/schemas/${schemaName}`]],
  "keys.listKeys": () => [["/v1/keys"]],
  "keys.createKey": ({ agentId }) => [["/v1/keys", { body: { agents: [agentId], expiresIn: "no time" } }]],
  "keys.revokeKey": ({ keyId }) => [[`/v1/keys/${keyId}`]],
  "events.events": ({ agentId }) => [
    [`/v1/events?agentId=${agentId}&from=oldest`],
    [`/v1/events?agentId=${agentId}`, { headers: { "last-event-id": "AQ" } }]
  ],
  "hooks.listHooks": () => [["/v1/webhooks"]],
  "hooks.createHook": () => [["/v1/webhooks", { body: { url: "https://localhost/hook" } }]],
  "hooks.getHook": ({ hookId }) => [[`/v1/webhooks/${hookId}`]],
  "hooks.changeHook": ({ hookId }) => [[`/v1/webhooks/${hookId}`, { body: { state: "paused" } }]],
  "hooks.removeHook": ({ hookId }) => [[`/v1/webhooks/${hookId}`]],
  "hooks.rotateHookSecret": ({ hookId }) => [[`/v1/webhooks/${hookId}/secret`]],
  "hooks.testHook": ({ hookId }) => [[`/v1/webhooks/${hookId}/test`]],
  "hooks.hookDeliveries": ({ hookId }) => [[`/v1/webhooks/${hookId}/deliveries`]],
  "hooks.repeatDeliveries": ({ hookId }) => [[`/v1/webhooks/${hookId}/deliveries/repeat`, { body: {} }]],
  "account.whoami": () => [["/v1/account"]],
  "account.statement": () => [["/v1/account/statement"], ["/v1/account/statement?format=csv"]],
  "account.requests": ({ agentId }) => [
    ["/v1/account/requests?operation=memories&limit=1000"],
    [`/v1/account/requests?caller=${agentId}`]
  ],
  "account.costs": () => [["/v1/account/costs"], ["/v1/account/costs?format=csv"]],
  "attestations.attest": (names, word) =>
    [
      ...[{ agentId: names.agentId }, { subjectId: names.subjectId }, { kind: names.schemaName }].flatMap((filters) => [
        { claim: "has_memories_matching", query: word, filters },
        { claim: "memory_count_gte", threshold: 0, filters }
      ]),
      { claim: "has_memories_matching", query: word, filters: { agentId: names.agentId, tags: [`${word}tag`] } },
      { claim: "has_schema", schemaName: names.schemaName }
    ].map((body) => ["/v1/attestations", { body }] as const),
  "attestations.revokeGrant": ({ grant }) => [["/v1/grants/revoke", { body: { grant } }]],
  "credits.deposit": () => [["/v1/credits/deposit"], ["/v1/credits/deposit?amount_usd=5"]],
  "credits.credits": () => [["/v1/credits"]],
  "credits.receipt": ({ agentId }) => [[`/v1/credits/payments/${agentId}/receipt`]],
  "credits.transactions": () => [["/v1/credits/transactions"]],
  "money.checkLedger": () => [["/admin/ledger/check"]],
  "money.adjust": ({ agentId }) => [
    ["/admin/ledger/adjustments", { body: { account: agentId, credits: 1, reason: "r", key: "k" } }]
  ],
  "money.listPayments": ({ agentId }) => [["/admin/payments"], [`/admin/payments?account=${agentId}`]],
  "money.receipt": ({ agentId }) => [[`/admin/payments/receipt?payment=${agentId}`]],
  "money.refundOffer": ({ agentId }) => [[`/admin/refunds?payment=${agentId}`]],
  "money.refund": ({ agentId }) => [["/admin/refunds", { body: { payment: agentId, authorization: "e30=" } }]],
  "money.statement": ({ agentId }) => [[`/admin/statement?account=${agentId}`]],
  "money.revenue": () => [["/admin/revenue"]],
  "money.costs": ({ agentId }) => [["/admin/costs"], [`/admin/costs?account=${agentId}`]],
  "money.reconcile": () => [["/admin/payments/reconcile"]],
  "money.setPlan": ({ agentId }) => [["/admin/accounts/plan", { body: { account: agentId, plan: "pro" } }]],
  "money.listJobs": () => [["/admin/jobs"]],
  "money.modelUsage": ({ agentId }) => [["/admin/models/usage"], [`/admin/models/usage?account=${agentId}`]],
  "money.runJobs": () => [["/admin/jobs/run", { body: {} }]],
  "accounts.suspend": ({ agentId }) => [["/admin/accounts/suspend", { body: { account: agentId } }]],
  "accounts.resume": ({ agentId }) => [["/admin/accounts/resume", { body: { account: agentId } }]],
  "accounts.erase": ({ agentId }) => [["/admin/accounts/erase", { body: { account: agentId } }]],
  "accounts.audit": () => [["/admin/audit"]],
  "accounts.requests": ({ agentId }) => [["/admin/requests"], [`/admin/requests?account=${agentId}`]],
  "accounts.quotas": ({ agentId }) => [["/admin/quotas"], [`/admin/quotas?account=${agentId}`]],
  "accounts.setQuotas": ({ agentId }) => [["/admin/quotas", { body: { account: agentId, limits: { keys: 0 } } }]],
  "accounts.unlinkWallet": ({ grant }) => [["/admin/wallets/unlink", { body: { address: grant.p.f } }]],
  "backups.listFiles": () => [["/admin/backups/files"]],
  "backups.copyFile": () => [["/admin/backups/copies?id=20261122T220000123Z-5f3a&file=control.db"]],
  "backups.state": () => [["/admin/backups"]],
  "backups.run": () => [["/admin/backups/runs"]],
  "backups.verify": () => [["/admin/backups/verifications"]],
  "backups.noteBackup": () => [["/admin/backups", { body: { id: "20261122T220000123Z-5f3a" } }]],
  "webhooks.listWebhooks": () => [["/admin/webhooks"]],
  "webhooks.resendWebhooks": () => [["/admin/webhooks/resend", { body: {} }]],
  "webhooks.testWebhook": () => [["/admin/webhooks/test"]],
  "sessions.createConsoleLink": () => [["/admin/console-links"]],
  "sessions.listSessions": () => [["/admin/sessions"]],
  "sessions.endSession": ({ agentId }) => [[`/admin/sessions/${agentId}`]],
  "operators.listOperators": () => [["/admin/operators"]],
  "operators.addOperator": () => [["/admin/operators", { body: { name: "intruder", role: "admin" } }]],
  "operators.changeOperator": () => [["/admin/operators/intruder", { body: { role: "admin" } }]],
  "operators.revokeOperator": () => [["/admin/operators/intruder"]],
  "admin.status": () => [["/admin/status"]],
  "admin.setInstructions": ({ agentId }) => [
    ["/admin/accounts/instructions", { body: { account: agentId, instructions: null } }]
  ],
  "admin.setRemember": ({ agentId }) => [["/admin/accounts/remember", { body: { account: agentId, remember: null } }]],
  "admin.createAccount": ({ agentId }) => [["/admin/accounts", { body: { name: agentId } }]],
  "admin.listAccounts": () => [["/admin/accounts"]],
  "admin.createKey": ({ agentId }) => [["/admin/keys", { body: { account: agentId } }]],
  "admin.listKeys": ({ agentId }) => [["/admin/keys"], [`/admin/keys?account=${agentId}`]],
  "admin.revokeKey": ({ agentId }) => [[`/admin/keys/${agentId}`]],
  "admin.linkWallet": ({ agentId, grant }) => [["/admin/wallets", { body: { account: agentId, address: grant.p.f } }]],
  "admin.rotateAttestationKey": () => [["/admin/attestation-keys/rotate"]],
  "admin.listAttestationKeys": () => [["/admin/attestation-keys"]],
  "admin.revokeAttestationKey": () => [
    ["/admin/attestation-keys/revoke", { body: { publicKey: `0x${"0".repeat(64)}` } }]
  ],
  "admin.exportMemories": ({ agentId }) => [[`/admin/export?account=${agentId}`]],
  "admin.importMemories": ({ agentId }) => [["/admin/import", { body: { account: agentId, records: [] } }]],
  "admin.listIndexes": ({ agentId }) => [["/admin/indexes"], [`/admin/indexes?account=${agentId}`]],
  "admin.series": () => [["/admin/series"], ["/admin/series?window=month"]],
  "admin.reembedProgress": () => [["/admin/reembed"]],
  "admin.reembed": () => [["/admin/reembed"]],
  "consolidations.list": ({ agentId }) => [["/admin/consolidations"], [`/admin/consolidations?account=${agentId}`]],
  "consolidations.run": ({ agentId }) => [["/admin/consolidations", { body: { account: agentId, dryRun: true } }]],
  "consolidations.undo": ({ agentId }) => [[`/admin/consolidations/${agentId}/undo`]],
  "admin.reread": ({ agentId }) => [["/admin/reread", { body: { account: agentId, dryRun: true } }]]
}

/** A cursor of the service's form that points at a memory. */
const cursorAt = (id: string): string =>
  Buffer.from(JSON.stringify({ createdAt: 2_000_000_000_000, id })).toString("base64url")

const withoutTimes = (body: { readonly attestation?: object }): object => {
  const timeless = { ...body, searchedAt: undefined }
  return body.attestation === undefined
    ? timeless
    : { ...timeless, signature: "", attestation: { ...body.attestation, issuedAt: 0, expiresAt: 0 } }
}

/** What the intruder was told, as one text, without what differs between any two answers. */
const told = ({ status, headers, body }: Answer): string => {
  const varying = new Set(["x-request-id", "date", "keep-alive", "connection", "x-credits-remaining"])
  const kept = [...headers].filter(([name]) => !varying.has(name))
  const text = typeof body === "string" ? body : JSON.stringify(withoutTimes(body))
  return `${status} ${JSON.stringify(kept)} ${text}`
}

/** The same with every name that the caller sent itself replaced by its kind. */
const withoutEchoes = (text: string, names: Names, word: string): string => {
  let plain = text
  for (const id of names.ids) plain = plain.replaceAll(id, "ID")
  for (const kind of ["agentId", "subjectId", "threadId", "schemaName"] as const) {
    plain = plain.replaceAll(names[kind], kind)
  }
  // What this machine needs for a search is measured anew between two calls, and says nothing of tenants.
  const timeless = plain
    .replaceAll(/"estimatedMicros":[\d.e+-]+/g, '"estimatedMicros":0')
    .replaceAll(/"lastUsedAt":\d+/g, '"lastUsedAt":0')
    // Of the grant that the caller sent.
    .replaceAll(/"grantor":"0x[\da-f]+"/g, '"grantor":"SENT"')
  return timeless.replaceAll(word, "WORD").replace(/\["content-length","\d+"\]/, "")
}

const everything = async (tenant: Tenant): Promise<string> => {
  const paths = [
    "/v1/account",
    "/v1/schemas",
    "/v1/keys",
    "/v1/webhooks",
    "/v1/memories?limit=100&includeSuperseded=true"
  ]
  const answers = await Promise.all(paths.map((path) => server.call("GET", path, { key: tenant.key })))
  // These change with every call of the tenant's own.
  return JSON.stringify(answers.map(({ body }) => body)).replaceAll(/"lastUsedAt":\d+|"openRequests","used":\d+/g, "")
}

describe("of two accounts on one server", () => {
  it("each is probed on every route of the contract", () => {
    expect(Object.keys(callsOf).toSorted()).toEqual(contractRoutes.map(({ name }) => name).toSorted())
  })

  it.each(contractRoutes.map(({ name }) => name))(
    "one learns nothing of the other, and what is foreign answers as what is missing: %s",
    async (name) => {
      const route = contractRoutes.find((candidate) => candidate.name === name)!
      const before = await everything(victim)
      const foreign = callsOf[name]!(victim, victim.canary)
      const missing = callsOf[name]!(
        { ...nobodys(), ids: victim.ids.map((_, at) => nobodys().ids[at % 2]!) },
        "nobodysword"
      )
      for (const [at, [path, options]] of foreign.entries()) {
        const as = (more: CallOptions | undefined) => ({ ...more, key: intruder.key })
        // The log of the caller's own calls has the agents that these named.
        const toldOf = async (path: string, options: CallOptions | undefined) => {
          const text = told(await server.call(route.method, path, as(options)))
          return name === "account.requests" ? text.replaceAll(/"agentId":"[^"]+"/g, '"agentId":"SENT"') : text
        }
        const answer = await toldOf(path, options)
        const [missingPath, missingOptions] = missing[at]!
        const reference = await toldOf(missingPath, missingOptions)
        // A name that the caller sent may come back in its answer; nothing else of the victim may.
        const plain = withoutEchoes(answer, victim, victim.canary)
        expect(plain, path).toBe(withoutEchoes(reference, nobodys(), "nobodysword"))
        if (!`${path} ${JSON.stringify(options)}`.includes(victim.canary)) expect(answer).not.toContain(victim.canary)
        expect(answer).not.toContain(victim.accountId)
      }
      expect(await everything(victim)).toBe(before)
    }
  )

  it("no unfiltered read of one holds a byte of the other", async () => {
    const reads: ReadonlyArray<readonly [string, string, CallOptions?]> = [
      ["GET", "/v1/memories?limit=100&includeSuperseded=true"],
      ["GET", `/v1/memories?cursor=${encodeURIComponent(victim.cursor)}`],
      ["GET", "/v1/memories?order=asc&limit=100"],
      ["GET", "/v1/memories?feedback=useful"],
      ...["agents", "kinds", "subjects", "threads", "tags"].map(
        (facet) => ["GET", `/v1/memories/facets?facet=${facet}&includeSuperseded=true`] as const
      ),
      ["GET", "/v1/memories/search?query=secret+word&limit=100&explain=true"],
      ["GET", "/v1/memories/search?query=friend&eventDateFrom=2026-01-01&limit=100"],
      ["POST", "/v1/memories/batch/search", { body: { queries: [{ query: "secret word", limit: 100 }] } }],
      ["POST", "/v1/memories/batch/delete", { body: { filters: { kind: "factual_memory" }, dryRun: true } }],
      ["GET", "/v1/schemas"],
      ["GET", "/v1/webhooks"],
      ["GET", "/v1/account"]
    ]
    for (const [reader, other] of [
      [intruder, victim],
      [victim, intruder]
    ] as const) {
      for (const [method, path, options] of reads) {
        const answer = await server.call(method, path, { ...options, key: reader.key })
        expect(answer.status).toBe(200)
        const text = told(answer)
        expect(text, path).not.toContain(other.canary)
        for (const id of other.ids) expect(text, path).not.toContain(id)
      }
    }
    const counted = await server.call("POST", "/v1/memories/batch/delete", {
      key: intruder.key,
      body: { filters: { kind: "factual_memory" }, dryRun: true }
    })
    expect(counted.body.deleted).toBe(5)
  })

  it("the same Idempotency-Key means different requests", async () => {
    const body = { agentId: "a", memories: [fact("another body under the key that the victim used")] }
    const headers = { "idempotency-key": "the same key" }
    const third = await server.newAccount("third account")
    const answer = await server.call("POST", "/v1/memories", { key: third, body, headers })
    expect(answer.status).toBe(200)
    expect(answer.headers.get("idempotency-replayed")).toBeNull()
    expect(told(answer)).not.toContain("canary")
  })

  it("a grant for somebody else opens nothing, nor does one made out to oneself that nobody signed", async () => {
    const { grant } = victim
    const forged = [grant.p.f, victim.accountId, victim.agentId].map((f) => ({
      ...grant,
      p: { ...grant.p, f, g: intruder.accountId }
    }))
    const headers = grantsHeader([grant, ...forged])
    const body = { queries: [{ query: "secret word", limit: 100 }], scope: "shared" }
    for (const answer of [
      await server.call("GET", "/v1/memories/search?query=secret+word&scope=shared", { key: intruder.key, headers }),
      await server.call("POST", "/v1/memories/batch/search", { key: intruder.key, headers, body })
    ]) {
      const hits = answer.body.memories ?? answer.body.results[0].memories
      expect([answer.status, hits, answer.body.sourceAttestations]).toEqual([200, [], undefined])
    }
  })

  it("the same agent, subject and unique key are different memories", async () => {
    const made = []
    for (const { key, schemaName, canary } of [victim, intruder]) {
      const data = { key: "shared", [`${canary}field`]: canary }
      const body = { agentId: "shared agent", subjectId: "shared subject", memories: [{ kind: schemaName, data }] }
      const answer = await server.call("POST", "/v1/memories", { key, body })
      expect(answer.body.created).toHaveLength(1)
      expect(answer.body.created[0].metadata.supersedes).toBeUndefined()
      made.push(answer.body.created[0].id)
    }
    for (const { key, canary } of [victim, intruder]) {
      const { body } = await server.call("GET", "/v1/memories?agentId=shared+agent", { key })
      expect(body.total).toBe(1)
      expect(JSON.stringify(body)).toContain(canary)
    }
    expect(new Set(made).size).toBe(2)
  })

  it("pages without credentials hold nothing of either", async () => {
    for (const path of [
      "/health/live",
      "/health/ready",
      "/.well-known/muniment-keys.json",
      "/metrics",
      "/openapi.json",
      "/docs",
      "/llms.txt",
      "/nothing"
    ]) {
      const answer = told(await server.call("GET", path, { key: null }))
      for (const { canary, accountId, ids } of [victim, intruder]) {
        for (const word of [canary, accountId, ...ids]) expect(answer, path).not.toContain(word)
      }
    }
    for (const { canary } of [victim, intruder]) expect(server.output()).not.toContain(canary)
  })
})
