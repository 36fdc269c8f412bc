/**
 * The segment kept ready beside the log: a file of zeros that becomes the next segment by a rename. It is made aside
 * while the log goes on, so that a commit waits for none and a full disk shows before a record needs the room.
 *
 * Invariant: what is called `spare` has its whole size, durably; a half-made one has another name, and is deleted at the
 * start and after a failure, because it takes the room of the next attempt.
 */
import { existsSync, rmSync, statSync } from "node:fs"
import { open, rename, rm } from "node:fs/promises"
import type { DiskRoom } from "./DiskRoom.ts"
import { sparePath } from "./segmentFiles.ts"

const zeros = Buffer.alloc(1_048_576)

export type SpareState = "ready" | "making" | "used"

/** Why there is no spare. */
export interface SpareFault {
  readonly cause: unknown
  /** It was not tried: the disk had no room for it. */
  readonly isForeseen: boolean
}

export class SpareSegment {
  readonly #path: string
  readonly #bytes: number
  readonly #room: DiskRoom
  readonly #onChange: () => void
  #state: SpareState
  #settled: Promise<void> = Promise.resolve()
  #fault: SpareFault | undefined

  /** `onChange`: called when it has become ready, or could not be made. */
  constructor(directory: string, bytes: number, room: DiskRoom, onChange: () => void) {
    this.#path = sparePath(directory)
    this.#bytes = bytes
    this.#room = room
    this.#onChange = onChange
    rmSync(this.#unfinishedPath, { force: true })
    this.#state = this.#isThere ? "ready" : "used"
    if (this.#state === "used") rmSync(this.#path, { force: true })
  }

  get state(): SpareState {
    return this.#state
  }

  /** Undefined: there is one, or there will be. Stays while it is tried again. */
  get fault(): SpareFault | undefined {
    return this.#fault
  }

  /**
   * The next segment takes it. `make` may follow once the log thread has renamed it. One that is still being made is not
   * made a second time: two that write the same file would put zeros over the records of the segment it has become.
   */
  take(): void {
    if (this.#state === "ready") this.#state = "used"
  }

  /** Deletes it: something else needs its room. */
  giveUp(): void {
    rmSync(this.#path, { force: true })
    this.#enter("used", { cause: new Error("the spare segment of the commit log was given up"), isForeseen: true })
  }

  /** Makes it if it is neither there nor being made. */
  make(): void {
    if (this.#state === "making") return
    if (this.#isThere) return this.#enter("ready", undefined)
    if (!this.#room.hasFor(this.#bytes)) {
      const cause = new Error("no room for another segment of the commit log")
      return this.#enter("used", { cause, isForeseen: true })
    }
    this.#state = "making"
    this.#settled = this.#write().then(
      () => this.#enter("ready", undefined),
      (cause: unknown) => this.#enter("used", { cause, isForeseen: false })
    )
  }

  /** Resolves when no file is being made. */
  get settled(): Promise<void> {
    return this.#settled
  }

  get #isThere(): boolean {
    return existsSync(this.#path) && statSync(this.#path).size === this.#bytes
  }

  get #unfinishedPath(): string {
    return `${this.#path}.writing`
  }

  async #write(): Promise<void> {
    try {
      await writeZeros(this.#unfinishedPath, this.#bytes)
      await rename(this.#unfinishedPath, this.#path)
    } catch (cause) {
      await rm(this.#unfinishedPath, { force: true })
      throw cause
    }
  }

  #enter(state: SpareState, fault: SpareFault | undefined): void {
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
