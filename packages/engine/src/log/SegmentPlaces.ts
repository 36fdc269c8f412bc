/**
 * Gives records their places, one after the other, and moves on to the spare segment when one is full.
 *
 * Invariant: a new segment is only begun when the spare is there, so that the log thread finds its room on the disk.
 */
import { statfsSync } from "node:fs"
import { Effect } from "effect"
import type { RecordPlace } from "./CommitLog.ts"
import { SpareSegment } from "./SpareSegment.ts"

/** Free space required for a segment of its own that a large record takes, as a multiple of its size. */
const roomFactor = 2

/** `full`: no room for another segment. */
export type Room = "free" | "wait" | "full"

export class SegmentPlaces {
  readonly segmentBytes: number
  readonly #directory: string
  readonly #spare: SpareSegment
  #segment: number
  #offset = Infinity
  #waiting: Array<() => void> = []

  /** `lastSegment`: a start begins a segment of its own, since nothing is written behind a torn tail. */
  constructor(directory: string, segmentBytes: number, lastSegment: number) {
    this.segmentBytes = segmentBytes
    this.#directory = directory
    this.#segment = lastSegment
    this.#spare = new SpareSegment(directory, segmentBytes, () => {
      for (const resume of this.#waiting.splice(0)) resume()
    })
    this.#spare.make()
  }

  /** The segment that is written, once it is begun; the older ones are sealed. */
  get segment(): number {
    return this.#segment
  }

  /** Whether this process has begun a segment. */
  get isBegun(): boolean {
    return this.#offset !== Infinity
  }

  /** Why there is no spare segment; undefined: there is one, or there will be. */
  get shortage(): { readonly cause: unknown } | undefined {
    return this.#spare.fault
  }

  /** Whether a record of at most so many bytes has a place. On a full disk only erasures use the current segment. */
  roomFor(bytes: number, isErasure: boolean): Room {
    const isShort = this.#spare.fault !== undefined
    if (isShort) this.#spare.make()
    if (this.#fits(bytes)) return isErasure || !isShort ? "free" : "full"
    // The log thread makes its segment with the commit itself: a disk that is full then would end the log.
    if (bytes > this.segmentBytes) return this.#hasRoomFor(bytes) ? "free" : "full"
    if (this.#spare.state === "ready") return "free"
    return isShort ? "full" : "wait"
  }

  /** Calls back when the spare is there, or cannot be made. */
  onChange(resume: () => void): void {
    this.#waiting.push(resume)
  }

  place(length: number): RecordPlace {
    if (!this.#fits(length)) {
      this.#segment++
      this.#offset = 0
      this.#spare.take()
    }
    const place = { segment: this.#segment, offset: this.#offset, length }
    this.#offset += length
    return place
  }

  /** The log thread has begun the current segment: another spare may be made. */
  begun(): void {
    this.#spare.make()
  }

  /** No file is being made any more. */
  get settled(): Effect.Effect<void> {
    return Effect.promise(() => this.#spare.settled)
  }

  #hasRoomFor(bytes: number): boolean {
    const { bavail, bsize } = statfsSync(this.#directory)
    return bavail * bsize >= bytes * roomFactor
  }

  #fits(length: number): boolean {
    return this.#offset + length <= this.segmentBytes
  }
}
