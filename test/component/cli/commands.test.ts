/** The operator's commands: what they ask of the service, what they print, how they end. */
import { describe, expect, it } from "vitest"
import type { WireRequest } from "../client/WireServer.ts"
import { cli } from "@muniment/cli/Cli"
import type { Command } from "effect/cli"
import { healthy, ok, operatorToken, refused, runCli } from "./runCli.ts"

const key = { id: "key_1", account: "alice", label: "laptop", prefix: "mun_abc", createdAt: 1_763_716_440_000 }
const account = { id: "acc_1", name: "alice", plan: "free", createdAt: 1_763_716_440_000 }

describe("logs", () => {
  it("audit asks for what its flags say, and shows it", async () => {
    const { createdAt: at } = account
    const event = { id: 1, at, action: "accounts.suspend", operator: "bob", subject: "alice", detail: { plan: "pro" } }
    const asked = {
      action: "accounts",
      operator: "bob",
      subject: "alice",
      from: "2026-11-01",
      to: "2026-11-30",
      limit: "5"
    }
    const args = Object.entries(asked).flatMap(([name, value]) => [`--${name}`, value])
    const run = await runCli(["audit", ...args], () => ok({ events: [event] }))
    expect(Object.fromEntries(new URL(run.requests[0]!.url, "http://x").searchParams)).toEqual(asked)
    expect(run.out).toMatch(/2025-11-21 09:14 +bob +accounts\.suspend +alice +\{"plan":"pro"\}/)
  })

  it("requests asks for what its flags say, and shows who called what", async () => {
    const { createdAt: at } = account
    const called = { id: 7, at, method: "GET", operation: "memories.search", status: 429, millis: 1.6 }
    const args = ["--account", "alice", "--operation", "memories", "--caller", "key_1", "--refused"]
    const run = await runCli(["requests", ...args], () =>
      ok({ requests: [{ ...called, account: "alice", caller: null }] })
    )
    const asked = new URL(run.requests[0]!.url, "http://x").searchParams
    expect(Object.fromEntries(asked)).toEqual({
      account: "alice",
      operation: "memories",
      caller: "key_1",
      refused: "true",
      limit: "100"
    })
    expect(run.out).toMatch(/2025-11-21 09:14 +alice +memories\.search +429 +2 +-/)
    const none = await runCli(["requests"], () => ok({ requests: [] }))
    expect([none.out.trim(), none.requests[0]!.url]).toEqual(["No calls.", "/admin/requests?limit=100"])
  })
})

describe("operators", () => {
  const bob = { name: "bob", role: "viewer", prefix: "munop_abcdef", createdAt: 1_763_716_440_000, madeBy: "operator" }

  it("add prints the secret once", async () => {
    const run = await runCli(["operators", "add", "bob", "--role", "viewer"], () =>
      ok({ operator: bob, secret: "munop_secret" })
    )
    expect(run.out.split("munop_secret")).toHaveLength(2)
    expect(run.requests[0]).toMatchObject({ url: "/admin/operators", body: { name: "bob", role: "viewer" } })
    expect((await runCli(["operators", "add", "bob", "--role", "owner"], () => ok({}))).requests).toEqual([])
  })

  it("list shows roles, makers and states; revoke asks for a name", async () => {
    const list = await runCli(["operators", "list"], () =>
      ok({ operators: [bob, { ...bob, name: "eve", revokedAt: bob.createdAt }] })
    )
    expect(list.out).toMatch(/bob +viewer +munop_abcdef… +2025-11-21 09:14 +operator +- +active/)
    expect(list.out).toMatch(/eve .*revoked 2025-11-21 09:14/)
    const change = await runCli(["operators", "change", "bob", "--role", "admin"], () =>
      ok({ operator: { ...bob, role: "admin" } })
    )
    expect(change.requests[0]).toMatchObject({
      method: "PATCH",
      url: "/admin/operators/bob",
      body: { role: "admin" }
    })
    expect(change.out).toContain("Operator bob is admin now.")
    const revoke = await runCli(["operators", "revoke", "bob"], () => ok({ operator: bob }))
    expect(revoke.requests[0]).toMatchObject({ method: "DELETE", url: "/admin/operators/bob" })
    expect(revoke.out).toContain("bob")
  })
})

describe("keys", () => {
  it("create prints the secret once and asks with the operator's token", async () => {
    const run = await runCli(["keys", "create", "--account", "alice", "--plan", "pro", "--label", "laptop"], () =>
      ok({ key, secret: "mun_abcdef" })
    )
    expect(run.isSuccess).toBe(true)
    expect(run.out.split("mun_abcdef")).toHaveLength(2)
    expect(run.requests[0]).toMatchObject({
      method: "POST",
      url: "/admin/keys",
      body: { account: "alice", plan: "pro", label: "laptop" },
      headers: { authorization: `Bearer ${operatorToken}` }
    })
  })

  it("create --json prints what a program reads", async () => {
    const run = await runCli(["keys", "create", "--account", "alice", "--json"], () =>
      ok({ key, secret: "mun_abcdef" })
    )
    expect(JSON.parse(run.out)).toEqual({ key, secret: "mun_abcdef" })
  })

  it("list shows the keys of one account, without secrets", async () => {
    const run = await runCli(["keys", "list", "--account", "alice"], () =>
      ok({ keys: [key, { ...key, revokedAt: 1_763_716_440_000 }] })
    )
    expect(run.requests[0]?.url).toBe("/admin/keys?account=alice")
    expect(run.out.split("\n")).toHaveLength(3)
    expect(run.out).toContain("2025-11-21 09:14")
    expect(run.out).toContain("revoked 2025-11-21 09:14")
  })

  it("revoke names the key", async () => {
    const run = await runCli(["keys", "revoke", "key_1"], () => ok({ key, alsoRevoked: ["key_2"] }))
    expect(run.requests[0]).toMatchObject({ method: "DELETE", url: "/admin/keys/key_1?keepMade=false" })
    expect(run.out).toContain("is revoked")
    expect(run.out).toContain("key_2")
  })

  it("own revoke --keep-made asks that what the key made stays", async () => {
    const run = await runCli(
      (url) => ["keys", "own", "revoke", "key_1", "--keep-made", "--api-key", "mun_x", "--url", url],
      () => ok({ key, alsoRevoked: [] })
    )
    expect(run.isSuccess, run.err).toBe(true)
    expect(run.requests[0]).toMatchObject({ method: "DELETE", url: "/v1/keys/key_1?keepMade=true" })
  })

  it("fails with the service's own words", async () => {
    const run = await runCli(["keys", "revoke", "key_2"], () => refused(404, "key_not_found", "there is no key key_2"))
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("there is no key key_2") })
    expect(run.err).not.toContain(" at ")
  })

  it("refuses a plan that does not exist before it asks anything", async () => {
    const run = await runCli(["keys", "create", "--account", "alice", "--plan", "gold"], () => ok({}))
    expect(run.isSuccess).toBe(false)
    expect(run.requests).toHaveLength(0)
  })
})

describe("accounts", () => {
  it("create names account and plan", async () => {
    const run = await runCli(["accounts", "create", "alice", "--plan", "free"], () => ok({ account }))
    expect(run.requests[0]?.body).toEqual({ name: "alice", plan: "free" })
    expect(run.out).toContain("acc_1")
  })

  it("list says so when there are none", async () => {
    const run = await runCli(["accounts", "list"], () => ok({ accounts: [] }))
    expect(run.out).toBe("No accounts.")
  })
})

describe("--json", () => {
  /** Commands without commands below them, by their words. */
  const leaves = (command: Command.Command.Any, words: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
    const below = command.subcommands.flatMap((group) => group.commands)
    return below.length === 0 ? [words] : below.flatMap((one) => leaves(one, [...words, one.name]))
  }

  it("is a flag of every command but the bridge of mcp, and completion knows it", async () => {
    const all = leaves(cli, [])
    expect(all.length).toBeGreaterThan(50)
    const without: Array<string> = []
    for (const words of all) {
      const { out } = await runCli([...words, "--help"], () => undefined)
      if (!/--json\b/.test(out)) without.push(words.join(" "))
    }
    expect(without).toEqual([])
    const { out } = await runCli(["--completions", "bash"], () => undefined)
    for (const name of ["sign_request", "serve", "reembed", "export", "import"]) {
      const script = out.slice(out.indexOf(`_muniment_${name}()`))
      expect(script.slice(0, script.indexOf("\n}"))).toContain("--json")
    }
  })
})

describe("reembed", () => {
  const neverStored =
    "Messages that were never stored, of conversations of which only extracted memories are kept, are not among them; how many is not known. To store them, send these conversations again."
  const settled = (progress: (request: WireRequest) => object) => (request: WireRequest) => ({
    status: 200,
    body: request.url === "/admin/status" ? healthy : { success: true, ...progress(request) }
  })
  const routesOf = (requests: ReadonlyArray<WireRequest>) => requests.map(({ method, url }) => `${method} ${url}`)

  it("starts the work, ends when nothing is pending and says that it offers nothing for messages never stored", async () => {
    const run = await runCli(
      ["reembed"],
      settled(({ method }) => ({ model: "m", pending: method === "POST" ? 4 : 0, total: 10 }))
    )
    expect(routesOf(run.requests)).toEqual(["GET /admin/status", "POST /admin/reembed", "GET /admin/reembed"])
    expect(run.out).toBe(`10 of 10 memories have a vector of m; 0 wait.\n${neverStored}`)
  })

  it("--status starts nothing", async () => {
    const run = await runCli(
      ["reembed", "--status"],
      settled(() => ({ model: "m", pending: 3, total: 10 }))
    )
    expect(routesOf(run.requests)).toEqual(["GET /admin/status", "GET /admin/reembed"])
    expect(run.out).toBe(`7 of 10 memories have a vector of m; 3 wait.\n${neverStored}`)
  })

  it("--json prints the counts", async () => {
    const counts = { model: "m", pending: 3, total: 10 }
    const run = await runCli(
      ["reembed", "--status", "--json"],
      settled(() => counts)
    )
    expect(JSON.parse(run.out)).toEqual(counts)
  })

  it("fails without a model and names the command that mends it", async () => {
    const run = await runCli(
      ["reembed"],
      settled(() => ({ model: null, pending: 3, total: 3 }))
    )
    expect(run).toMatchObject({ isSuccess: false, err: expect.stringContaining("npm run setup") })
  })
})

describe("help", () => {
  const commands = ["serve", "keys", "accounts", "wallets", "doctor", "reembed", "export", "import"]
  const keyless = ["wallet new", "sign request", "share create", "share decode", "attest verify", "attest keys rotate"]
  const money = ["deposit", "credits", "ledger check", "ledger adjust", "payments list", "payments reconcile"]
  const others = ["jobs list", "jobs run", "accounts plan", "models usage", "reread"]
  it.each([...commands, ...keyless, ...money, ...others])(
    "%s --help explains itself without a server",
    async (command) => {
      const run = await runCli([...command.split(" "), "--help"], () => undefined)
      expect([run.out, run.requests]).toEqual([expect.stringContaining(`muniment ${command}`), []])
    }
  )
})

describe("an empty name of a file or directory, as an unset variable leaves it,", () => {
  const backups = ["--from", "backups"]
  it.each([
    ["restore", ["restore", ...backups, "--to", ""], "--to"],
    ["restore", ["restore", "--from", "", "--to", "data"], "--from"],
    ["restore", ["restore", ...backups, "--to", "data", "--key-file", ""], "--key-file"],
    ["backup create", ["backup", "create", "--to", ""], "--to"],
    ["backup list", ["backup", "list", ...backups, "--passphrase-file", ""], "--passphrase-file"],
    ["migrate", ["migrate", "--to", "", "--bases", "bases"], "--to"],
    ["migrate", ["migrate", "--to", "postgres://database", "--bases", ""], "--bases"],
    ["export", ["export", "--account", "alice", "--out", ""], "--out"],
    ["import", ["import", "--account", "alice", "--in", ""], "--in"],
    ["wallet new", ["wallet", "new", "--out", ""], "--out"],
    ["sign request", ["sign", "request", "GET", "/memories", "--key-file", "key", "--body", ""], "--body"],
    ["credits", ["credits", "--key-file", ""], "--key-file"],
    ["mcp", ["mcp", "--key-file", ""], "--key-file"],
    ["attest verify", ["attest", "verify", "answer.json", "--keys", ""], "--keys"],
    ["attest verify", ["attest", "verify", ""], "<file>"]
  ])("is refused in a sentence: %s %j", async (_, args, named) => {
    const run = await runCli(args, () => undefined)
    expect(run.isSuccess).toBe(false)
    expect(run.out + run.err).toMatch(new RegExp(`${named}.*Expected: a name that is not empty`))
    expect(run.out + run.err).not.toMatch(/ENOENT|mkdir/)
    expect(run.requests).toEqual([])
  })
})

describe("a mistake is answered in a sentence:", () => {
  const missing = ["import --account a --in", "import --account a --from auto --in", "attest verify", "eval --cases"]
  it.each<readonly [string, string, RegExp]>([
    ["a command that is nearly one", "acounts list", /Unknown subcommand "acounts"[^]*Did you mean this\?\s+accounts/],
    ["a command below another", "keys creat", /Unknown subcommand "creat"[^]*create/],
    ["a flag that is nearly one", "keys create --acount a", /Unrecognized flag: --acount[^]*--account/],
    ["a negative number", "accounts quotas a --agents -4", /--agents: "-4"\. Expected: a whole number from 0 on, none/],
    ["a day that is none", "reread --since soon", /--since: "soon"\. Expected: a day, YYYY-MM-DD/],
    ...[...missing, "credits --key-file", "mcp --key-file"].map(
      (line) => [`a missing file: ${line}`, `${line} nowhere`, /There is no file(?: or folder)? nowhere\./] as const
    )
  ])("%s", async (_, line, expected) => {
    const run = await runCli(line.split(" "), () => ok({}))
    expect([run.isSuccess, run.out + run.err]).toEqual([false, expect.stringMatching(expected)])
    expect(run.out + run.err).not.toMatch(/FileSystem|RegExp/)
  })
})
