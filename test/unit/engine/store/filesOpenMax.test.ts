/** How many files the committing thread keeps open. */
import { describe, expect, it } from "vitest"
import { filesOpenMax } from "@muniment/engine/store/sqlite/CommitThread"

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 1048576              files\n`

describe("files that stay open", () => {
  it.each([
    ["256", 64],
    ["1024", 85],
    ["4096", 341],
    ["1048576", 512],
    ["unlimited", 512]
  ])("of %s descriptors: %i", (soft, files) => expect(filesOpenMax(limits(soft))).toBe(files))

  it("are few where the system does not say", () => expect(filesOpenMax("")).toBe(64))
})
