/** A program that writes until it is killed with SIGKILL. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { bundledProgram, type TestModule } from "../support/BundledService.ts"
import type { SeededRandom } from "../support/SeededRandom.ts"

/** From the writer's first output to the kill, milliseconds. */
export interface RunMillis {
  readonly least: number
  readonly most: number
}

/** The lines it wrote; the last one may have been cut off and is left out. Throws if it ended by itself. */
export const killedWriter = async (
  program: TestModule,
  args: ReadonlyArray<string>,
  { least, most }: RunMillis,
  random: SeededRandom
): Promise<ReadonlyArray<string>> => {
  const child = spawn(process.execPath, [await bundledProgram(program), ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  let output = ""
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
  const closed = once(child, "close")
  await Promise.race([once(child.stdout, "data"), closed])
  await new Promise((wake) => setTimeout(wake, random.between(least, most)))
  child.kill("SIGKILL")
  await closed
  if (child.signalCode !== "SIGKILL")
    throw new Error(`${program} ended with ${child.exitCode}: ${output.slice(-2_000)}`)
  return output.split("\n").slice(0, -1)
}
