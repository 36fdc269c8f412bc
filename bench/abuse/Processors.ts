/**
 * The load generator keeps to one processor, the last one: the service's main thread then has another to itself, when the
 * capacity is measured and in a flood alike. Its worker threads share the generator's where there are only two.
 */
import { execFileSync } from "node:child_process"
import { availableParallelism } from "node:os"

/** False where there is only one processor, or no `taskset`. */
export const keepToLastProcessor = (pid: number): boolean => {
  const count = availableParallelism()
  if (process.platform !== "linux" || count < 2) return false
  try {
    execFileSync("taskset", ["-acp", String(count - 1), String(pid)], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
