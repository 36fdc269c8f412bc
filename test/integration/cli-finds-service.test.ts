/** A user's commands find the service of this machine by the settings that `serve` reads. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { expect, it } from "vitest"
import { withoutModel } from "../support/SharedServer.ts"
import { entry, freePort, operatorKey, repository } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const server = useServer({ environment: withoutModel })
const empty = temporaryDirectory()

const muniment = async (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: repository,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const [code] = await once(child, "close")
  return { code, output }
}

const credits = (environment: Readonly<Record<string, string>>, ...more: ReadonlyArray<string>) =>
  muniment(["credits", "--api-key", operatorKey, ...more], environment)

it("by the data directory, whatever the port says", async () => {
  const environment = { MUNIMENT_DATA_DIR: server.dataDirectory, MUNIMENT_PORT: String(await freePort()) }
  expect(await credits(environment)).toMatchObject({ code: 0, output: expect.stringContaining("balance") })
})

it("for a deposit as for any other command", async () => {
  const key = join(empty, "payer.key")
  expect((await muniment(["wallet", "new", "--out", key], {})).code).toBe(0)
  const environment = { MUNIMENT_DATA_DIR: server.dataDirectory, MUNIMENT_PORT: String(await freePort()) }
  const args = ["deposit", "--key-file", key, "--amount", "0.5", "--network", "base-sepolia", "--yes"]
  expect(await muniment(args, environment)).toMatchObject({
    code: 1,
    output: expect.stringContaining("not configured")
  })
})

it("by the port, when the directory is not that of a service", async () => {
  const environment = { MUNIMENT_DATA_DIR: empty, MUNIMENT_PORT: new URL(server.url).port }
  expect(await credits(environment)).toMatchObject({ code: 0, output: expect.stringContaining("balance") })
})

it("status shows it and writes nothing; doctor writes, and leaves no account", async () => {
  const environment = { MUNIMENT_DATA_DIR: server.dataDirectory }
  const shown = await muniment(["status"], environment)
  expect(shown.output).toMatch(/^ok +service/m)
  expect((await muniment(["doctor"], environment)).output).toMatch(/^ok +write[^]*^ok +delete/m)
  const { body } = await server.asOperator("GET", "/admin/accounts")
  expect(body.accounts.map(({ name }: { readonly name: string }) => name)).not.toContain("doctor")
  const nowhere = await muniment(["status"], { MUNIMENT_DATA_DIR: empty })
  expect(nowhere).toEqual({ code: 1, output: expect.stringContaining("No service is running") })
})

it("by --url before both", async () => {
  const environment = { MUNIMENT_DATA_DIR: empty, MUNIMENT_PORT: String(await freePort()) }
  expect(await credits(environment, "--url", `${server.url}/`)).toMatchObject({ code: 0 })
})

it("and say where they looked when nothing answers", async () => {
  const port = String(await freePort())
  const { code, output } = await credits({ MUNIMENT_DATA_DIR: empty, MUNIMENT_PORT: port })
  expect([code, output]).toEqual([1, expect.stringContaining(`127.0.0.1:${port}`)])
})

it("in the curl command of a signed request too", async () => {
  const key = join(empty, "a.key")
  expect((await muniment(["wallet", "new", "--out", key], {})).code).toBe(0)
  const environment = { MUNIMENT_DATA_DIR: server.dataDirectory }
  const signed = await muniment(["sign", "request", "--key-file", key, "--curl", "GET", "/account"], environment)
  // Of several nodes the one whose directory it is.
  expect(signed.output).toContain(`'${server.processes[0]!.url}/v1/account'`)
})
