/**
 * The wheel under each Python that is here, from the oldest that it is for: in an empty environment with what pip
 * brings, outside the repository, its own tests run against the real service. Versions that are not here are named in
 * the output. Half a minute each.
 */
import { execFile, spawnSync } from "node:child_process"
import { globSync, mkdtempSync, rmSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { packWheel } from "../../scripts/pack.ts"
import type { Tarball } from "../../scripts/pack/Tarball.ts"
import { sharedServer } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const run = promisify(execFile)
const versions = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]

/** By its name, or among those that pyenv has installed, whose names ask for a choice. */
const pythonOf = (version: string): string | undefined => {
  const pyenv = process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv")
  const candidates = [`python${version}`, ...globSync(join(pyenv, "versions", `${version}*`, "bin", "python"))]
  const script = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
  return candidates.find((path) => spawnSync(path, ["-c", script], { encoding: "utf8" }).stdout?.trim() === version)
}

const pythons = versions.flatMap((version) => {
  const path = pythonOf(version)
  return path === undefined ? [] : [{ version, path }]
})
const newest = pythons.at(-1)

describe.skipIf(newest === undefined)("the wheel", () => {
  const place = mkdtempSync(join(tmpdir(), "muniment-wheel-"))
  let wheel: Tarball
  beforeAll(async () => {
    const absent = versions.filter((version) => !pythons.some((python) => python.version === version))
    process.stdout.write(
      `Pythons: ${pythons.map(({ version }) => version).join(", ")}; not here: ${absent.join(", ")}\n`
    )
    wheel = await packWheel(place, { python: newest!.path, hasBackend: false })
    process.stdout.write(`Wheel: ${wheel.bytes} bytes\n`)
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  for (const { path, version } of pythons) {
    it(`is installed and passes its tests under Python ${version}`, async () => {
      const folder = join(place, version)
      await run(path, ["-m", "venv", folder])
      const python = join(folder, "bin", "python")
      const quiet = ["--quiet", "--disable-pip-version-check"]
      await run(python, ["-m", "pip", "install", ...quiet, `${wheel.path}[wallet,attest]`], { cwd: folder })
      const server = await sharedServer()
      const env = {
        PATH: process.env["PATH"],
        HOME: folder,
        PYTHONDONTWRITEBYTECODE: "1",
        PYTHONPATH: join(repository, "packages", "python", "tests"),
        MUNIMENT_VECTORS: join(repository, "test", "vectors"),
        MUNIMENT_URL: server.url,
        MUNIMENT_API_KEY: await server.newAccount(`python ${version}`, "owner")
      }
      const from = await run(python, ["-c", "import muniment, sys; print(muniment.__file__, *sys.version_info[:2])"], {
        cwd: folder,
        env
      })
      expect(from.stdout).toContain(join(folder, "lib"))
      expect(from.stdout.trim().split(" ").slice(1).join(".")).toBe(version)
      const tests = ["-m", "unittest", "test_vectors", "test_wire", "test_service"]
      const { stderr } = await run(python, tests, { cwd: folder, env })
      expect(stderr).toMatch(/^Ran \d\d tests[^]*\nOK\n$/m)
    })
  }
})
