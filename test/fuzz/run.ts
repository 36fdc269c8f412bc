/**
 * Fuzzes a service of its own by the OpenAPI document that it serves (README.md). `SCHEMATHESIS` is the program, default
 * `schemathesis`; arguments go to `schemathesis run`. The exit code is that of schemathesis: 0 if nothing was found.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { evmAddresses, evmKeys } from "../../scripts/devchains/Wallets.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

/** Of each operation, in each phase that makes up values. */
const examples = 60

const accountName = "fuzzed"

const kinds = [
  { kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } },
  { kind: "note", data: { text: "fuzzed" } }
]

/** Of a kind whose memories are found by a field. */
const lookup = { kind: "fuzzed_contact", key: { email: "fuzzed@example.com" } }

const schemas = [
  {
    name: "note",
    description: "A text of any kind",
    schema: '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
  },
  {
    name: lookup.kind,
    description: "Somebody with an address",
    schema: '{"type":"object","properties":{"email":{"type":"string"}},"required":["email"]}',
    uniqueOn: ["email"]
  }
]

/** Statuses that depend on the state of an account or of a chain, and not on the request. */
const acceptedOfValid = ["2xx", "401", "402", "403", "404", "409", "412", "413", "429", "503"]

const main = async (): Promise<number> => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-fuzz-"))
  const server = await startServer({
    environment: {
      MUNIMENT_MONTHLY_ALLOWANCE: "100000000",
      MUNIMENT_PAYMENT_NETWORKS: "base-sepolia",
      MUNIMENT_EVM_PAY_TO: evmAddresses.payTo,
      MUNIMENT_EVM_OPERATOR_KEY: evmKeys.operator,
      // No node: requirements are told without one, and payments are refused for now.
      MUNIMENT_EVM_RPC_URL: "http://127.0.0.1:9"
    }
  })
  try {
    return await fuzz(server, directory)
  } finally {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

const fuzz = async (server: TestServer, directory: string): Promise<number> => {
  const key = await server.newAccount(accountName, "owner")
  for (const body of schemas) {
    const { body: registered } = await server.call("POST", "/v1/schemas", { key, body })
    if (registered.success !== true) throw new Error(JSON.stringify(registered))
  }
  const { body: who } = await server.call("GET", "/v1/account", { key })
  const { body: own } = await server.call("GET", "/v1/keys", { key })
  const configuration = join(directory, "schemathesis.toml")
  writeFileSync(configuration, configurationText(key, server.operatorToken))
  const fuzzer = spawn(
    process.env["SCHEMATHESIS"] ?? "schemathesis",
    [
      "--config-file",
      configuration,
      "run",
      `${server.url}/openapi.json`,
      "--checks=all",
      "--continue-on-failure",
      `--max-examples=${examples}`,
      ...process.argv.slice(2)
    ],
    {
      stdio: "inherit",
      cwd: directory,
      env: {
        ...process.env,
        FUZZ_ACCOUNTS: [accountName, who.account.id].join(","),
        FUZZ_KEYS: own.keys.map(({ id }: { readonly id: string }) => id).join(","),
        FUZZ_LOOKUP: JSON.stringify(lookup),
        FUZZ_KINDS: JSON.stringify(kinds)
      }
    }
  )
  const [code] = (await once(fuzzer, "exit")) as [number | null]
  const { status: alive } = await server.call("GET", "/v1/account", { key })
  if (alive !== 200) throw new Error(`the account of the run answers ${alive} after it: operator routes ended it`)
  return code ?? 1
}

const configurationText = (secret: string, operatorToken: string): string => `
hooks = ${JSON.stringify(join(import.meta.dirname, "hooks.py"))}

[auth.openapi.bearer]
bearer = ${JSON.stringify(secret)}

[auth.openapi.operator]
bearer = ${JSON.stringify(operatorToken)}

[checks.positive_data_acceptance]
expected-statuses = ${JSON.stringify(acceptedOfValid)}

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
`

process.exitCode = await main()
