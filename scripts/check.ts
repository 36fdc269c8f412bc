/**
 * `npm run check`: every static check, one after the other, each with its verdict; the output of
 * those that fail. Exit code 1 when any failed. It changes no file.
 */
import { spawnSync } from "node:child_process"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const tool = (name: string): string => join(root, "node_modules", ".bin", name)
const script = (name: string): string => join(root, "scripts", name)
const outputBytesMax = 64 * 1024 * 1024

const checks: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
  ["types", tool("tsc"), ["--noEmit", "-p", "tsconfig.json"]],
  [
    "effect",
    tool("effect-tsgo"),
    ["diagnostics", "--project", "tsconfig.json", "--format", "text", "--severity", "error,warning", "--strict"]
  ],
  ["lint", tool("oxlint"), ["--deny-warnings", "--format", "unix"]],
  ["format", tool("oxfmt"), ["--check", "."]],
  ["tidy", process.execPath, [script("tidy.ts")]],
  ["openapi", process.execPath, [script("openapi.ts")]]
]

let failed = 0
for (const [name, command, args] of checks) {
  const startedAt = Date.now()
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: outputBytesMax
  })
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1)
  if (status === 0) {
    process.stdout.write(`ok      ${name} (${seconds} s)\n`)
  } else {
    failed++
    process.stdout.write(`FAILED  ${name} (${seconds} s)\n${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}\n`)
  }
}
process.stdout.write(failed === 0 ? "All checks passed.\n" : `${failed} of ${checks.length} checks failed.\n`)
process.exitCode = failed === 0 ? 0 : 1
