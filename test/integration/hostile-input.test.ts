/**
 * Bad input: a clear 4xx, nothing stored, the process alive and its event loop free. Here the known tricks one by one;
 * `hostile-requests.test.ts` makes up others.
 */
import { describe, expect, it } from "vitest"
import { contractRoutes } from "../support/Contract.ts"
import { withoutBlocking } from "../support/LivenessProbe.ts"
import { sendRaw } from "../support/RawHttp.ts"
import { everyDay } from "../support/Repetitions.ts"
import { operatorKey } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer()

const megabyte = 1_048_576
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
const memory = (data: string) => `{"agentId":"hostile","memories":[{"kind":"factual_memory","data":${data}}]}`
const bodyRoutes = contractRoutes.filter(({ body }) => body !== undefined)

const keyFor = ({ isOperators }: { readonly isOperators: boolean }) =>
  isOperators ? server.operatorToken : operatorKey

/** What the caller's account holds, as the service tells it. */
const holdings = async () => {
  const [account, schemas] = await Promise.all([server.call("GET", "/v1/account"), server.call("GET", "/v1/schemas")])
  return { agents: account.body.agents, schemas: schemas.body.schemas }
}

const empty = { agents: [], schemas: [] }

/** How a job is to be run, what a key of one's own may do, which messages are sent or read again. */
const mayBeEmpty = new Set([
  "money.runJobs",
  "keys.createKey",
  "webhooks.resendWebhooks",
  "admin.reread",
  "consolidations.run",
  "hooks.repeatDeliveries",
  "hooks.changeHook",
  "context.context"
])

describe("a body that is not good JSON", () => {
  const bodies: ReadonlyArray<readonly [string, string | Uint8Array]> = [
    ["cut off", '{"agentId":"a","memories":[{"kind":"factual_me'],
    ["no JSON at all", "hello"],
    ["two values", "{}{}"],
    ["a comma too many", '{"agentId":"a",}'],
    ["100,000 levels deep", nested(100_000)],
    ["100,000 open brackets", "[".repeat(100_000)],
    ["65 levels deep", nested(65)],
    ["the key __proto__", '{"agentId":"a","__proto__":{"isAdmin":true}}'],
    ["the key __proto__ in an escape", '{"agentId":"a","\\u005f_proto__":{"isAdmin":true}}'],
    ["a key twice", '{"agentId":"a","agentId":"b"}'],
    ["a key twice, once escaped", '{"agentId":"a","\\u0061gentId":"b"}'],
    ["half of a surrogate pair", '{"agentId":"\\ud800"}'],
    ["2^53+1", '{"agentId":"a","expiresAt":9007199254740993}'],
    ["2^53+1 with a point", '{"agentId":"a","expiresAt":9007199254740993.0}'],
    ["1e20, whose digits not every reader keeps", '{"agentId":"a","memories":[{"kind":"note","data":{"n":1e20}}]}'],
    ["a number beyond doubles", '{"agentId":"a","expiresAt":1e999}'],
    ["bytes that are not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ["UTF-16", new Uint8Array(Buffer.from('{"agentId":"a"}', "utf16le"))],
    ["a zero byte", '{"agentId":"a\0"}']
  ]

  it.each(bodies)("is refused as invalid_json by every route that takes one: %s", async (_, rawBody) => {
    for (const route of bodyRoutes) {
      const path = route.path.replace(/:\w+/, "x")
      const { status, body } = await server.call(route.method, path, { rawBody, key: keyFor(route) })
      expect({ route: route.name, status, code: body.code }).toEqual({
        route: route.name,
        status: 400,
        code: "invalid_json"
      })
    }
    expect(await holdings()).toEqual(empty)
  })

  it.each(["[]", "1", "null", '"text"', "true", "{}", '{"a":1}'])(
    "is refused by every route that requires a field when it is well-formed and of another shape: %s",
    async (rawBody) => {
      const requiring = bodyRoutes.filter(({ name }) => !mayBeEmpty.has(name) || !rawBody.startsWith("{"))
      for (const route of requiring) {
        const path = route.path.replace(/:\w+/, "x")
        const { status } = await server.call(route.method, path, { rawBody, key: keyFor(route) })
        expect({ route: route.name, status }).toEqual({ route: route.name, status: 400 })
      }
      expect(await holdings()).toEqual(empty)
    }
  )
})

describe("a field of another type", () => {
  const wrong = ["1", "null", "true", "[]", "{}", '""', "[[]]", "-1", "1e308"]
  const fields = ["agentId", "subjectId", "threadId", "memories", "ttl", "expiresAt", "conversation", "schemas"]

  it.each(fields)("is refused: %s", async (field) => {
    for (const value of wrong) {
      if (field === "schemas" && value === "[]") continue
      const rest = { agentId: '"hostile"', memories: '[{"kind":"no_such_kind","data":{}}]', [field]: value }
      const rawBody = `{${Object.entries(rest)
        .map(([name, text]) => `"${name}":${text}`)
        .join(",")}}`
      const { status } = await server.call("POST", "/v1/memories", { rawBody })
      expect({ rawBody, status }).toEqual({ rawBody, status: 400 })
    }
    expect(await holdings()).toEqual(empty)
  })

  it("is refused where numbers, dates and lists of a query string are meant", async () => {
    const queries = [
      "limit=1e400",
      "limit=0x10",
      "limit=-1",
      "limit=101",
      "limit=",
      "limit=NaN",
      "minRelevance=Infinity",
      "minRelevance=2",
      "rerank=sql",
      "rerank=",
      "rerank=model&rerank=model",
      "context=-1",
      "context=6",
      "context=1.5",
      "context=1e400",
      "context=",
      "context=true",
      "explain=maybe",
      "eventDateFrom=2026-99-99",
      "eventDateFrom=yesterday",
      "now=yesterday",
      "now=2026-01-31",
      "now=2026-01-31T09:30:00",
      "now=2026-02-31T25:00:00Z",
      "timeZone=Mars/Olympus",
      `timeZone=${"A".repeat(65)}`,
      "timeZone=",
      "mode=sql",
      "scope=everything",
      "tags=",
      `tags=${Array.from({ length: 33 }, (_, at) => `t${at}`).join(",")}`,
      `agentId=${"a".repeat(129)}`,
      "agentId="
    ]
    for (const query of queries) {
      const { status } = await server.call("GET", `/v1/memories/search?query=x&${query}`)
      expect({ query, status }).toEqual({ query, status: 400 })
    }
  })
})

describe("the versions of a memory, and feedback on it", () => {
  const id = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"

  it.each(["0", "-1", "101", "1e400", "0x10", "NaN", "", "1.5", "1&limit=2", "1&asOf=now", "1&__proto__=1"])(
    "are not listed by another limit than one from 1 to 100: %s",
    async (limit) => {
      const { body, status } = await server.call("GET", `/v1/memories/${id}/history?limit=${limit}`)
      expect([status, body.code]).toEqual([400, expect.stringMatching(/^(?:invalid_request|unknown_parameter)$/)])
    }
  )

  it.each([
    ["of a memory that is not there", id, 404],
    ["of no id", "x", 404],
    ["of an inherited name", "__proto__", 404],
    ["of an id in escapes", "%2e%2e%2fcontrol.db", 404],
    ["of half an escape", "%zz", 404],
    ["of an id of 10,000 characters", "a".repeat(10_000), 404]
  ])("are refused %s", async (_, named, expected) => {
    const calls = [
      ["GET", "history", {}],
      ["POST", "restore", {}],
      ["POST", "restore", { body: { data: {} } }],
      ["POST", "restore", { headers: { "if-match": '"another"' } }],
      ["POST", "feedback", { body: { useful: true, query: "q" } }]
    ] as const
    for (const [method, what, options] of calls) {
      const { body, status } = await server.call(method, `/v1/memories/${named}/${what}`, options)
      expect([what, status, body.success]).toEqual([what, expected, false])
    }
    expect(await holdings()).toEqual(empty)
  })

  it.each(["another", '"', 'W/"a', "*, *", '"a" "b"'])(
    "are not restored with an If-Match that is none: %s",
    async (tag) => {
      const headers = { "if-match": tag }
      expect((await server.call("POST", `/v1/memories/${id}/restore`, { headers })).status).toBe(400)
    }
  )

  it("take no feedback of another type, and no query that is empty or too long", async () => {
    const useful = ["1", "null", '"true"', "[]", "{}", '""']
    const queries = ["1", "true", "[]", "{}", '""', '" "', `"${"q".repeat(2_001)}"`, '"\\u0000", "query": "twice"']
    const bodies = [
      ...useful.map((value) => `{"useful":${value}}`),
      ...queries.map((value) => `{"useful":true,"query":${value}}`),
      '{"query":"q"}',
      '{"useful":true,"by":"key_1"}',
      '{"useful":true,"at":1}'
    ]
    for (const rawBody of bodies) {
      const { status } = await server.call("POST", `/v1/memories/${id}/feedback`, { rawBody })
      expect([rawBody, status]).toEqual([rawBody, 400])
    }
    expect(await holdings()).toEqual(empty)
  })
})

describe("data that is too much", () => {
  it("is refused with 413 when its declared length is above 1 MiB, before it is sent", async () => {
    const head = (length: number) =>
      `POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorKey}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{`
    for (const length of [megabyte + 1, 10_000_000_000, Number.MAX_SAFE_INTEGER]) {
      expect((await sendRaw(server.url, [head(length)])).status).toBe(413)
    }
  })

  it("is refused with 413 when it comes in chunks without end", async () => {
    const head = `POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`
    const { status } = await sendRaw(server.url, [head, ...new Array<string>(64).fill(chunk)])
    // Undefined: the server closed while the rest was still under way, which destroyed its answer.
    expect([413, undefined]).toContain(status)
    expect((await server.call("GET", "/health/live")).status).toBe(200)
  })

  it("blocks nobody while a body of nearly 1 MiB is looked through", async () => {
    const bodies = [
      `{"agentId":"hostile","memories":[${Array.from({ length: 100 }, () => `{"kind":"nope","data":{"x":"${"y".repeat(10_000)}"}}`).join(",")}]}`,
      `[${"0,".repeat(500_000)}0]`,
      `{${Array.from({ length: 65_000 }, (_, at) => `"k${at}":${at}`).join(",")}}`,
      `"${"\\u0041".repeat(170_000)}"`,
      `{"agentId":"hostile","memories":[${"{},".repeat(300_000)}{}]}`,
      `{"ids":[${'"a",'.repeat(250_000)}"a"]}`
    ]
    for (const rawBody of bodies) {
      for (const path of ["/v1/memories", "/v1/memories/batch/delete"]) {
        const { status } = await withoutBlocking(server, () => server.call("POST", path, { rawBody }))
        expect(status).toBe(400)
      }
    }
    expect(await holdings()).toEqual(empty)
  })
})

describe("names that every object inherits", () => {
  const inherited = ["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"]
  const text = { type: "string" }

  it("are unknown fields like others where a change is asked for: 400", async () => {
    const id = "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
    for (const name of inherited) {
      const tries = [
        ["PATCH", `/v1/memories/${id}`, { [name]: 1 }],
        ["PATCH", `/v1/memories/${id}`, { tags: ["t"], [name]: {} }],
        ["POST", `/v1/memories/${id}/feedback`, { useful: true, [name]: 1 }],
        ["PATCH", "/v1/schemas/contact", { [name]: 1 }],
        ["POST", "/v1/memories/batch/update", { ids: [id], update: { [name]: 1 } }],
        ["POST", "/v1/memories/batch/update", { ids: [id], update: { tags: ["t"] }, [name]: 1 }],
        ["POST", "/v1/memories/batch/delete", { filters: { [name]: 1 } }],
        ["POST", "/v1/memories", { agentId: "a", memories: [{ kind: name, data: {} }] }],
        ["POST", "/v1/memories", { agentId: "a", conversation: [{ role: name, content: "c" }] }],
        ["POST", "/v1/memories", { agentId: "a", conversation: [{ role: "user", content: "c" }], schemas: [name] }]
      ] as const
      for (const [method, path, body] of tries) {
        const { status } = await server.call(method, path, { body })
        expect([method, path, body, status]).toEqual([method, path, body, 400])
      }
    }
    expect(await holdings()).toEqual(empty)
  })

  it("are fields like others in a schema and in data: stored, replaced by uniqueOn, found, filled by rules", async () => {
    const key = await server.newAccount("inherits")
    const call = (method: string, path: string, body?: object) => server.call(method, path, { key, body })
    for (const name of inherited) {
      const schema = JSON.stringify({ type: "object", properties: { [name]: text, city: text } })
      const registered = { name, description: "Where a person lives", uniqueOn: [name], schema }
      expect([name, (await call("POST", "/v1/schemas", registered)).status]).toEqual([name, 200])
      const create = (data: object) => call("POST", "/v1/memories", { agentId: name, memories: [{ kind: name, data }] })
      const missing = await create({ city: "Seattle" })
      expect([name, missing.status, missing.body.code]).toEqual([name, 400, "unique_field_missing"])
      const [old] = (await create({ [name]: "one", city: "Seattle" })).body.created
      const [fresh] = (await create({ [name]: "one", city: "Boston" })).body.created
      expect(fresh.metadata.supersedes).toBe(old.id)
      const found = await call("GET", `/v1/memories/search?query=Boston&kind=${name}`)
      expect(found.body.memories.map(({ id }: { id: string }) => id)).toEqual([fresh.id])
      const told = await call("POST", "/v1/memories", {
        agentId: "told",
        schemas: [name],
        conversation: [{ role: "user", content: "My name is Alice and I live in Seattle." }]
      })
      expect([name, told.status]).toEqual([name, 200])
    }
  })
})

describe("paths and headers", () => {
  const bearer = `host: x\r\nauthorization: Bearer ${operatorKey}\r\n`
  const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\n${bearer}${headers}\r\n`

  it.each([
    "/v1/memories/../../etc/passwd",
    "/v1/memories/%2e%2e%2f%2e%2e%2fcontrol.db",
    "/v1/memories/%00",
    "/v1/memories/%ff%fe",
    "/v1/memories/%",
    "/v1/memories/%zz",
    "/v1//memories",
    "/V1/account",
    "/v1/account/",
    "/v1/memories/mem_ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
    `/v1/memories/${"a".repeat(10_000)}`,
    "//evil.example/v1/account/x",
    "/v1/schemas/__proto__",
    "/v1/schemas/constructor",
    "/v1/schemas/%F0%9F%92%A9",
    "/admin/../v1/nothing"
  ])("that lead nowhere answer with a 4xx and the shape of an error: %s", async (target) => {
    const { status, text } = await sendRaw(server.url, [get(target)])
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({ success: false })
  })

  it("with several hosts are refused, whichever comes first, and the connection ends", async () => {
    for (const hosts of ["host: localhost\r\nHost: evil.example", "HOST: evil.example\r\nhost: localhost"]) {
      const token = `authorization: Bearer ${server.operatorToken}`
      const request = `GET /admin/status HTTP/1.1\r\n${hosts}\r\n${token}\r\n\r\n`
      const { status, text } = await sendRaw(server.url, [request])
      expect(status).toBe(400)
      expect(text).toMatch(/\r\nconnection: close\r\n/i)
      expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({
        success: false,
        code: "invalid_request"
      })
    }
  })
})

describe("a hostile full-text query", () => {
  it("is a text like any other: it answers 200 and blocks nobody", async () => {
    const made = await server.call("POST", "/v1/memories", { rawBody: memory('{"subject":"s","fact":"The cat sat"}') })
    expect(made.status).toBe(200)
    const queries = [
      '"',
      '""""',
      "'",
      "cat OR",
      "AND AND AND",
      "NOT cat",
      "NEAR(cat sat, 5)",
      "NEAR(",
      "text:cat",
      "{text tags}: cat",
      "rowid:1",
      "^cat",
      "cat*",
      "*",
      "-",
      "(((((((((",
      "cat + sat",
      "'; DROP TABLE memory; --",
      "cat\0sat",
      "\u202Ecat",
      "\uFFFF",
      "💩".repeat(900),
      "a ".repeat(999),
      "*".repeat(2_000),
      Array.from({ length: 660 }, (_, at) => at.toString(36))
        .join(" ")
        .slice(0, 2_000)
    ]
    // The first one loads a vocabulary.
    await server.call("POST", "/v1/context", { body: {} })
    for (const query of queries) {
      const path = `/v1/memories/search?query=${encodeURIComponent(query)}`
      const { status } = await withoutBlocking(server, () => server.call("GET", path))
      expect({ query, status }).toEqual({ query, status: 200 })
    }
    for (const query of everyDay(8, queries.toReversed())) {
      const handed = await withoutBlocking(server, () => server.call("POST", "/v1/context", { body: { query } }))
      expect({ query, status: handed.status }).toEqual({ query, status: 200 })
    }
    const tooLong = await server.call("GET", `/v1/memories/search?query=${"q".repeat(2_001)}`)
    expect(tooLong.status).toBe(400)
  })
})

describe("headers of trust that mean no good", () => {
  const address = "0x1563915e194d8cfba1943570603f7606a3115508"
  const coded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64")
  const grantWith = (rest: object) => ({
    p: { f: address, g: "x", e: 4_000_000_000 },
    s: `0x${"11".repeat(64)}1b`,
    c: "evm",
    ...rest
  })

  it("as grants answer 200 or 400, and block nobody", async () => {
    const headers = [
      coded(Array(10).fill(grantWith({ s: "1".repeat(900) }))),
      coded(Array(10).fill(grantWith({ c: "sol", p: { f: "1".repeat(44), g: "1".repeat(44), e: 4_000_000_000 } }))),
      coded(grantWith({ p: Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`k${at}`, at])) })),
      coded([grantWith({ p: { f: "1".repeat(9_000), g: "x", e: 4_000_000_000 } })]),
      Buffer.from("[".repeat(9_000)).toString("base64"),
      Buffer.from(`[{"__proto__":{"isAdmin":true}}]`).toString("base64"),
      Buffer.from(`{"length":-1}`).toString("base64"),
      "=".repeat(12_000),
      "A".repeat(12_000)
    ]
    for (const header of headers) {
      const { status, body } = await withoutBlocking(server, () =>
        server.call("GET", "/v1/memories/search?query=x&scope=shared", { headers: { "x-grants": header } })
      )
      expect([header.slice(0, 40), [200, 400].includes(status), body.memories ?? []]).toEqual([
        header.slice(0, 40),
        true,
        []
      ])
    }
  })

  it("as a wallet's answer 401, and block nobody", async () => {
    const signatures = ["0x", "1".repeat(88), `${"A".repeat(86)}==`, `0x${"f".repeat(8_190)}`, "z".repeat(8_192)]
    for (const wallet of [address, "1".repeat(32), "z".repeat(44), "1".repeat(4_000), "__proto__"]) {
      for (const signature of [...signatures, `0x${"11".repeat(64)}1b`, `0x${"00".repeat(64)}1c`]) {
        const headers = {
          "x-wallet-address": wallet,
          "x-wallet-timestamp": String(Date.now()),
          "x-wallet-signature": signature
        }
        const send = () => server.call("GET", "/v1/account?x=1", { key: null, headers })
        const { status, body } = await withoutBlocking(server, send)
        expect([wallet.slice(0, 50), signature.slice(0, 50), status, body.code]).toEqual([
          wallet.slice(0, 50),
          signature.slice(0, 50),
          401,
          "invalid_signature"
        ])
      }
    }
  })
})
