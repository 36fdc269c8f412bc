/** The service is killed among changes of control.db, which then is an older copy, gone or flipped: nothing is lost. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { failingStart } from "../support/FailingStart.ts"
import { fact } from "../support/MemoryCalls.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletCalls } from "../support/TrustCalls.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const control = ["control.db", "control.db-wal", "control.db-shm"]

let directory: string
let older: string
/** The service that lives; each case kills it and leaves the next one. */
let server: TestServer
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "muniment-control-"))
  older = mkdtempSync(join(tmpdir(), "muniment-older-"))
  server = await start()
})
afterAll(async () => {
  await server?.kill()
  for (const path of [directory, older]) rmSync(path, { recursive: true, force: true })
})

/** control.db of the second directory becomes that of the first. */
const copyControl = (from: string, to: string): void => {
  for (const name of control) {
    rmSync(join(to, name), { force: true })
    if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name))
  }
}

const flip = (): void => {
  const path = join(directory, "control.db-wal")
  const bytes = readFileSync(path)
  bytes[Math.floor(bytes.length / 3)]! ^= 16
  writeFileSync(path, bytes)
}

const damages: ReadonlyArray<readonly [name: string, damage: () => void]> = [
  ["left as the kill leaves it", () => undefined],
  ["an older copy", () => copyControl(older, directory)],
  ["gone", () => control.forEach((name) => rmSync(join(directory, name), { force: true }))],
  ["without a byte", () => writeFileSync(join(directory, "control.db"), "")],
  ["flipped in SQLite's own log", flip]
]

const start = () => startServer({ dataDirectory: directory, environment })
const keys = new Map<string, string>()
const wallets: Array<string> = []

/** An account with credits, a wallet and a memory, while others are made at the same time. */
const furnish = async (server: TestServer, name: string): Promise<void> => {
  const key = await server.newAccount(name)
  keys.set(name, key)
  const gift = { account: name, credits: 50, reason: "gift", key: name }
  const given = await server.asOperator("POST", "/admin/ledger/adjustments", gift)
  expect(given.status, JSON.stringify(given.body)).toBe(200)
  await walletCalls(server, evmWallet(name)).create("agent", [fact("tea", name)])
  wallets.push(name)
  const body = { agentId: "a", memories: [fact("tea", name)] }
  expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
}

const expectAll = async (server: TestServer): Promise<void> => {
  for (const [name, key] of keys) {
    const { body, status } = await server.call("GET", "/v1/account", { key })
    expect([name, status, body.account?.name]).toEqual([name, 200, name])
  }
  for (const name of wallets)
    expect((await walletCalls(server, evmWallet(name)).call("GET", "/v1/memories")).body.total).toBe(1)
  const { body } = await server.asOperator("GET", "/admin/ledger/check")
  expect(body).toMatchObject({ ok: true, problems: [] })
}

describe("control.db after a kill", () => {
  it.each(damages)("%s: accounts, keys, wallets and books are those of the last answer", async (name, damage) => {
    await Promise.all([1, 2, 3].map((at) => furnish(server, `${name} ${at}`)))
    await server.kill()
    const left = temporaryDirectory()
    copyControl(directory, left)
    damage()
    copyControl(left, older)
    server = await start()
    await expectAll(server)
    expect(server.output().includes("control.db had lost changes")).toBe(damage !== damages[0]![1])
  })

  it("without the commit log starts, and says in the service's log what is lost", async () => {
    await server.kill()
    expect(server.output()).not.toContain("the commit log is gone")
    rmSync(join(directory, "log"), { recursive: true })
    server = await start()
    expect(server.output()).toContain("the commit log is gone")
    await server.stop()
    copyControl(directory, older)
  })

  it("from before an erasure stops the start with a sentence", async () => {
    copyControl(older, directory)
    const [account] = keys.keys()
    const last = await start()
    const erased = await last.call("POST", "/admin/accounts/erase", {
      key: last.operatorToken,
      body: { account, dryRun: false }
    })
    expect(erased.status).toBe(200)
    await last.stop()
    copyControl(older, directory)
    const refused = await failingStart(directory, environment)
    expect([refused.code, refused.output]).toEqual([1, expect.stringMatching(/control\.db ends with change \d+/)])
  })
})
