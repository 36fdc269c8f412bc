/**
 * The command line of a clone, by the bundle of its sources. This process becomes the command where the system can do
 * that, so that a supervisor's signals reach the service.
 */
import { spawn } from "node:child_process"
import { smallMemory } from "./pack/smallMemory.ts"
import { compiledOnce, NotBuilt, serviceEntry } from "./service.ts"

const entry = await serviceEntry().catch((cause: unknown) => {
  if (!(cause instanceof NotBuilt)) throw cause
  process.stderr.write(`${cause.message}\n`)
  return process.exit(1)
})
const args = [...smallMemory.nodeOptions, entry, ...process.argv.slice(2)]
const env = { ...smallMemory.environment, ...compiledOnce(entry), ...process.env }

if (process.platform === "win32") {
  // Control-C reaches all processes of a console.
  process.on("SIGINT", () => undefined)
  spawn(process.execPath, args, { env, stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1))
} else {
  process.execve!(process.execPath, [process.execPath, ...args], env)
}
