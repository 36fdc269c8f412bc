/** The lists of commands in packages/cli/README.md, compared with the command tree: each command, and each flag shown. */
import { expect, it } from "vitest"
import { readFileSync } from "node:fs"
import type { Command } from "effect/cli"
import { cli } from "../../../packages/cli/src/Cli.ts"

const page = readFileSync(new URL("../../../packages/cli/README.md", import.meta.url), "utf8")

/** Code before the colon of all entries. */
const shown = page
  .split("\n")
  .filter((line) => line.startsWith("- `"))
  .flatMap((line) => {
    const cell = line.split(": ", 1)[0]!
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, span]) => span!)
  })

interface Leaf {
  readonly path: string
  readonly flags: ReadonlyArray<string>
}

const leavesOf = (command: Command.Command.Any, above: ReadonlyArray<string>): ReadonlyArray<Leaf> => {
  const path = [...above, command.name]
  const children = command.subcommands.flatMap(({ commands }) => commands)
  if (children.length > 0) return children.flatMap((child) => leavesOf(child, path))
  return [{ path: path.slice(1).join(" "), flags: flagsOf(command, path) }]
}

/** What `--help` shows of a command; Effect's own types leave it out. */
interface Documented {
  readonly buildHelpDoc: (path: ReadonlyArray<string>) => { readonly flags: ReadonlyArray<{ readonly name: string }> }
}

const isDocumented = (command: Command.Command.Any): command is Command.Command.Any & Documented =>
  "buildHelpDoc" in command

const flagsOf = (command: Command.Command.Any, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!isDocumented(command)) throw new Error(`${path.join(" ")} has no help`)
  return command.buildHelpDoc(path).flags.map(({ name }) => `--${name}`)
}

const leaves = leavesOf(cli, [])
const linesOf = ({ path }: Leaf) => shown.filter((line) => `${line} `.startsWith(`${path} `))

it("every command of the tree has its line", () => {
  expect(leaves.length).toBeGreaterThan(50)
  expect(leaves.filter((leaf) => linesOf(leaf).length === 0).map(({ path }) => path)).toEqual([])
})

it("a line shows no flag that its command does not take", () => {
  const unknown = leaves.flatMap((leaf) =>
    linesOf(leaf).flatMap((line) =>
      [...line.matchAll(/--[a-z-]+/g)].map(([flag]) => flag).filter((flag) => !leaf.flags.includes(flag))
    )
  )
  expect(unknown).toEqual([])
})
