/** What a start of the packed service reads: modules that only some services need come with their first use. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { bundleService } from "../../../scripts/pack/ServiceBundle.ts"
import { repository } from "../../support/TestServer.ts"

/** What `muniment serve` loads one after the other. */
const loaded = ["packages/cli/src/installed.ts", "packages/cli/src/bin.ts", "packages/server/src/App.ts"]

it("the service starts without other commands, wallets' mathematics, and what clusters alone need", async () => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-bundle-"))
  const { outputs } = await bundleService(repository, folder)
  rmSync(folder, { recursive: true })
  const files = Object.keys(outputs).filter((file) =>
    loaded.some((path) => (outputs[file]!.inputs[path]?.bytesInOutput ?? 0) > 0)
  )
  const read = new Set(files)
  for (const file of read)
    for (const { kind, path } of outputs[file]!.imports)
      if (kind === "import-statement" && path in outputs) read.add(path)
  const modules = new Set(
    [...read].flatMap((file) =>
      Object.entries(outputs[file]!.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []))
    )
  )
  expect([...modules]).toEqual(expect.arrayContaining(loaded))
  const late =
    /node_modules\/(viem|ox|@noble\/curves|cli-progress)\/|effect\/dist\/(cluster|rpc|encoding\/SchemaBinary)/
  expect([...modules].filter((path) => late.test(path))).toEqual([])
  expect([...modules].filter((path) => path.startsWith("packages/cli/src/commands/"))).toEqual([
    "packages/cli/src/commands/flags.ts",
    "packages/cli/src/commands/serve.ts"
  ])
  expect([...read].reduce((sum, file) => sum + outputs[file]!.bytes, 0)).toBeLessThan(2_800_000)
})
