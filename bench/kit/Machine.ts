/**
 * Facts about the machine that a figure depends on, without host names and paths, since a report may be published.
 */
import { cpus, loadavg, totalmem } from "node:os"

export interface MachineFacts {
  readonly cpu: string
  readonly cores: number
  readonly memoryGibibytes: number
  readonly platform: string
  readonly node: string
  readonly sqlite: string
  /** Runnable processes over the last minute, before the suite began: above 0 others were at work. */
  readonly loadAtStart: number
}

const bytesPerGibibyte = 1_073_741_824

/** Call before the work begins: afterwards the load is one's own. */
export const machineFacts = (): MachineFacts => {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryGibibytes: Math.round(totalmem() / bytesPerGibibyte),
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
    sqlite: process.versions["sqlite"] ?? "unknown",
    loadAtStart: Number((loadavg()[0] ?? 0).toFixed(2))
  }
}

export const machineText = (facts: MachineFacts): string =>
  [
    facts.cpu,
    `${facts.cores} cores`,
    `${facts.memoryGibibytes} GiB`,
    facts.platform,
    `Node ${facts.node}`,
    `SQLite ${facts.sqlite}`,
    `load at start ${facts.loadAtStart}`
  ].join("; ")
