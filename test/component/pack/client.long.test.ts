/** The packed client under other compilers and other runtimes, which a registry brings: about a minute. */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { installClient, programEnd } from "../../support/InstalledClient.ts"
import { sharedServer, withoutModel } from "../../support/SharedServer.ts"

const compilers = ["5.0.4", "5.9.3", "7.0.2"]
const { arch, platform } = process
const node = `node-${platform}-${arch}`
const bun = `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}`
const deno = `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}`

/** Packages of one platform each: those for all run a script after their installation. */
const runtimes = [
  { name: "Node 18", brings: node, version: "18.20.8", program: "bin/node", args: [] },
  { name: "Node 20", brings: node, version: "20.19.5", program: "bin/node", args: [] },
  { name: "Bun", brings: bun, version: "1.4.5", program: "bin/bun", args: ["run"] },
  { name: "Deno", brings: deno, version: "2.9.6", program: "deno", args: ["run", "--allow-net", "--allow-env"] }
]

describe("the packed client", () => {
  for (const version of compilers) {
    it(`compiles strictly with TypeScript ${version}, declarations of libraries included`, async () => {
      await using client = await installClient([`typescript@${version}`])
      await client.compile(join(client.folder, "node_modules", ".bin", "tsc"))
    })
  }

  for (const { args, brings, name, program, version } of runtimes) {
    it(`runs in ${name}`, async () => {
      const server = await sharedServer(withoutModel)
      await using client = await installClient([`${brings}@${version}`, "typescript@5.9.3"])
      await client.compile(join(client.folder, "node_modules", ".bin", "tsc"))
      const service = { url: server.url, key: await server.newAccount(name) }
      expect(await client.runs(join(client.folder, "node_modules", brings, program), args, service)).toBe(programEnd)
    })
  }
})
