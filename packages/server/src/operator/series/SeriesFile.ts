/**
 * The minutes of the series: `series.bin` in the data directory, a ring of `Limits.seriesMinutesKept` records of one
 * length, each at the place of its minute, counted from the minute of the first record: the file is as long as what it
 * has. A minute is one small write, without a sync: what a power cut takes is a gap in a chart. A place whose record
 * names another minute is empty. The seconds in memory are records too.
 */
import { constants, writeSync } from "node:fs"
import { type FileHandle, open, readFile, rename, writeFile } from "node:fs/promises"
import { Limits } from "@muniment/domain/Limits"
import type { SeriesPoint } from "@muniment/domain/Operations"

export const minuteMillis = 60_000

/** Records read at once: a turn of the event loop decodes no more. */
const chunkRecords = 1_440

export class SeriesFile {
  readonly #handle: FileHandle
  /** Minute of the first place, or any that shares this place; undefined: nothing was written yet. */
  #firstMinute: number | undefined

  private constructor(handle: FileHandle, firstMinute: number | undefined) {
    this.#handle = handle
    this.#firstMinute = firstMinute
  }

  /** Made if it is missing; only its owner reads it. */
  static async open(path: string): Promise<SeriesFile> {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    const first = await firstMinuteIn(handle)
    if (first !== undefined || (await handle.stat()).size === 0) return new SeriesFile(handle, first)
    try {
      await moveToBegin(path)
    } catch {
      // A start on a full disk goes on with the places of earlier releases, whose first minute was 0.
      return new SeriesFile(handle, 0)
    }
    await handle.close()
    return SeriesFile.open(path)
  }

  write(point: SeriesPoint): void {
    const bytes = new Uint8Array(recordBytes)
    writeRecord(point, new DataView(bytes.buffer), 0)
    this.#firstMinute ??= minuteOf(point)
    writeSync(this.#handle.fd, bytes, 0, recordBytes, placeOf(minuteOf(point), this.#firstMinute))
  }

  /** Points from `from` on, before `to`, oldest first. */
  async read(from: number, to: number): Promise<ReadonlyArray<SeriesPoint>> {
    const found: Array<SeriesPoint> = []
    const first = this.#firstMinute
    if (first === undefined) return found
    const end = Math.ceil(to / minuteMillis)
    const chunk = new Uint8Array(chunkRecords * recordBytes)
    const view = new DataView(chunk.buffer)
    for (let minute = Math.max(0, Math.ceil(from / minuteMillis)); minute < end;) {
      const at = placeOf(minute, first)
      const untilWrap = Limits.seriesMinutesKept - at / recordBytes
      const records = Math.min(chunkRecords, end - minute, untilWrap)
      const { bytesRead } = await this.#handle.read(chunk, 0, records * recordBytes, at)
      for (let one = 0; (one + 1) * recordBytes <= bytesRead; one++) {
        const point = readRecord(view, one * recordBytes)
        if (point?.at === (minute + one) * minuteMillis) found.push(point)
      }
      minute += records
    }
    return found
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

const minuteOf = ({ at }: SeriesPoint): number => Math.floor(at / minuteMillis)

const placeOf = (minute: number, firstMinute: number): number => {
  const behind = (minute - firstMinute) % Limits.seriesMinutesKept
  return (behind < 0 ? behind + Limits.seriesMinutesKept : behind) * recordBytes
}

const firstMinuteIn = async (handle: FileHandle): Promise<number | undefined> => {
  const bytes = new Uint8Array(recordBytes)
  const { bytesRead } = await handle.read(bytes, 0, recordBytes, 0)
  const point = bytesRead === recordBytes ? readRecord(new DataView(bytes.buffer), 0) : undefined
  return point && minuteOf(point)
}

/**
 * Moves the minutes of a file whose first place is empty, as earlier releases left it for all but one minute of a
 * month.
 */
const moveToBegin = async (path: string): Promise<void> => {
  const old = await readFile(path)
  const places = Array.from({ length: Math.floor(old.length / recordBytes) }, (_, at) => at * recordBytes)
  const view = new DataView(old.buffer, old.byteOffset, old.length)
  const points = places.flatMap((place) => readRecord(view, place) ?? []).toSorted((one, other) => one.at - other.at)
  const newest = points.at(-1)
  const kept = points.filter((point) => minuteOf(point) > minuteOf(newest!) - Limits.seriesMinutesKept)
  const [first] = kept
  const moved = new Uint8Array(first === undefined ? 0 : placeOf(minuteOf(newest!), minuteOf(first)) + recordBytes)
  const target = new DataView(moved.buffer)
  for (const point of kept) writeRecord(point, target, placeOf(minuteOf(point), minuteOf(first!)))
  await writeFile(`${path}.writing`, moved, { mode: 0o600 })
  await rename(`${path}.writing`, path)
}

/** In the order of a record; a later version appends, so that `recordBytes` tells records of two versions apart. */
const fields = [
  "at",
  "calls",
  "errors",
  "refused",
  "p50Millis",
  "p99Millis",
  "processors",
  "residentBytes",
  "memories",
  "bytes",
  "charged",
  "receivedUsd"
] as const satisfies ReadonlyArray<keyof SeriesPoint>

export const recordBytes = fields.length * Float64Array.BYTES_PER_ELEMENT

/** Null is kept as NaN. */
const writeRecord = (point: SeriesPoint, view: DataView, offset: number): void => {
  for (const [at, field] of fields.entries()) view.setFloat64(offset + at * 8, point[field] ?? Number.NaN, true)
}

/** Undefined: nothing was written there, or not wholly. */
const readRecord = (view: DataView, offset: number): SeriesPoint | undefined => {
  const at = view.getFloat64(offset, true)
  if (!(Number.isSafeInteger(at) && at > 0)) return undefined
  const number = (field: number): number => {
    const value = view.getFloat64(offset + field * 8, true)
    return Number.isFinite(value) ? value : 0
  }
  const orNull = (field: number): number | null => {
    const value = view.getFloat64(offset + field * 8, true)
    return Number.isFinite(value) ? value : null
  }
  return {
    at,
    calls: number(1),
    errors: number(2),
    refused: number(3),
    p50Millis: orNull(4),
    p99Millis: orNull(5),
    processors: number(6),
    residentBytes: number(7),
    memories: orNull(8),
    bytes: number(9),
    charged: number(10),
    receivedUsd: number(11)
  }
}

/** Points gathered into steps; `points` are in order of time. */
export const inSteps = (points: ReadonlyArray<SeriesPoint>, stepMillis: number): ReadonlyArray<SeriesPoint> =>
  [...Map.groupBy(points, ({ at }) => Math.floor(at / stepMillis) * stepMillis)].map(([at, parts]) => merged(at, parts))

const merged = (at: number, parts: ReadonlyArray<SeriesPoint>): SeriesPoint => {
  const last = parts.at(-1)!
  const sum = (of: (point: SeriesPoint) => number): number => parts.reduce((total, point) => total + of(point), 0)
  const called = parts.filter(({ p50Millis }) => p50Millis !== null)
  const calls = called.reduce((total, point) => total + point.calls, 0)
  return {
    ...last,
    at,
    calls: sum((point) => point.calls),
    errors: sum((point) => point.errors),
    refused: sum((point) => point.refused),
    p50Millis: calls === 0 ? null : rounded(sum(({ calls: weight, p50Millis }) => weight * (p50Millis ?? 0)) / calls),
    p99Millis: calls === 0 ? null : Math.max(...called.map(({ p99Millis }) => p99Millis ?? 0)),
    processors: rounded(sum((point) => point.processors) / parts.length),
    charged: sum((point) => point.charged)
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
