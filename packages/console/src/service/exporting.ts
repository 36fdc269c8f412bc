/**
 * The account's own memories as a file of JSON lines, page by page: where the browser lets a page write a file, each page
 * goes to the disk as it comes; else the parts are kept until the last. A page that comes too soon for the plan's limit is
 * asked for again when the service says.
 */
import { ApiError } from "./api.ts"
import { pause, save, writableFile } from "./browser.ts"
import { pageOf } from "./knowledge.ts"
import type { MemoryPage } from "./memories.ts"

export interface Progress {
  readonly done: number
  readonly total: number | undefined
  /** Seconds until the service takes the next call; undefined: it goes on. */
  readonly waits: number | undefined
}

/** False: the reader chose no file. */
export const exportMemories = async (
  name: string,
  tell: (progress: Progress) => void,
  signal: AbortSignal
): Promise<boolean> => {
  const file = await writableFile(name)
  if (file === null) return false
  const parts: Array<string> = []
  const write = async (part: string): Promise<void> => {
    if (file === undefined) parts.push(part)
    else await file.write(part)
  }
  let cursor: string | undefined
  let done = 0
  try {
    do {
      const page: MemoryPage = await patiently(
        () => pageOf({ order: "asc", include: "all", includeSuperseded: true, cursor }, signal),
        (waits) => tell({ done, total: undefined, waits }),
        signal
      )
      await write(page.memories.map((memory) => `${JSON.stringify(memory)}\n`).join(""))
      done += page.memories.length
      cursor = page.nextCursor
      tell({ done, total: page.total, waits: undefined })
    } while (cursor !== undefined)
  } catch (cause) {
    // What was written so far is not left behind as if it were whole.
    await file?.abort()
    throw cause
  }
  if (file === undefined) save(name, parts)
  else await file.close()
  return true
}

const waitsMax = 5
/** Seconds that a call is worth waiting for: the limit of a minute, not that of a day. */
const waitMax = 120

/** Asks again once the service takes the call, and says by `wait` in how many seconds that is. */
export const patiently = async <A>(
  ask: () => Promise<A>,
  wait: (seconds: number) => void,
  signal: AbortSignal
): Promise<A> => {
  for (let waited = 0; ; waited++) {
    signal.throwIfAborted()
    try {
      return await ask()
    } catch (cause) {
      const seconds = cause instanceof ApiError && [429, 503].includes(cause.status) ? cause.retryAfter : undefined
      if (seconds === undefined || seconds > waitMax || waited === waitsMax) throw cause
      wait(seconds)
      await pause(seconds * 1_000, signal)
    }
  }
}
