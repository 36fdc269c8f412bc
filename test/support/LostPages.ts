/**
 * The disk below files whose page cache says more than it has, as after a sync that failed: what a step writes reaches it
 * with the sync that follows, in whole pages, and a sync that fails loses the pages that it was to write. Names reach it
 * with the directory's sync.
 *
 * Covers files of one directory that are there at the begin and are written, renamed and deleted by `node:fs` in this
 * process, by `writeSync`, `writevSync`, `renameSync` and `rmSync`.
 */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"

const pageBytes = 4_096

export class LostPages {
  readonly #directory: string
  /** By path: what a power cut leaves of the file that is there. */
  readonly #disk = new Map<string, Buffer>()
  /** The same by the path that a power cut leaves. */
  #names: ReadonlyMap<string, Buffer>
  /** By path: pages that the next sync writes. */
  readonly #dirty = new Map<string, Set<number>>()
  #syncsToFail = 0

  /** The disk has all files of the directory as they are now. */
  constructor(directory: string) {
    this.#directory = directory
    for (const name of fs.readdirSync(directory)) {
      const path = join(directory, name)
      this.#disk.set(path, fs.readFileSync(path))
    }
    this.#names = new Map(this.#disk)
  }

  /** The disk lacks what the page cache has of a file from `offset` on: zeros are there. */
  lose(path: string, offset: number): void {
    this.#disk.get(path)?.fill(0, offset)
  }

  failNextSync(): void {
    this.#syncsToFail = 1
  }

  /** Runs a step over this disk. */
  under<A>(step: () => A): A {
    const real = { ...fs }
    const paths = new Map<number, string>()
    const wrote = (file: number, at: number, bytes: number) => {
      const pages = this.#dirty.get(paths.get(file)!) ?? new Set()
      for (let page = Math.floor(at / pageBytes); page * pageBytes < at + bytes; page++) pages.add(page)
      this.#dirty.set(paths.get(file)!, pages)
    }
    const sync = (file: number) => {
      if (paths.get(file) === this.#directory) this.#names = new Map(this.#disk)
      if (!this.#disk.has(paths.get(file)!)) return real.fsyncSync(file)
      this.#sync(paths.get(file)!)
    }
    const stands = {
      openSync: (path: string, flags: string, mode?: number) => {
        const file = real.openSync(path, flags, mode)
        paths.set(file, path)
        return file
      },
      writeSync: (file: number, bytes: Uint8Array, from: number, length: number, at: number) => {
        wrote(file, at, length)
        return real.writeSync(file, bytes, from, length, at)
      },
      writevSync: (file: number, buffers: ReadonlyArray<Uint8Array>, at: number) => {
        const written = real.writevSync(file, [...buffers], at)
        wrote(file, at, written)
        return written
      },
      renameSync: (from: string, to: string) => {
        real.renameSync(from, to)
        const bytes = this.#disk.get(from)
        this.#disk.delete(from)
        if (bytes !== undefined) this.#disk.set(to, bytes)
      },
      rmSync: (path: string, options?: fs.RmOptions) => {
        real.rmSync(path, options)
        this.#disk.delete(path)
      },
      fsyncSync: sync,
      fdatasyncSync: sync
    }
    Object.assign(fs, stands)
    syncBuiltinESMExports()
    try {
      return step()
    } finally {
      for (const name of Object.keys(stands) as Array<keyof typeof stands>) Object.assign(fs, { [name]: real[name] })
      syncBuiltinESMExports()
    }
  }

  /** The files are those that the disk has, and have what it has. */
  cutPower(): void {
    for (const path of this.#disk.keys()) fs.rmSync(path, { force: true })
    for (const [path, bytes] of this.#names) fs.writeFileSync(path, bytes)
    this.#dirty.clear()
  }

  #sync(path: string): void {
    const pages = this.#dirty.get(path) ?? new Set()
    this.#dirty.delete(path)
    if (this.#syncsToFail > 0) {
      this.#syncsToFail--
      throw Object.assign(new Error("EIO: injected"), { code: "EIO" })
    }
    const cached = fs.readFileSync(path)
    for (const page of pages)
      cached.copy(this.#disk.get(path)!, page * pageBytes, page * pageBytes, (page + 1) * pageBytes)
  }
}
