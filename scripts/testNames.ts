/**
 * `node scripts/testNames.ts <before> [<after>]`: test names that are gone and new, whatever file they are in, so that
 * a change of the suite can be shown to lose no behaviour. Each side is a git reference or a JSON report of vitest;
 * default of the second: this checkout. Exit code 1 if a name is gone. A name that several tests have counts as often.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const modulesOf = (checkout: string): string => join(checkout, "node_modules")
const listingBytesMax = 64 * 1024 * 1024

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly assertionResults: ReadonlyArray<{ readonly ancestorTitles: ReadonlyArray<string>; readonly title: string }>
  }>
}

const main = (): number => {
  const [before, after] = process.argv.slice(2)
  if (before === undefined) {
    process.stderr.write("usage: node scripts/testNames.ts <reference or report> [<reference or report>]\n")
    return 2
  }
  const old = counted(namesOf(before))
  const now = counted(after === undefined ? listed(root) : namesOf(after))
  const gone = missing(old, now)
  const added = missing(now, old)
  for (const name of gone) process.stdout.write(`gone  ${name}\n`)
  for (const name of added) process.stdout.write(`new   ${name}\n`)
  process.stdout.write(`${total(old)} names before, ${total(now)} after: ${gone.length} gone, ${added.length} new\n`)
  return gone.length === 0 ? 0 : 1
}

const namesOf = (side: string): ReadonlyArray<string> => {
  if (!side.endsWith(".json") || !existsSync(side)) return listedAt(side)
  const { testResults } = JSON.parse(readFileSync(side, "utf8")) as Report
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title }) => [...ancestorTitles, title].join(" > "))
  )
}

/** A checkout of the reference that borrows the installed packages, but for those of this repository. */
const listedAt = (reference: string): ReadonlyArray<string> => {
  const checkout = mkdtempSync(join(tmpdir(), "muniment-names-"))
  run("git", ["worktree", "add", "--detach", "--force", checkout, reference], root)
  try {
    mkdirSync(join(modulesOf(checkout), "@muniment"), { recursive: true })
    for (const entry of readdirSync(modulesOf(root))) {
      if (entry !== "@muniment") symlinkSync(join(modulesOf(root), entry), join(modulesOf(checkout), entry))
    }
    for (const name of readdirSync(join(checkout, "packages"))) {
      symlinkSync(join(checkout, "packages", name), join(modulesOf(checkout), "@muniment", name))
    }
    return listed(checkout)
  } finally {
    run("git", ["worktree", "remove", "--force", checkout], root)
    rmSync(checkout, { recursive: true, force: true })
  }
}

/** Loads every test file and runs no test. */
const listed = (checkout: string): ReadonlyArray<string> => {
  const vitest = join(modulesOf(checkout), "vitest", "vitest.mjs")
  const tests = JSON.parse(
    run(process.execPath, [vitest, "list", "--json", "--no-staticParse"], checkout)
  ) as ReadonlyArray<{
    readonly name: string
  }>
  return tests.map(({ name }) => name)
}

const run = (command: string, args: ReadonlyArray<string>, cwd: string): string => {
  const { status, stderr, stdout } = spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: listingBytesMax })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}`)
  return stdout
}

/** Seeds are chosen anew for each run and stand in some names. */
const counted = (names: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const each of names) {
    const name = each.replaceAll(/\bseed \d+/g, "seed N")
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

const missing = (from: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  [...from].flatMap(([name, count]) => Array<string>(Math.max(0, count - (others.get(name) ?? 0))).fill(name)).sort()

const total = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, one) => sum + one, 0)

process.exitCode = main()
