/**
 * `npm run check`: every static check, two at a time, each with its verdict as soon as it is known and, if it failed,
 * its output. Exit code 1 when any failed. It changes no file.
 */
import { spawn, spawnSync } from "node:child_process"
import { join, resolve } from "node:path"

interface Check {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
}

const root = resolve(import.meta.dirname, "..")
const lanes = 2

const tool = (name: string, ...args: ReadonlyArray<string>): Pick<Check, "command" | "args"> => ({
  command: join(root, "node_modules", ".bin", name),
  args
})
const script = (name: string, ...args: ReadonlyArray<string>): Pick<Check, "command" | "args"> => ({
  command: process.execPath,
  args: [join(root, "scripts", name), ...args]
})

/** TypeScript's compiler with Effect's diagnostics in the same pass; their warnings fail it too. */
function effectCompiler(): string {
  const { command, args } = tool("effect-tsgo", "get-exe-path")
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`effect-tsgo does not name its compiler: ${stderr}`)
  return stdout.trim()
}

/** The longest first, so that both lanes end at about the same time. */
const checks: ReadonlyArray<Check> = [
  { name: "types", command: effectCompiler(), args: ["--noEmit", "-p", "tsconfig.json"] },
  { name: "console types", command: effectCompiler(), args: ["--noEmit", "-p", "packages/console/tsconfig.json"] },
  { name: "kernels", ...script("kernels.ts", "--check") },
  { name: "tidy", ...script("tidy.ts") },
  { name: "openapi", ...script("openapi.ts") },
  { name: "lint", ...tool("oxlint", "--deny-warnings", "--format", "unix") },
  { name: "format", ...tool("oxfmt", "--check", ".") }
]

const main = async (): Promise<number> => {
  const waiting = [...checks]
  const failed: Array<string> = []
  const lane = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      if (!(await passes(check))) failed.push(check.name)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  say(failed.length === 0 ? "All checks passed." : `${failed.length} of ${checks.length} failed: ${failed.join(", ")}`)
  return failed.length === 0 ? 0 : 1
}

const passes = async (check: Check): Promise<boolean> => {
  const startedAt = Date.now()
  const { code, output } = await outcomeOf(check)
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1)
  say(code === 0 ? `ok      ${check.name} (${seconds} s)` : `FAILED  ${check.name} (${seconds} s)\n${output}`)
  return code === 0
}

const outcomeOf = ({ command, args }: Check): Promise<{ readonly code: number | null; readonly output: string }> =>
  new Promise((settle) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text))
    child.once("error", (cause) => settle({ code: 1, output: cause.message }))
    child.once("close", (code) => settle({ code, output }))
  })

const say = (text: string): void => void process.stdout.write(`${text}\n`)

process.exitCode = await main()
