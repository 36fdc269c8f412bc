/** Processes that end with this one. A signal ends a process without its `exit`: see `exitOnSignals`. */
import type { ChildProcess } from "node:child_process"

const running = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

export const endWithThisProcess = (child: ChildProcess): void => {
  running.add(child)
  child.once("exit", () => running.delete(child))
}

/** For a process that has nothing of its own to finish, such as a bench. */
export const exitOnSignals = (): void => {
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1))
}
