/** What a start of the packed service reads: modules that only some services need come with their first use. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { expect, it } from "vitest"
import { bundleService } from "../../../scripts/pack/ServiceBundle.ts"
import { repository } from "../../support/TestServer.ts"

const folder = mkdtempSync(join(tmpdir(), "muniment-bundle-"))
const { outputs } = await bundleService(repository, folder)
rmSync(folder, { recursive: true })

/** What is loaded with `files`. */
const loadedWith = (files: ReadonlyArray<string>) => {
  const read = new Set(files)
  for (const file of read)
    for (const { kind, path } of outputs[file]!.imports)
      if (kind === "import-statement" && path in outputs) read.add(path)
  const modules = [...read].flatMap((file) =>
    Object.entries(outputs[file]!.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []))
  )
  return { modules, bytes: [...read].reduce((sum, file) => sum + outputs[file]!.bytes, 0) }
}

it("the service starts without other commands, wallets' mathematics, and what clusters alone need", () => {
  // One after the other, by `muniment serve`.
  const entries = ["packages/cli/src/installed.ts", "packages/cli/src/bin.ts", "packages/server/src/App.ts"]
  const isPartOf = (file: string, path: string) => (outputs[file]!.inputs[path]?.bytesInOutput ?? 0) > 0
  const files = Object.keys(outputs).filter((file) => entries.some((path) => isPartOf(file, path)))
  const { bytes, modules } = loadedWith(files)
  expect(modules).toEqual(expect.arrayContaining(entries))
  const late =
    /node_modules\/(viem|ox|@noble\/curves|cli-progress)\/|effect\/dist\/(cluster|rpc|encoding\/SchemaBinary)/
  expect(modules.filter((path) => late.test(path))).toEqual([])
  expect(modules.filter((path) => path.startsWith("packages/cli/src/commands/")).sort()).toEqual([
    "packages/cli/src/commands/flags.ts",
    "packages/cli/src/commands/serve.ts"
  ])
  expect(bytes).toBeLessThan(2_575_000)
})

it("a thread loads of Effect what it uses, not what the service uses", () => {
  const workers = Object.keys(outputs).filter((file) => file.endsWith("Worker.js"))
  expect(workers.length).toBeGreaterThan(8)
  for (const file of workers) {
    const { bytes, modules } = loadedWith([file])
    expect(bytes, basename(file)).toBeLessThan(750_000)
    expect(modules.filter((path) => /effect\/dist\/(http-api|sql|cli|Channel)\b/.test(path))).toEqual([])
  }
})
