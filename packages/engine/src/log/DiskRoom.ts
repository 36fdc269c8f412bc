/** Free room on the disk of a directory. */
import { statfsSync } from "node:fs"

/** Free space required for a segment, as a multiple of its size: the rest is left to the copies and to erasures. */
const roomFactor = 2

export class DiskRoom {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Bytes that this process may still write; none on a disk that cannot be asked. */
  get freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.#directory)
      return bavail * bsize
    } catch {
      return 0
    }
  }

  /** Whether there is room for a segment of this size. */
  hasFor(bytes: number): boolean {
    return this.freeBytes >= bytes * roomFactor
  }
}
