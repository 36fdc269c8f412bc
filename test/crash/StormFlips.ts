/**
 * Flipped bits in the data directory of a service, of each kind of file, and of which agent each may take something.
 *
 * Of the commit log only records are hit of which a record that is itself synced says that they are: a flip in the last
 * group, together with a power cut, looks like a torn tail (format page). Nor two headers in a row: whose the records
 * between whole ones are is known of the last.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { basename, join } from "node:path"
import { headerBytes, processTag } from "@muniment/engine/log/logFormat"
import { listSegments, logFolder, segmentPath } from "@muniment/engine/log/segmentFiles"
import type { SeededRandom } from "../support/SeededRandom.ts"
import { type Bit, bitNearContent, flipBit } from "./flipOne.ts"
import { recordsIn, safeRecords } from "./LoggedRecords.ts"

/** While the service runs; `-shm` is memory that it shares, and no file to it. */
export const runningKinds = [
  "agent file",
  "agent file's log",
  "record header",
  "first header of a segment",
  "record body",
  "room of the log"
] as const
export const stoppedKinds = [...runningKinds, "index of a log", "small file"] as const
export const controlKinds = ["control.db", "control.db-wal", "control.db.base", "control.db.base.json"] as const
export type FlipKind = (typeof stoppedKinds)[number] | (typeof controlKinds)[number]

export interface Flip {
  readonly kind: FlipKind
  readonly file: string
  readonly bit: Bit
  /** The agent that may lose something by it; undefined: none. */
  readonly tag: string | undefined
}

interface Place {
  readonly path: string
  /** The part that is hit; default: near what the file holds. */
  readonly bytes?: { readonly from: number; readonly to: number }
  readonly tag?: string
}

/** Newest records of the log, of which every other flip hits one: their copies may be behind. */
const newestRecords = 60

/** Not what locks the directory, what has nothing but zeros, and what other kinds are. */
const notSmall = /^(lock\.db.*|server\.lock|ballast|control\.db.*|.*-shm)$/

export class StormFlips {
  readonly #directory: string
  readonly #random: SeededRandom
  readonly counts: Partial<Record<FlipKind, number>> = {}
  /** Ordinals of records whose header was hit. */
  readonly #headers = new Set<number>()

  constructor(directory: string, random: SeededRandom) {
    this.#directory = directory
    this.#random = random
  }

  /** Undefined: there is no such file, or it went meanwhile. */
  flip(kind: FlipKind): Flip | undefined {
    try {
      const place = this.#place(kind)
      if (place === undefined || statSync(place.path).size === 0) return undefined
      const { path, bytes, tag } = place
      const bit =
        bytes === undefined
          ? bitNearContent(readFileSync(path), this.#random)
          : { at: this.#random.between(bytes.from, bytes.to - 1), bit: this.#random.between(0, 7) }
      flipBit(path, bit)
      this.counts[kind] = (this.counts[kind] ?? 0) + 1
      return { kind, file: path.slice(this.#directory.length + 1), bit, tag }
    } catch (cause) {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
      throw cause
    }
  }

  /** As an operator who has another copy of the file. */
  undo({ bit, file }: Flip): void {
    flipBit(join(this.#directory, file), bit)
  }

  #place(kind: FlipKind): Place | undefined {
    switch (kind) {
      case "agent file":
        return this.#agentFile(".db")
      case "agent file's log":
        return this.#agentFile(".db-wal")
      case "index of a log":
        return this.#agentFile(".db-shm")
      case "record header":
      case "first header of a segment":
      case "record body":
        return this.#record(kind)
      case "room of the log":
        return this.#room()
      case "small file": {
        const names = readdirSync(this.#directory, { withFileTypes: true }).filter((entry) => entry.isFile())
        const name = this.#random.pick(names.map((entry) => entry.name).filter((one) => !notSmall.test(one)))
        return name === undefined ? undefined : { path: join(this.#directory, name) }
      }
      default: {
        const path = join(this.#directory, kind)
        return existsSync(path) ? { path } : undefined
      }
    }
  }

  #agentFile(ending: string): Place | undefined {
    const folder = join(this.#directory, "namespaces")
    const names = readdirSync(folder).filter((name) => /^[0-9a-f]{12}\./.test(name) && name.endsWith(ending))
    const name = this.#random.pick(names.filter((one) => statSync(join(folder, one)).size > 0))
    return name === undefined ? undefined : { path: join(folder, name), tag: basename(name).slice(0, 12) }
  }

  #record(kind: "record header" | "first header of a segment" | "record body"): Place | undefined {
    const isHeader = kind !== "record body"
    const safe = safeRecords(join(this.#directory, logFolder)).filter(({ at, header: { length, ordinal } }) =>
      isHeader
        ? (at === 0 || kind === "record header") && [-1, 0, 1].every((step) => !this.#headers.has(ordinal + step))
        : length > headerBytes
    )
    const record = this.#random.pick(this.#random.next() < 0.5 ? safe.slice(-newestRecords) : safe)
    if (record === undefined) return undefined
    const { at, header, path } = record
    if (isHeader) this.#headers.add(header.ordinal)
    const bytes = isHeader ? { from: at, to: at + headerBytes } : { from: at + headerBytes, to: at + header.length }
    return { path, bytes, ...(header.tag !== processTag && { tag: header.tag }) }
  }

  /** Zeros behind the last record, which the next ones take. */
  #room(): Place | undefined {
    const directory = join(this.#directory, logFolder)
    const segment = listSegments(directory).at(-1)
    if (segment === undefined) return undefined
    const path = segmentPath(directory, segment)
    const last = recordsIn(path).at(-1)
    const from = last === undefined ? 0 : last.at + last.header.length
    const to = Math.min(statSync(path).size, from + 65_536)
    return from < to ? { path, bytes: { from, to } } : undefined
  }
}
