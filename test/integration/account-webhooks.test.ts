/** /v1/webhooks (contract: Webhooks of accounts): who makes them, where they may go, secrets, deliveries, their end. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { runCli } from "../component/cli/runCli.ts"
import { fact } from "../support/MemoryCalls.ts"
import { sharedServer, useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { isSigned, startWebhookReceiver, type WebhookReceiver } from "../support/WebhookReceiver.ts"

const service = useSharedServer({ ...withoutModel, MUNIMENT_ACCOUNT_WEBHOOKS: "any" })
let receiver: WebhookReceiver

beforeAll(async () => {
  receiver = await startWebhookReceiver()
})
afterAll(() => receiver[Symbol.asyncDispose]())

const accountOf = async (name: string) => {
  const key = await service.newAccount(name, "owner")
  const call = (method: string, path: string, body?: object) =>
    service.call(method, path, { key, ...(body !== undefined && { body }) })
  const url = `${receiver.url}/${name}`
  const told = () => receiver.deliveries.filter(({ path }) => path === `/hook/${name}`)
  const write = async (text: string): Promise<string> =>
    (await call("POST", "/v1/memories", { agentId: "a", memories: [fact("Ebba", text)] })).body.created[0].id
  const hook = async (more: object = {}) => (await call("POST", "/v1/webhooks", { url, ...more })).body
  return { key, call, told, url, write, hook }
}

const until = (isSo: () => boolean | Promise<boolean>) => expect.poll(isSo, { timeout: 60_000 }).toBe(true)

describe("a webhook of an account", () => {
  it("is told of changes, signed with a secret that is shown once, and with both while one replaces the other", async () => {
    const { call, hook, told, write } = await accountOf("told")
    await write("before")
    const made = await hook()
    expect(made).toMatchObject({
      success: true,
      secret: expect.stringMatching(/^whsec_[\w+/=]{44}$/),
      webhook: { state: "active", agents: null, pending: 0, failed: 0, reason: null, secretChangesAt: null }
    })
    const { id } = made.webhook
    const first = await write("rows on Sundays")
    await until(() => told().length === 1)
    expect(told()[0]?.body).toMatchObject({
      type: "memory.created",
      data: { agentId: "a", memoryId: first, kind: "factual_memory" }
    })
    expect(await isSigned(told()[0]!, made.secret)).toBe(true)

    const { body: rotated } = await call("POST", `/v1/webhooks/${id}/secret`)
    expect(rotated.secret).not.toBe(made.secret)
    expect(rotated.webhook.secretChangesAt).toBeGreaterThan(made.webhook.createdAt)
    await call("DELETE", `/v1/memories/${first}`)
    await until(() => told().length === 2)
    expect(told()[1]?.body).toMatchObject({ type: "memory.deleted", data: { memoryId: first } })
    for (const secret of [made.secret, rotated.secret]) expect(await isSigned(told()[1]!, secret)).toBe(true)

    await until(async () => (await call("GET", `/v1/webhooks/${id}`)).body.webhook.pending === 0)
    const { body: list } = await call("GET", "/v1/webhooks")
    expect(JSON.stringify(list)).not.toMatch(/whsec_|"secret"/)
    expect(list.webhooks).toMatchObject([{ id, deliveredAt: expect.any(Number), reason: null }])
    const { deliveries } = (await call("GET", `/v1/webhooks/${id}/deliveries?state=delivered`)).body
    expect(deliveries).toMatchObject([
      { type: "memory.deleted", id: told()[1]?.headers["webhook-id"], state: "delivered", attempts: 1, agentId: "a" },
      { type: "memory.created", id: told()[0]?.headers["webhook-id"], state: "delivered", attempts: 1, agentId: "a" }
    ])
  })

  it("is changed, paused and removed with its messages", async () => {
    const { call, hook, told, write } = await accountOf("changed")
    receiver.answer = ({ path }) => (path === "/hook/changed" ? 503 : 204)
    const { id } = (await hook()).webhook
    await write("one")
    await until(async () => (await call("GET", `/v1/webhooks/${id}`)).body.webhook.reason === "status 503")
    const paused = await call("PATCH", `/v1/webhooks/${id}`, { state: "paused" })
    expect(paused.body.webhook).toMatchObject({ state: "paused", pending: 1 })
    receiver.answer = () => 204
    const before = told().length
    await call("PATCH", `/v1/webhooks/${id}`, { state: "active" })
    await until(() => told().length > before)
    expect((await call("POST", `/v1/webhooks/${id}/deliveries/repeat`, {})).body).toMatchObject({ repeated: 0 })
    const one = await call("POST", `/v1/webhooks/${id}/deliveries/repeat`, { delivery: "msg_none" })
    expect([one.status, one.body.code]).toEqual([404, "webhook_not_found"])
    expect((await call("PATCH", `/v1/webhooks/${id}`, { agents: ["b"] })).body.code).toBe("unknown_parameter")
    expect((await call("DELETE", `/v1/webhooks/${id}`)).status).toBe(200)
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/deliveries"],
      ["DELETE", ""],
      ["POST", "/secret"],
      ["POST", "/test"]
    ] as const) {
      expect(refusalOf(await call(method, `/v1/webhooks/${id}${path}`))).toEqual([404, "webhook_not_found"])
    }
  })

  it("is sent a test when asked, also while it is paused, signed and not kept", async () => {
    const { call, hook, told } = await accountOf("tried")
    const { secret, webhook } = await hook()
    const place = `/v1/webhooks/${webhook.id}`
    await call("PATCH", place, { state: "paused" })
    const { body: rotated } = await call("POST", `${place}/secret`)
    const taken = await call("POST", `${place}/test`)
    expect(taken.body).toEqual({ success: true, delivered: true, reason: null, tookMillis: expect.any(Number) })
    expect(told().map(({ body }) => body)).toMatchObject([{ type: "test", data: {} }])
    for (const one of [secret, rotated.secret]) expect(await isSigned(told()[0]!, one)).toBe(true)

    receiver.answer = ({ path }) => (path === "/hook/tried" ? 503 : 204)
    expect((await call("POST", `${place}/test`)).body).toMatchObject({ delivered: false, reason: "status 503" })
    expect((await call("GET", place)).body.webhook).toMatchObject({ state: "paused", pending: 0, failed: 0 })
    expect((await call("GET", `${place}/deliveries`)).body.deliveries).toEqual([])
    receiver.answer = () => 204
  })

  it("is kept from a terminal", async () => {
    const { call, key, told, url, write } = await accountOf("terminal")
    const run = async (...args: ReadonlyArray<string>) => {
      const command = ["webhooks", "own", ...args, "--url", service.url, "--api-key", key]
      return runCli(command, () => undefined)
    }
    const json = async (...args: ReadonlyArray<string>) => JSON.parse((await run(...args, "--json")).out)
    expect((await run("list")).out).toBe("No webhooks.")
    const { secret, webhook } = await json("add", url, "--type", "memory.created", "--agent", "a")
    expect(webhook).toMatchObject({ url, types: ["memory.created"], agents: ["a"] })
    expect((await run("list")).out).toMatch(new RegExp(`^ID.+\n${webhook.id} .+ active +0 +0 .+memory.created +a`))

    expect((await run("test", webhook.id)).out).toMatch(/^delivered, after \d+ ms$/)
    const replaced = await run("secret", webhook.id)
    const [shown = ""] = /whsec_\S+/.exec(replaced.out) ?? []
    expect(shown).not.toBe(secret)
    expect(await json("test", webhook.id)).toMatchObject({ delivered: true, reason: null })
    for (const one of [secret, shown]) expect(await isSigned(told()[1]!, one)).toBe(true)

    receiver.answer = ({ path }) => (path === "/hook/terminal" ? 410 : 204)
    const refused = await run("test", webhook.id)
    expect([refused.isSuccess, refused.out]).toEqual([false, expect.stringMatching(/^status 410, after \d+ ms$/)])
    receiver.answer = () => 204
    await write("one")
    await until(async () => (await json("deliveries", webhook.id, "--state", "delivered")).deliveries.length === 1)
    expect((await run("deliveries", webhook.id)).out).toMatch(/memory\.created +delivered +1 +- +a/)
    expect((await run("repeat", webhook.id)).out).toBe("0 messages are sent again.")
    expect((await run("repeat", webhook.id, "msg_none")).err).toContain("no message of this id")
    expect((await run("change", webhook.id)).err).toContain("--target, --type or --state")
    const changed = await json("change", webhook.id, "--state", "paused", "--target", `${url}/else`)
    expect(changed.webhook).toMatchObject({ state: "paused", url: `${url}/else` })
    expect((await run("remove", webhook.id)).isSuccess).toBe(true)
    expect((await call("GET", "/v1/webhooks")).body.webhooks).toEqual([])
  })

  it("is bounded in number", async () => {
    const { call, hook, url } = await accountOf("bounded")
    for (let made = 0; made < Limits.hooksPerAccountMax; made++) expect((await hook()).success).toBe(true)
    expect(refusalOf(await call("POST", "/v1/webhooks", { url }))).toEqual([400, "limit_exceeded"])
  })

  it("is not for keys that are bound, only read, or end; and goes with the key that made it", async () => {
    const { call, url } = await accountOf("keys")
    const keyFor = async (scope: object) => (await call("POST", "/v1/keys", scope)).body
    for (const scope of [{ agents: ["a"] }, { readOnly: true }, { expiresIn: "1h" }]) {
      const { secret } = await keyFor(scope)
      const refused = await service.call("POST", "/v1/webhooks", { key: secret, body: { url } })
      expect([refused.status, refused.body.code]).toEqual([403, "key_scope"])
    }
    const maker = await keyFor({})
    const others = await keyFor({})
    for (const { secret } of [maker, others]) await service.call("POST", "/v1/webhooks", { key: secret, body: { url } })
    const makers = async () =>
      (await call("GET", "/v1/webhooks")).body.webhooks.map(({ madeBy }: { readonly madeBy: string }) => madeBy)
    expect(await makers()).toEqual([maker.key.id, others.key.id])
    await call("DELETE", `/v1/keys/${maker.key.id}`)
    expect(await makers()).toEqual([others.key.id])
    await call("DELETE", `/v1/keys/${others.key.id}?keepMade=true`)
    expect(await makers()).toHaveLength(1)
  })

  it("is not led elsewhere by a key that ends, and goes with the key that leads it elsewhere or reads its secret", async () => {
    const { call, hook, url } = await accountOf("led")
    const keyFor = async (scope: object) => (await call("POST", "/v1/keys", scope)).body
    const hooksAre = async () => (await call("GET", "/v1/webhooks")).body.webhooks
    const { webhook } = await hook()
    const ending = await keyFor({ expiresIn: "1h" })
    const place = `/v1/webhooks/${webhook.id}`
    const elsewhere = { url: `${url}-elsewhere` }
    for (const [method, path, body] of [["PATCH", place, elsewhere] as const, ["POST", `${place}/secret`] as const]) {
      const refused = await service.call(method, path, { key: ending.secret, ...(body !== undefined && { body }) })
      expect([refused.status, refused.body.code]).toEqual([403, "key_scope"])
    }
    expect(await hooksAre()).toEqual([webhook])
    const paused = await service.call("PATCH", place, { key: ending.secret, body: { state: "paused" } })
    expect(paused.body.webhook).toMatchObject({ state: "paused", madeBy: webhook.madeBy })

    const leading = await keyFor({})
    const led = await service.call("PATCH", place, { key: leading.secret, body: elsewhere })
    expect(led.body.webhook).toMatchObject({ ...elsewhere, madeBy: leading.key.id })
    const reading = await keyFor({})
    const read = await service.call("POST", `${place}/secret`, { key: reading.secret })
    expect(read.body.webhook.madeBy).toBe(reading.key.id)
    await call("DELETE", `/v1/keys/${reading.key.id}`)
    expect(await hooksAre()).toEqual([])
  })

  it("ends with its account, and is seen by the operator", async () => {
    const { call, hook, told, write } = await accountOf("erased")
    await hook()
    await write("one")
    await until(() => told().length === 1)
    const { hooks } = (await service.asOperator("GET", "/admin/status")).body
    expect(hooks.active).toBeGreaterThan(0)
    const { body: metrics } = await service.call("GET", "/metrics", { key: null })
    expect(metrics).toMatch(/^muniment_account_webhooks_pending_oldest_seconds \d+$/m)
    expect(metrics).toMatch(/^muniment_account_webhook_deliveries_total\{outcome="delivered"\} \d+$/m)
    const { name } = (await call("GET", "/v1/account")).body.account
    const { body: audit } = await service.asOperator("GET", `/admin/audit?subject=${name}`)
    expect(audit.events.map(({ action }: { readonly action: string }) => action)).toContain("hooks.createHook")
    expect((await service.asOperator("POST", "/admin/accounts/erase", { account: name })).status).toBe(200)
    const after = (await service.asOperator("GET", "/admin/status")).body.hooks
    expect(after.active + after.paused).toBe(hooks.active + hooks.paused - 1)
  })
})

describe("where webhooks may go", () => {
  it("is a public host by https, unless the operator allows more", async () => {
    const usual = await sharedServer(withoutModel)
    const key = await usual.newAccount("usual")
    const urls = [
      "https://127.0.0.1/x",
      "https://localhost/x",
      "https://[::1]/x",
      "https://169.254.169.254/latest/meta-data",
      "https://0x7f000001/x",
      "https://2130706433/x",
      "https://printer/x",
      "https://user:secret@hooks.example.com/x",
      "http://hooks.example.com/x",
      "ftp://hooks.example.com/x",
      "nowhere"
    ]
    for (const url of urls) {
      const { body, status } = await usual.call("POST", "/v1/webhooks", { key, body: { url } })
      expect([url, status, body.code]).toEqual([url, 400, "invalid_request"])
    }
    const made = await usual.call("POST", "/v1/webhooks", { key, body: { url: "https://hooks.example.com/x" } })
    expect(made.status).toBe(200)
    await usual.call("DELETE", `/v1/webhooks/${made.body.webhook.id}`, { key })
  })
})
