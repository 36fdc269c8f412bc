import { spawnSync } from "node:child_process"
import { expect, it } from "vitest"
import { version } from "@muniment/cli/Cli"
import { repository } from "../support/TestServer.ts"

const muniment = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, ["scripts/muniment.ts", ...args], { cwd: repository, encoding: "utf8" })

it("the command line of a clone runs in its place, with its exit codes", () => {
  const { status, stderr, stdout } = muniment("--version")
  expect([status, stdout, stderr]).toEqual([0, expect.stringContaining(version), ""])
  expect(muniment("memories", "list", "--url", "http://127.0.0.1:1").status).toBe(1)
})
