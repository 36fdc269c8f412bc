/** What must never be committed by accident. */
import { execFileSync } from "node:child_process"
import { resolve } from "node:path"
import { expect, it } from "vitest"

const repository = resolve(import.meta.dirname, "../../..")

it("git ignores wallet keys, the data directory and the models", () => {
  const paths = ["alice.key", "keys/alice.key", "data/control.db", "models/model.onnx"]
  const ignored = execFileSync("git", ["check-ignore", ...paths], { cwd: repository, encoding: "utf8" })
  expect(ignored.trim().split("\n")).toEqual(paths)
})
