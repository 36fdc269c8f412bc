/**
 * A file of zeros that is given up when the disk is full, so that deletes, which need room in the
 * log, still work: without it 27 of 32 full disks refused them (reliability.md). It is written again
 * once there is room for it several times over.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeSync
} from "node:fs"
import { Limits } from "@muniment/domain/Limits"

/** Its name in the data directory. */
export const ballastName = "ballast"

/** Free space, in ballasts, from which one is written again. */
const roomFactor = 4

export class Ballast {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  get bytes(): number {
    return existsSync(this.#path) ? statSync(this.#path).size : 0
  }

  /** Gives the space back to the file system; false when there was none left to give. */
  release(): boolean {
    if (this.bytes === 0) return false
    rmSync(this.#path, { force: true })
    return true
  }

  /** Gives back a part of it, as long as it lasts. */
  releasePart(bytes: number): void {
    const left = this.bytes - bytes
    if (left > 0) truncateSync(this.#path, left)
    else this.release()
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
    }
  }
}
