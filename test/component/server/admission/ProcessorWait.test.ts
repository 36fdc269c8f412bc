/** On Linux, what the kernel counts: a process beside a busy one on the same processor, and alone. */
import { spawn, spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, it } from "vitest"

const hasTaskset = process.platform === "linux" && spawnSync("taskset", ["-p", "1"]).error === undefined
const script = `
import { ProcessorWait } from ${JSON.stringify(join(import.meta.dirname, "../../../../packages/server/src/admission/ProcessorWait.ts"))}
const wait = new ProcessorWait(performance.now())
for (const end = performance.now() + 1000; performance.now() < end; );
wait.look(performance.now())
process.stdout.write(String(wait.share))
`
const pinned = ["-c", "0", process.execPath, "--disable-warning=ExperimentalWarning"] as const

it.runIf(hasTaskset)("sees that it waits for a processor (needs Linux with taskset)", () => {
  const busy = spawn("taskset", [...pinned, "-e", "for (;;);"], { stdio: "ignore" })
  try {
    const { stdout } = spawnSync("taskset", [...pinned, "--input-type=module", "-e", script], { encoding: "utf8" })
    expect(Number(stdout)).toBeGreaterThan(0.2)
    expect(Number(stdout)).toBeLessThanOrEqual(1)
  } finally {
    busy.kill("SIGKILL")
  }
})
