/** The data directory on the disk: private whatever the umask of the start, mended when it was open. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { everyDay } from "../support/Repetitions.ts"
import { startServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const openMask = ["sh", "-c", 'umask 000; exec "$@"', "sh"]

/** Entries that others than the owner may use, by their path. */
const openEntries = (directory: string): ReadonlyArray<string> =>
  [".", ...readdirSync(directory, { recursive: true, encoding: "utf8" })].filter(
    // The service renames files meanwhile.
    (name) => ((statSync(join(directory, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0
  )

const body = { agentId: "a", memories: [fact("Ann", "Ann keeps bees")] }

describe("the data directory", () => {
  it("and all files in it are the owner's alone, whatever the umask; what others could read is mended, with a line in the log", async () => {
    const parent = temporaryDirectory()
    const dataDirectory = join(parent, "made", "here")
    const first = await startServer({ dataDirectory, environment, wrapper: openMask })
    expect((await first.call("POST", "/v1/memories", { body })).status).toBe(200)
    expect(readdirSync(dataDirectory)).toEqual(expect.arrayContaining(["control.db", "namespaces", "operator-token"]))
    expect(openEntries(dataDirectory)).toEqual([])
    await first.stop()
    expect(first.output()).not.toContain("open to others")
    const namespaces = readdirSync(join(dataDirectory, "namespaces")).map((name) => join("namespaces", name))
    for (const name of [".", "namespaces"]) chmodSync(join(dataDirectory, name), 0o755)
    for (const name of namespaces) chmodSync(join(dataDirectory, name), 0o644)
    const second = await startServer({ dataDirectory, environment })
    await second.stop()
    expect(second.output()).toContain("data directory was open to others")
    expect(openEntries(dataDirectory)).toEqual([])
  })

  it.each(
    everyDay(1, [
      ["torn", "Zm9vYmFy"],
      ["empty", ""],
      ["zeros", "\0".repeat(44)]
    ])
  )("gets a new operator token where a power cut left a damaged one: %s", async (_, left) => {
    const dataDirectory = temporaryDirectory()
    writeFileSync(join(dataDirectory, "operator-token"), left)
    const server = await startServer({ dataDirectory, environment })
    const token = readFileSync(join(dataDirectory, "operator-token"), "utf8").trim()
    expect(token).toMatch(/^[\w-]{43}$/)
    expect((await server.call("GET", "/admin/status", { key: token })).status).toBe(200)
    expect(server.output()).toContain("operator-token was empty or damaged")
    await server.stop()
  })
})
