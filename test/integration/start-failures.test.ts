/** A start that cannot succeed: one sentence for the operator, exit code 1, no stack, and at once. */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { once } from "node:events"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { withStartFailure } from "@muniment/cli/LocalServer"
import { checkStart } from "@muniment/server/StartChecks"
import { failingStart } from "../support/FailingStart.ts"
import { everyDay } from "../support/Repetitions.ts"
import { repository, startServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const recordModules = pathToFileURL(join(repository, "test/support/recordModules.mjs")).href

let directory: string
beforeAll(() => {
  directory = temporaryDirectory()
})

/** The one sentence, without the heading. */
const sentenceOf = async (
  environment: Readonly<Record<string, string>>,
  dataDirectory = join(directory, "data"),
  file?: string
) => {
  const { code, output } = await failingStart(dataDirectory, environment, file)
  expect([code, output]).toEqual([1, expect.stringMatching(/^\s*ERROR\n {2}[^\n]+[.?]\n*$/)])
  return output.trim().split("\n")[1]!.trim()
}

/** The same sentence without a process: the first thing that `serve` does, which the tests of the service see as a process. */
const refusalOf = async (environment: Readonly<Record<string, string>>): Promise<string> => {
  const settings = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_DATA_DIR: join(directory, "data"), ...environment }
  const refused = checkStart.pipe(
    Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))),
    Effect.provide(nodeServices),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(settings)),
    Effect.flip
  )
  const { message } = (await Effect.runPromise(refused)) as Error
  expect(message).toMatch(/^[^\n]+[.?]$/)
  return message
}

describe("a wrong setting", () => {
  it.each([
    ["MUNIMENT_PORT", "http", "expected a port, 1 to 65535"],
    ["MUNIMENT_PORT", "70000", "expected a port, 1 to 65535"],
    ["MUNIMENT_EMBEDDING_MODEL", "none-such", 'expected "auto" | "none"'],
    ["MUNIMENT_RATE_LIMITS", "yes", 'expected "on" | "off"'],
    ["MUNIMENT_OPEN_NAMESPACES", "0", "expected a whole number of at least 1"],
    ["MUNIMENT_SCRUB_DAYS", "-1", "expected a whole number of at least 0"],
    ["MUNIMENT_SCRUB_MIB_PER_SECOND", "0", "expected a whole number of at least 1"],
    ["MUNIMENT_MONTHLY_ALLOWANCE", "-1", "expected a whole number of at least 0"],
    ["MUNIMENT_PUBLIC_URL", "memory.example.com", "expected an http or https URL"],
    ["MUNIMENT_CORS_ORIGINS", "https://app.example.com/", "expected * or origins without a path"],
    ["MUNIMENT_SERVICE_NAME", "My Service", "expected lower-case letters"],
    ["MUNIMENT_LLM_PROVIDER", "openai", 'expected "none" | "openai-compatible"'],
    ["MUNIMENT_REQUIRE_AUDIENCE", "yes", 'expected "off" | "requests"'],
    ["MUNIMENT_TRUSTED_PROXIES", "10.0.0.0/33", "expected addresses or ranges such as 10.0.0.0/8"],
    ["MUNIMENT_BOOTSTRAP_KEY", "short", "expected 22 to 256 characters of A-Z a-z 0-9"],
    ["MUNIMENT_WEBHOOK_URL", "http://hooks.example.com/x", "expected an https URL without credentials"],
    ["MUNIMENT_WEBHOOK_SECRET", "whsec_c2hvcnQ=", "expected whsec_ and 24 to 64 bytes in Base64"]
  ])("is named, with what is expected: %s=%s", async (name, value, expected) => {
    expect(await refusalOf({ [name]: value })).toContain(`A setting is wrong: ${name}: ${expected}`)
  })

  /** Where the service itself finds it out. */
  it.each(
    everyDay(2, [
      ["MUNIMENT_WALLET_SIGNUP", "paid", "paid needs deposits: set MUNIMENT_PAYMENT_NETWORKS"],
      ["MUNIMENT_ERC1271", "on", "on needs a node: set MUNIMENT_EVM_RPC_URL"],
      ["MUNIMENT_WEBHOOK_URL", "https://hooks.example.com/x", "it needs MUNIMENT_WEBHOOK_SECRET"],
      ["MUNIMENT_PAYMENT_NETWORKS", "base-mainnet", 'unknown network "base-mainnet"']
    ])
  )("is named, with what is expected: %s=%s", async (name, value, expected) => {
    expect(await sentenceOf({ [name]: value })).toContain(`A setting is wrong: ${name}: ${expected}`)
  })

  it("is named where it depends on another: a language model without a name", async () => {
    const environment = { MUNIMENT_LLM_PROVIDER: "openai-compatible", MUNIMENT_LLM_BASE_URL: "http://127.0.0.1:1/v1" }
    expect(await refusalOf(environment)).toContain("A setting is wrong: MUNIMENT_LLM_MODEL: name the model")
  })

  it("is named when the operator's key is one of somebody else", async () => {
    const MUNIMENT_BOOTSTRAP_KEY = "mun_key_of_another_account_0123456789"
    const data = join(directory, "bootstrap")
    const server = await startServer({ dataDirectory: data, environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    await server.asOperator("POST", "/admin/keys", { account: "other" })
    await server.stop()
    const database = new DatabaseSync(join(data, "control.db"))
    const digest = createHash("sha256").update(MUNIMENT_BOOTSTRAP_KEY).digest("hex")
    database
      .prepare("UPDATE api_key SET hash = ? WHERE account <> (SELECT id FROM account WHERE name = 'operator')")
      .run(digest)
    database.close()
    expect(await sentenceOf({ MUNIMENT_BOOTSTRAP_KEY }, data)).toContain(
      "MUNIMENT_BOOTSTRAP_KEY: this secret already is a key"
    )
  })

  it("is not shown, as it may hold a secret", async () => {
    const sentence = await refusalOf({ MUNIMENT_EVM_RPC_URL: "wss://node.example/secret-key" })
    expect(sentence).toBe("A setting is wrong: MUNIMENT_EVM_RPC_URL: expected an http or https URL.")
  })
})

describe("the service", () => {
  /** The sentence, and what was loaded of the sources until it was said. */
  const loadedBy = async (environment: Readonly<Record<string, string>>, dataDirectory?: string) => {
    const recorded = join(directory, "modules")
    const sentence = await sentenceOf(
      { ...environment, NODE_OPTIONS: `--import ${recordModules}`, RECORDED_MODULES: recorded },
      dataDirectory,
      join(repository, "packages/cli/src/bin.ts")
    )
    return { sentence, modules: readFileSync(recorded, "utf8").split("\n") }
  }
  const ofService = /server\/src\/(?:App|ServerLayer)\.ts|packages\/insight|node_modules\/(?:viem|ajv|chrono-node)\//

  it.each<readonly [string, Readonly<Record<string, string>>, string | undefined]>(
    everyDay(2, [
      ["a wrong setting", { MUNIMENT_PORT: "http" }, undefined],
      ["a host that this machine does not have", { MUNIMENT_HOST: "192.0.2.1" }, undefined],
      ["a short key", { MUNIMENT_BOOTSTRAP_KEY: "short" }, undefined],
      ["a model without a name", { MUNIMENT_LLM_PROVIDER: "openai-compatible" }, undefined],
      ["a directory that cannot be made", {}, "/proc/muniment"]
    ])
  )("is not loaded to find out about %s: that takes most of a second", async (_, environment, dataDirectory) => {
    const { modules, sentence } = await loadedBy(environment, dataDirectory)
    expect(
      modules.filter((url) => ofService.test(url)),
      sentence
    ).toEqual([])
    expect(modules.some((url) => url.includes("/server/src/Config.ts"))).toBe(true)
  })

  it("is not loaded beside one that serves the directory", async () => {
    const data = join(directory, "held")
    const server = await startServer({ dataDirectory: data, environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    const { modules, sentence } = await loadedBy({}, data)
    await server.stop()
    expect(sentence).toContain(`${data} is in use by another Muniment (process ${server.process.pid}, ${server.url})`)
    expect(modules.filter((url) => ofService.test(url))).toEqual([])
  })
})

describe("a data directory that cannot be used", () => {
  it("is named with the reason", async () => {
    const file = join(directory, "file")
    writeFileSync(file, "")
    for (const path of [file, join(file, "below"), "/proc/muniment"]) {
      expect(await sentenceOf({}, path)).toMatch(`The data directory ${path} (MUNIMENT_DATA_DIR) cannot be used: E`)
    }
  })
})

describe("a folder where a file should be", () => {
  it.each(everyDay(2, ["operator-token", "control.db", "server.lock", "lock.db"]))(
    "is named with the reason: %s",
    async (name) => {
      const data = mkdtempSync(join(directory, "folder-"))
      mkdirSync(join(data, name), { mode: 0o700 })
      expect(await sentenceOf({}, data)).toMatch(/^(?:The data directory|A file of the) .* cannot be used: /)
    }
  )

  it("is named with the reason: a file in place of the folder of memories", async () => {
    const data = mkdtempSync(join(directory, "folder-"))
    writeFileSync(join(data, "namespaces"), "", { mode: 0o600 })
    expect(await sentenceOf({}, data)).toMatch(`The data directory ${data} (MUNIMENT_DATA_DIR) cannot be used: E`)
  })
})

describe("an address that cannot be used", () => {
  it("is found before anything is opened or loaded: a port that is taken", async () => {
    const holder = createServer().listen(0, "127.0.0.1")
    await once(holder, "listening")
    const address = holder.address()
    const port = String(typeof address === "object" ? address?.port : "")
    const data = join(directory, "taken")
    const sentence = await sentenceOf({ MUNIMENT_PORT: port, MUNIMENT_EMBEDDING_MODEL: "auto" }, data)
    holder.close()
    expect(sentence).toBe(
      `Cannot listen on 127.0.0.1:${port}: address already in use; stop what listens there, or set MUNIMENT_PORT.`
    )
    expect(existsSync(join(data, "control.db"))).toBe(false)
    expect(readdirSync(join(data, "namespaces"))).toEqual([])
  })

  it("is found in the same way: a host that this machine does not have", async () => {
    expect(await sentenceOf({ MUNIMENT_HOST: "192.0.2.1" })).toMatch(/this machine does not have the address/)
  })
})
