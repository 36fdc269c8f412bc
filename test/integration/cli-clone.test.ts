import { spawnSync } from "node:child_process"
import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { version } from "@muniment/cli/Cli"
import { repository } from "../support/TestServer.ts"

const compiled = join(repository, "node_modules/.cache/compiled")

it("the entry of a clone runs the command line and keeps what Node compiled", () => {
  rmSync(compiled, { recursive: true, force: true })
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, ["packages/cli/src/clone.ts", "--version"], {
    cwd: repository,
    encoding: "utf8",
    env
  })
  expect([status, stdout]).toEqual([0, expect.stringContaining(version)])
  expect(readdirSync(compiled, { recursive: true }).length).toBeGreaterThan(100)
})
