/**
 * The minutes of the series: `series.bin` in the data directory, a ring of `Limits.seriesMinutesKept` records of one
 * length, each at the place of its minute. A minute is one small write, without a sync: what a power cut takes is a
 * gap in a chart. A place whose record names another minute is empty.
 */
import { constants, writeSync } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { Limits } from "@muniment/domain/Limits"
import type { SeriesPoint } from "@muniment/domain/Operations"
import { readRecord, recordBytes, writeRecord } from "./SeriesRecord.ts"

export const minuteMillis = 60_000

/** Records read at once: a turn of the event loop decodes no more. */
const chunkRecords = 1_440

export class SeriesFile {
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Made if it is missing; only its owner reads it. */
  static async open(path: string): Promise<SeriesFile> {
    return new SeriesFile(await open(path, constants.O_RDWR | constants.O_CREAT, 0o600))
  }

  write(point: SeriesPoint): void {
    const bytes = new Uint8Array(recordBytes)
    writeRecord(point, new DataView(bytes.buffer), 0)
    writeSync(this.#handle.fd, bytes, 0, recordBytes, placeOf(point.at))
  }

  /** Those from `from` on, before `to`, oldest first. */
  async read(from: number, to: number): Promise<ReadonlyArray<SeriesPoint>> {
    const found: Array<SeriesPoint> = []
    const end = Math.ceil(to / minuteMillis)
    const chunk = new Uint8Array(chunkRecords * recordBytes)
    const view = new DataView(chunk.buffer)
    for (let minute = Math.max(0, Math.ceil(from / minuteMillis)); minute < end;) {
      const untilWrap = Limits.seriesMinutesKept - (minute % Limits.seriesMinutesKept)
      const records = Math.min(chunkRecords, end - minute, untilWrap)
      const { bytesRead } = await this.#handle.read(chunk, 0, records * recordBytes, placeOf(minute * minuteMillis))
      for (let at = 0; (at + 1) * recordBytes <= bytesRead; at++) {
        const point = readRecord(view, at * recordBytes)
        if (point?.at === (minute + at) * minuteMillis) found.push(point)
      }
      minute += records
    }
    return found
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

const placeOf = (atMillis: number): number =>
  (Math.floor(atMillis / minuteMillis) % Limits.seriesMinutesKept) * recordBytes
