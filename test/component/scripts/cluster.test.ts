/** `npm run cluster` looks at its folder before it makes or starts anything. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { postgresPlace } from "../../../scripts/cluster/postgresPlace.ts"
import { openToPostgres } from "../../support/clusterEnvironment.ts"
import { repository } from "../../support/TestServer.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const script = join(repository, "scripts/cluster.ts")
const isRoot = process.getuid?.() === 0

/** Of a folder that others may enter. */
const inside = (name: string): string => {
  const directory = temporaryDirectory()
  openToPostgres(directory)
  return join(directory, name)
}

const refused = (...args: ReadonlyArray<string>) => {
  const cwd = temporaryDirectory()
  const { status, stderr } = spawnSync(process.execPath, [script, "--nodes", "0", ...args], {
    cwd,
    encoding: "utf8",
    timeout: 30_000
  })
  expect(readdirSync(cwd)).toEqual([])
  return { status, lines: stderr.trim().split("\n") }
}

it("a folder that is a file is refused in a sentence", () => {
  const file = inside("file")
  writeFileSync(file, "")
  for (const directory of [file, join(file, "below")])
    expect(refused("--directory", directory)).toEqual({
      status: 1,
      lines: [`${file} is not a directory.`, "See npm run cluster -- --help"]
    })
})

it("a folder without a name is refused, as of a variable that is not set", () => {
  for (const name of ["", " "])
    expect(refused("--directory", name)).toEqual({
      status: 1,
      lines: ["--directory is empty", "See npm run cluster -- --help"]
    })
})

it.skipIf(!isRoot)(
  "as root a folder that only root may enter is refused in a sentence, and nothing is left there",
  () => {
    const closed = inside("closed")
    mkdirSync(closed, { mode: 0o700 })
    const open = join(closed, "open")
    mkdirSync(open, { mode: 0o755 })
    for (const directory of [join(closed, "new"), join(closed, "new/below"), join(open, "new"), open, closed]) {
      const { lines, status } = refused("--directory", directory)
      expect([status, lines.length]).toEqual([1, 2])
      expect(lines[0]).toContain(`${closed} is open to root alone`)
    }
    expect(readdirSync(closed, { recursive: true })).toEqual(["open"])
  }
)

it.skipIf(!isRoot)("as root the default folder works in a clone that only root may enter", async () => {
  const clone = inside("clone")
  mkdirSync(clone, { mode: 0o700 })
  const place = postgresPlace(join(clone, "data/cluster"), false)
  try {
    const started = spawn(process.execPath, [script, "--nodes", "0", "--json"], {
      cwd: clone,
      stdio: ["ignore", "pipe", "inherit"]
    })
    const [line] = await once(started.stdout, "data")
    expect(JSON.parse(String(line))).toEqual({ environment: join(clone, "data/cluster/environment") })
    started.kill("SIGTERM")
    expect(await once(started, "exit")).toEqual([0, null])
    expect(existsSync(join(place, "data"))).toBe(true)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

it.skipIf(!isRoot)("what root's umask closes is opened to PostgreSQL, and the bases are not", async () => {
  const directory = inside("made/by/it")
  const started = spawn(
    "/bin/sh",
    ["-c", `umask 077; exec "$@"`, "sh", process.execPath, script, "--nodes", "0", "--directory", directory],
    { stdio: ["ignore", "pipe", "inherit"] }
  )
  const [line] = await once(started.stdout, "data")
  expect(String(line)).toContain("environment")
  started.kill("SIGTERM")
  expect(await once(started, "exit")).toEqual([0, null])
  chmodSync(directory, 0o700)
})
