/**
 * The segment kept ready beside the log: a file of zeros that becomes the next segment by a rename. It is made aside
 * while the log goes on, so that a commit waits for none and a full disk shows before a record needs the room.
 */
import { existsSync } from "node:fs"
import { open, rename, rm, statfs } from "node:fs/promises"
import { sparePath } from "./segmentFiles.ts"

/** Free space required to make it, as a multiple of its size: the rest is left to erasures. */
const roomFactor = 2
const zeros = Buffer.alloc(1_048_576)

export type SpareState = "ready" | "making" | "used"

export class SpareSegment {
  readonly #directory: string
  readonly #bytes: number
  readonly #onChange: () => void
  #state: SpareState
  #settled: Promise<void> = Promise.resolve()
  #fault: { readonly cause: unknown } | undefined

  /** `onChange`: called when it has become ready, or could not be made. */
  constructor(directory: string, bytes: number, onChange: () => void) {
    this.#directory = directory
    this.#bytes = bytes
    this.#onChange = onChange
    this.#state = existsSync(sparePath(directory)) ? "ready" : "used"
  }

  get state(): SpareState {
    return this.#state
  }

  /** Why there is none; undefined: there is one, or there will be. Stays while it is tried again. */
  get fault(): { readonly cause: unknown } | undefined {
    return this.#fault
  }

  /**
   * The next segment takes it. `make` may follow once the log thread has renamed it. One that is still being made is not
   * made a second time: two that write the same file would put zeros over the records of the segment it has become.
   */
  take(): void {
    if (this.#state === "ready") this.#state = "used"
  }

  /** Makes it if it is neither there nor being made. */
  make(): void {
    if (this.#state === "ready" || this.#state === "making") return
    this.#state = "making"
    this.#settled = this.#write().then(
      () => this.#enter("ready", undefined),
      (cause: unknown) => this.#enter("used", { cause })
    )
  }

  /** Resolves when no file is being made. */
  get settled(): Promise<void> {
    return this.#settled
  }

  async #write(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#directory)
    if (bavail * bsize < this.#bytes * roomFactor) throw new Error("no room for another segment of the commit log")
    const path = `${sparePath(this.#directory)}.writing`
    try {
      await writeZeros(path, this.#bytes)
      await rename(path, sparePath(this.#directory))
    } catch (cause) {
      await rm(path, { force: true })
      throw cause
    }
  }

  #enter(state: SpareState, fault: { readonly cause: unknown } | undefined): void {
    this.#state = state
    this.#fault = fault
    this.#onChange()
  }
}

const writeZeros = async (path: string, bytes: number): Promise<void> => {
  const file = await open(path, "w", 0o600)
  try {
    for (let at = 0; at < bytes; at += zeros.length)
      await file.writeFile(zeros.subarray(0, Math.min(zeros.length, bytes - at)))
    await file.sync()
  } finally {
    await file.close()
  }
}
