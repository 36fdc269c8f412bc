/**
 * Number of files that the committing thread keeps open: a share of what the operating system lets this process open.
 */
import { existsSync, readFileSync } from "node:fs"

/** Where the system does not say, and where it allows very few. */
const least = 64
/** Each takes some 200 KB of memory. */
const most = 512
/** A file, SQLite's log beside it, and the index of that log. */
const descriptorsEach = 3
/** The rest is for reading, connections and everything else. */
const share = 1 / 4

export const filesOpenMax = (limits: string = systemLimits()): number => {
  const [, soft] = /^Max open files +(\d+|unlimited) /m.exec(limits) ?? []
  if (soft === undefined) return least
  if (soft === "unlimited") return most
  return Math.max(least, Math.min(most, Math.floor((Number(soft) * share) / descriptorsEach)))
}

const limitsFile = "/proc/self/limits"

/** Those of this process as Linux writes them (proc(5)); empty on other systems. */
const systemLimits = (): string => (existsSync(limitsFile) ? readFileSync(limitsFile, "utf8") : "")
