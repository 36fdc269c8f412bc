/**
 * Gives records their places, one after the other, and moves on to the spare segment when one is full.
 *
 * Invariants: a new segment is only begun when the spare is there, so that the log thread finds its room on the disk.
 * Commits that need space leave to erasures a spare segment or, as long as there is none, the end of the current one.
 */
import { Effect } from "effect"
import type { RecordPlace } from "./CommitLog.ts"
import { existsSync, rmSync, statSync, statfsSync } from "node:fs"
import { open, rename, rm } from "node:fs/promises"
import { sparePath } from "./segmentFiles.ts"

/** Free space below which the disk is tight, in reserves: what comes before a copy follows has room in it. */
const tightReserves = 4

export interface LogSizes {
  readonly segmentBytes: number
  /** Free space that a segment leaves to the copies and to erasures. */
  readonly reserveBytes: number
}

/** `full`: no room for another segment. */
export type Room = "free" | "wait" | "full"

/** Where the records of an earlier process end: everything behind, up to `bytes`, is zeros and synced. */
export interface LogEnd {
  readonly segment: number
  readonly offset: number
  /** Size of the file. */
  readonly bytes: number
}

/** `here`: in the current segment. `beyond`: in a new one. */
type Next = "here" | "beyond" | "wait" | "full"

export class SegmentPlaces {
  readonly segmentBytes: number
  readonly #disk: DiskRoom
  readonly #spare: SpareSegment
  #newest: number
  #segment: number
  #offset: number
  #capacity: number
  #isBegun = false
  /** Size of the last commit that needs space, if it was refused. */
  #refusedBytes = 1
  #waiting: Array<() => void> = []

  /**
   * `lastSegment`: number of the newest file. A start begins a segment of its own; only where the disk has no room for
   * another one it continues at `end`.
   */
  constructor(directory: string, { reserveBytes, segmentBytes }: LogSizes, lastSegment: number, end?: LogEnd) {
    this.segmentBytes = segmentBytes
    this.#disk = new DiskRoom(directory, reserveBytes)
    this.#newest = lastSegment
    this.#segment = end?.segment ?? lastSegment
    this.#offset = end?.offset ?? 0
    this.#capacity = end?.bytes ?? 0
    this.#spare = new SpareSegment(directory, segmentBytes, this.#disk, () => this.wake())
    this.#spare.make()
  }

  /** Whether a record was given a place. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  /** Why commits that need space are refused; undefined: they are not. */
  get shortage(): { readonly cause: unknown } | undefined {
    if (this.#next(this.#refusedBytes, false) !== "full") return undefined
    return this.#spare.fault ?? { cause: new Error("no room for another spare segment of the commit log") }
  }

  /** Whether so little is free that a copy may soon find no room. */
  get isTight(): boolean {
    return this.#spare.fault !== undefined || this.#disk.isTight
  }

  /** Whether a record of at most `bytes` has a place. After `free` the caller has to call `place`. */
  roomFor(bytes: number, isErasure: boolean): Room {
    this.retry()
    const next = this.#next(bytes, isErasure)
    if (!isErasure) this.#refusedBytes = next === "full" ? bytes : 1
    if (next === "wait" || next === "full") return next
    if (next === "beyond") {
      this.#segment = ++this.#newest
      this.#offset = 0
      this.#capacity = this.segmentBytes
      this.#spare.take()
    }
    return "free"
  }

  /** Calls back when the spare is there, or cannot be made; at once if none is being made. */
  onChange(resume: () => void): void {
    if (this.#isComing) this.#waiting.push(resume)
    else resume()
  }

  /** Lets those who wait look again. */
  wake(): void {
    for (const resume of this.#waiting.splice(0)) resume()
  }

  place(length: number): RecordPlace {
    const place = { segment: this.#segment, offset: this.#offset, length }
    this.#offset += length
    this.#isBegun = true
    return place
  }

  /** The log thread has begun the current segment: another spare may be made. */
  begun(): void {
    this.#spare.make()
  }

  /** After a failure to make a spare: room may have returned. */
  retry(): void {
    if (this.#spare.fault !== undefined) this.#spare.make()
  }

  /** Deletes the spare, unless erasures need it; true: there was one. */
  giveUpSpare(): boolean {
    const isNeeded = this.#capacity - this.#offset < this.#erasureBytes
    if (this.#spare.state !== "ready" || isNeeded) return false
    this.#spare.giveUp()
    return true
  }

  /** No file is being made any more. */
  get settled(): Effect.Effect<void> {
    return Effect.promise(() => this.#spare.settled)
  }

  /** A spare is being made, or will be. */
  get #isComing(): boolean {
    const { fault, state } = this.#spare
    return state === "making" || (state === "used" && fault === undefined)
  }

  #next(bytes: number, isErasure: boolean): Next {
    const { fault, state } = this.#spare
    if (bytes > this.segmentBytes) {
      // `bytes` is the most that it can take: the spare often is enough. Else the log thread makes its segment with the
      // commit itself: a disk that is full then would end the log.
      return this.#withoutSpare ?? (this.#disk.hasFor(bytes) ? "beyond" : "full")
    }
    const left = this.#capacity - this.#offset - bytes
    const fitsHere = left >= 0
    const isOpen = isErasure || (fault === undefined && (state === "ready" || left >= this.#erasureBytes))
    if (this.#isBegun && fitsHere && isOpen) return "here"
    if (state === "ready") {
      if (this.#disk.hasFor(this.segmentBytes)) return "beyond"
      if (fitsHere) return "here"
      return isErasure ? "beyond" : "full"
    }
    if (fitsHere && isErasure && fault !== undefined) return "here"
    return this.#withoutSpare ?? "full"
  }

  /** Bytes at the end of the current segment that are left to erasures as long as there is no spare. */
  get #erasureBytes(): number {
    return this.segmentBytes / 4
  }

  /**
   * For those who need a spare, while one is being made. Room that has returned is waited for; not where making it failed
   * although there seemed to be room: an attempt that fails would wake those who wait, and they begin the next one.
   */
  get #withoutSpare(): "wait" | "full" | undefined {
    if (this.#spare.fault?.isForeseen === false) return "full"
    return this.#isComing ? "wait" : undefined
  }
}

const zeros = Buffer.alloc(1_048_576)

type SpareState = "ready" | "making" | "used"

/** Why there is no spare. */
interface SpareFault {
  readonly cause: unknown
  /** It was not tried: the disk had no room for it. */
  readonly isForeseen: boolean
}

/**
 * The segment kept ready beside the log: a file of zeros that becomes the next segment by a rename. It is made aside
 * while the log goes on, so that a commit waits for none and a full disk shows before a record needs the room.
 *
 * Invariant: what is called `spare` has its whole size, durably; a half-made one has another name, and is deleted at the
 * start and after a failure, because it takes the room of the next attempt.
 */
class SpareSegment {
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

/** Free room on the disk of a directory. */
class DiskRoom {
  readonly #directory: string
  readonly #reserveBytes: number

  constructor(directory: string, reserveBytes: number) {
    this.#directory = directory
    this.#reserveBytes = reserveBytes
  }

  /** Bytes that this process may still write; none on a disk that cannot be asked. */
  get #freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.#directory)
      return bavail * bsize
    } catch {
      return 0
    }
  }

  /** Whether there is room for a segment of this size beside the reserve. */
  hasFor(bytes: number): boolean {
    return this.#freeBytes >= bytes + this.#reserveBytes
  }

  get isTight(): boolean {
    return this.#freeBytes < this.#reserveBytes * tightReserves
  }
}
