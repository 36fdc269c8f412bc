/**
 * What a start prints where no terminal reads it, as under a supervisor or in a container: no secret (`packages/cli`).
 * Whoever can read the data directory finds the first key there.
 */
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { startServer } from "../support/TestServer.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_BOOTSTRAP_KEY: "" }

it("the first key is in a file that only its owner can read, and neither it nor a link is printed", async () => {
  const dataDirectory = temporaryDirectory()
  const first = await startServer({ environment, dataDirectory })
  const file = join(dataDirectory, "first-key")
  await expect.poll(first.output).toContain("Muniment is ready")
  const key = readFileSync(file, "utf8").trim()
  expect((await first.call("GET", "/v1/account", { key })).body.account.name).toBe("operator")
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(first.output()).toContain(`Key   in ${file}`)
  expect(first.output()).not.toContain(key)
  expect(first.output()).not.toMatch(/mun_|#link=/)
  await first.stop()

  const second = await startServer({ environment, dataDirectory })
  await expect.poll(second.output).toContain("Muniment is ready")
  expect(second.output()).not.toMatch(/Key {3}|mun_|#link=/)
  await second.stop()
})
