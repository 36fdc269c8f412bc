/**
 * The packed client in an empty folder, with the compiler and the Node that are here. The long test beside it brings
 * others.
 */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "vitest"
import { packClient } from "../../../scripts/pack.ts"
import { clientBytesMax } from "../../../scripts/pack/ClientPackage.ts"
import { installClient, programEnd } from "../../support/InstalledClient.ts"
import { sharedServer, withoutModel } from "../../support/SharedServer.ts"
import { repository } from "../../support/TestServer.ts"

it("is installed, compiled and run where nothing else is, and packs to the same bytes again", async () => {
  const server = await sharedServer(withoutModel)
  await using client = await installClient()
  expect(await readdir(join(client.folder, "node_modules", "@muniment"))).toEqual(["client"])
  const manifest = await readFile(join(client.folder, "node_modules/@muniment/client/package.json"), "utf8")
  expect(JSON.parse(manifest)).not.toHaveProperty("dependencies")
  await client.compile(join(repository, "node_modules", ".bin", "tsc"))
  const service = { url: server.url, key: await server.newAccount("packed") }
  expect(await client.runs(process.execPath, [], service)).toBe(programEnd)

  const first = (await readdir(client.folder)).find((name) => name.endsWith(".tgz"))
  const again = packClient(join(client.folder, "again"))
  expect(again.bytes).toBeLessThanOrEqual(clientBytesMax)
  expect(await readFile(again.path)).toEqual(await readFile(join(client.folder, first ?? "")))
})
