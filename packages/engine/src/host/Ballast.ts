/**
 * A file of zeros, deleted when the disk is full so that removals still work: they need space in the log, and without
 * the ballast they failed on 27 of 32 full disks. Written again once several times its size is free.
 */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, truncateSync, writeSync } from "node:fs"
import { Limits } from "@muniment/domain/Limits"

/** File name in the data directory. */
export const ballastName = "ballast"

/** Free space required to write it again, as a multiple of its size. */
const roomFactor = 4
/** Free space without which nothing that grows is written while the ballast is out, as a multiple of its size. */
const reserveFactor = 2

export class Ballast {
  readonly #path: string
  /** As last seen. Every write asks, and a look at the file took a twentieth of its processor time. */
  #bytesSeen: number

  constructor(path: string) {
    this.#path = path
    this.#bytesSeen = this.bytes
  }

  /** Looks at the file. */
  get bytes(): number {
    return (this.#bytesSeen = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0)
  }

  /** Deletes the file; false if there was none. */
  release(): boolean {
    if (this.bytes === 0) return false
    rmSync(this.#path, { force: true })
    this.#bytesSeen = 0
    return true
  }

  /**
   * The ballast was used, and what is free has to be kept for removals in its place: before, ordinary writes took it,
   * and then nothing could be removed any more.
   */
  isOut(directory: string): boolean {
    if (this.#bytesSeen * 2 >= Limits.filesystemBallastBytes) return false
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize < Limits.filesystemBallastBytes * reserveFactor
  }

  /** Shortens the file by `bytes`, and deletes it at the end. */
  releasePart(bytes: number): void {
    const left = this.bytes - bytes
    if (left <= 0) return void this.release()
    truncateSync(this.#path, left)
    this.#bytesSeen = left
  }

  /** Writes the file if it is missing and there is room. */
  restore(directory: string): void {
    const { bavail, bsize } = statfsSync(directory)
    if (this.bytes === Limits.filesystemBallastBytes || bavail * bsize < Limits.filesystemBallastBytes * roomFactor)
      return
    const file = openSync(this.#path, "w")
    try {
      writeSync(file, new Uint8Array(Limits.filesystemBallastBytes))
      fsyncSync(file)
    } finally {
      closeSync(file)
      this.#bytesSeen = this.bytes
    }
  }
}
