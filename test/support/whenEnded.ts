/**
 * Cleaning up that no end of a test's process leaves undone, neither SIGTERM nor SIGKILL: a shell with a session of its
 * own waits until a pipe from the process closes, which the kernel does for a process that ends in any way.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Socket } from "node:net"

/** Runs `script` with `words` as `$1` and on when this process has ended, or now, with what is returned. */
export const whenEnded = (script: string, ...words: ReadonlyArray<string>): (() => Promise<void>) => {
  const shell = spawn("sh", ["-c", `cat; ${script}`, "sh", ...words], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"]
  })
  const ended = once(shell, "exit")
  shell.unref()
  if (shell.stdin instanceof Socket) shell.stdin.unref()
  return async () => {
    shell.ref()
    shell.stdin.end()
    await ended
  }
}
