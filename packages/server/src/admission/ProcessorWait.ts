/**
 * How much of the time work had no processor. A request that takes long because other processes use the machine is no
 * sign of too many in work: fewer would only serve less. Linux counts for each thread how long it was ready to run and
 * had to wait (second field of `schedstat`, in nanoseconds); elsewhere the share is 0.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"

/** Milliseconds by thread, since its start. */
type Waits = ReadonlyMap<string, number>

export class ProcessorWait {
  readonly #read: () => Waits
  #waits: Waits
  #atMillis: number
  #share = 0

  constructor(nowMillis: number, read: () => Waits = systemWaits) {
    this.#read = read
    this.#waits = read()
    this.#atMillis = nowMillis
  }

  /** From 0 to 1, between the last two looks: of the thread that waited longest, since the others wait for it. */
  get share(): number {
    return this.#share
  }

  look(nowMillis: number): void {
    const sinceMillis = nowMillis - this.#atMillis
    if (sinceMillis <= 0) return
    const waits = this.#read()
    const longest = Math.max(0, ...[...waits].map(([thread, millis]) => millis - (this.#waits.get(thread) ?? millis)))
    this.#share = Math.min(1, longest / sinceMillis)
    this.#waits = waits
    this.#atMillis = nowMillis
  }
}

const threads = "/proc/self/task"

const systemWaits = (): Waits => {
  if (!existsSync(threads)) return new Map()
  const waits = new Map<string, number>()
  for (const thread of readdirSync(threads)) waits.set(thread, waitedMillis(`${threads}/${thread}/schedstat`))
  return waits
}

/** 0 of a thread that has ended, and of a kernel that does not count. */
const waitedMillis = (path: string): number => {
  try {
    return Number(readFileSync(path, "latin1").split(" ")[1]) / 1e6 || 0
  } catch {
    return 0
  }
}
