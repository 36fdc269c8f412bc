/**
 * Load and service have processors of their own, when the capacity is measured and in a flood alike: the load the last
 * one, the service all others. What the load needs then never decides what the service reaches.
 */
import { execFileSync } from "node:child_process"
import { cpus } from "node:os"

/** The load's, and the service's, as `taskset -c` takes them; undefined where they cannot be told apart. */
interface Division {
  readonly load: string
  readonly service: string
}

export const division = (): Division | undefined => {
  const count = cpus().length
  if (count < 2 || !hasTaskset()) return undefined
  return { load: String(count - 1), service: `0-${count - 2}` }
}

/** All threads of this process, and the processes that it starts. */
export const keepTo = (processors: string): void =>
  void execFileSync("taskset", ["-acp", processors, String(process.pid)], { stdio: "ignore" })

const hasTaskset = (): boolean => {
  if (process.platform !== "linux") return false
  try {
    execFileSync("taskset", ["-p", String(process.pid)], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
