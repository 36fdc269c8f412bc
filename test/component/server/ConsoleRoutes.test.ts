/** The console's page where the set-up has not built it yet, and once it has; the page at `/docs` needs no build. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { afterAll, expect, it } from "vitest"
import { consoleRoutes } from "@muniment/server/console/ConsoleRoutes"
import { docsRoutes } from "@muniment/server/docs/DocsRoutes"
import { buildConsole } from "../../../scripts/console.ts"

const folder = mkdtempSync(join(tmpdir(), "muniment-console-"))
const { dispose, handler } = HttpRouter.toWebHandler(
  Layer.mergeAll(consoleRoutes({ isOn: true, folder: pathToFileURL(`${folder}/`) }), docsRoutes(true)),
  { disableLogger: true }
)
afterAll(async () => {
  await dispose()
  rmSync(folder, { recursive: true })
})

const get = (path: string) => handler(new Request(`http://localhost${path}`))

it("answers 503 with Retry-After until the console is built, and then serves it", async () => {
  const before = await get("/console")
  expect(before.status).toBe(503)
  expect(Number(before.headers.get("retry-after"))).toBeGreaterThan(0)
  expect(before.headers.get("cache-control")).toBe("no-store")
  expect(await before.text()).toContain("npm run setup")
  expect((await get("/console/assets/main-AAAAAAAA.js")).status).toBe(404)
  expect((await get("/docs")).status).toBe(200)

  await buildConsole(folder)
  const page = await get("/console")
  expect([page.status, page.headers.get("retry-after")]).toEqual([200, null])
  const [script] = /assets\/main-\w+\.js/.exec(await page.text())!
  expect((await get(`/console/${script}`)).headers.get("content-type")).toContain("text/javascript")
})
