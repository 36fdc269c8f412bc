/**
 * A small disk that really gets full: a tmpfs in a mount namespace that a sleeping process keeps
 * alive. Servers enter it by `wrapper`; the test looks into it by `outside`.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface SmallDisk {
  /** The directory as a process in the namespace sees it. */
  readonly inside: string
  /** The same directory as the test sees it. */
  readonly outside: string
  /** Words before a command that is to run in the namespace. */
  readonly wrapper: ReadonlyArray<string>
  readonly freeBytes: () => number
  readonly remove: () => Promise<void>
}

export const makeSmallDisk = async (mebibytes: number): Promise<SmallDisk> => {
  const inside = mkdtempSync(join(tmpdir(), "muniment-disk-"))
  const isRoot = process.getuid?.() === 0
  const script = `mount -t tmpfs -o size=${mebibytes}m,mode=700 muniment "$1" && echo mounted && exec sleep infinity`
  const user = isRoot ? [] : ["--user", "--map-root-user"]
  const holder = spawn("unshare", [...user, "--mount", "--propagation", "private", "sh", "-c", script, "sh", inside])
  let complaint = ""
  holder.stderr.on("data", (chunk: Buffer) => {
    complaint += chunk.toString()
  })
  const isMounted = await Promise.race([
    once(holder.stdout, "data").then(() => true),
    once(holder, "exit").then(() => false),
    once(holder, "error").then(([error]) => {
      complaint += String(error)
      return false
    })
  ])
  if (!isMounted) {
    rmSync(inside, { recursive: true, force: true })
    throw new Error(
      `This machine forbids mount namespaces, which the test of a full disk needs (unshare --mount, as root or with user namespaces): ${complaint.trim()}`
    )
  }
  const enter = [
    "nsenter",
    "--target",
    String(holder.pid),
    ...(isRoot ? [] : ["--user", "--preserve-credentials"]),
    "--mount"
  ]
  const wrapper = spawnSync(enter[0]!, [...enter.slice(1), "true"]).status === 0 ? enter : undefined
  if (wrapper === undefined) throw new Error("This machine forbids entering a mount namespace (nsenter --mount).")
  const outside = `/proc/${holder.pid}/root${inside}`
  return {
    inside,
    outside,
    wrapper,
    freeBytes: () => {
      const { bavail, bsize } = statfsSync(outside)
      return bavail * bsize
    },
    remove: async () => {
      const ended = once(holder, "exit")
      holder.kill("SIGKILL")
      await ended
      rmSync(inside, { recursive: true, force: true })
    }
  }
}
