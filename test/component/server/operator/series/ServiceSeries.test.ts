/** The service over time: what a second and a minute hold, how long they are kept, and what a restart leaves. */
import { join } from "node:path"
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import type { SeriesPoint } from "@muniment/domain/Operations"
import { SeriesFile, recordBytes } from "@muniment/server/operator/series/SeriesFile"
import { CallTally, type SeriesSources, makeServiceSeries } from "@muniment/server/operator/series/ServiceSeries"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../../support/it.ts"

const start = Date.UTC(2026, 10, 25, 12, 0, 0)
const minute = 60_000

const sourcesAt = (path: string) => {
  const gauges = { processorSeconds: 0, refused: 0, chargedMicro: 0 }
  const levels = { residentBytes: 1, memories: 0 as number | null, bytes: 0, receivedUsd: 0 }
  const tally = new CallTally()
  const sources: SeriesSources = {
    path,
    tally,
    gauges: () => ({ ...gauges }),
    levels: Effect.sync(() => ({ ...levels }))
  }
  return { gauges, levels, sources, tally }
}

const point: SeriesPoint = {
  at: start,
  calls: 0,
  errors: 0,
  refused: 0,
  p50Millis: null,
  p99Millis: null,
  processors: 0,
  residentBytes: 0,
  memories: null,
  bytes: 0,
  charged: 0,
  receivedUsd: 0
}

const seriesFile = () => join(temporaryDirectory(), "series.bin")

describe("the series of the service", () => {
  it.effect("holds each second: calls, how they ended, how long they took, what they cost", function* () {
    yield* TestClock.setTime(start)
    const { gauges, sources, tally } = sourcesAt(seriesFile())
    const series = yield* makeServiceSeries(sources)
    for (let call = 0; call < 98; call++) tally.add(200, 1)
    tally.add(500, 800)
    tally.add(429, 800)
    Object.assign(gauges, { processorSeconds: 0.5, refused: 3, chargedMicro: 2_000_000 })
    yield* TestClock.adjust("2 seconds")
    const { points, stepMillis } = yield* series.read("hour", Limits.seriesPointsMax)
    expect(stepMillis).toBe(1_000)
    expect(points).toMatchObject([
      { at: start, calls: 100, errors: 1, refused: 4, processors: 0.5, charged: 2 },
      { at: start + 1_000, calls: 0, errors: 0, refused: 0, p50Millis: null, p99Millis: null, charged: 0 }
    ])
    const [{ p50Millis, p99Millis } = { p50Millis: 0, p99Millis: 0 }] = points
    expect(p50Millis).toBeGreaterThanOrEqual(1)
    expect(p50Millis).toBeLessThan(1.2)
    expect(p99Millis).toBeGreaterThanOrEqual(800)
    expect(p99Millis).toBeLessThan(960)
  })

  it.effect("shows the levels of now at the end of the hour, not those of the minute before", function* () {
    yield* TestClock.setTime(start)
    const { levels, sources } = sourcesAt(seriesFile())
    const series = yield* makeServiceSeries(sources)
    yield* TestClock.adjust("2 seconds")
    Object.assign(levels, { memories: 20_000, bytes: 5_000_000 })
    const { points } = yield* series.read("hour", 60)
    expect(points.at(-1)).toMatchObject({ memories: 20_000, bytes: 5_000_000 })
  })

  it.effect("keeps the last hour of seconds and no more", function* () {
    yield* TestClock.setTime(start)
    const { sources } = sourcesAt(seriesFile())
    const series = yield* makeServiceSeries(sources)
    yield* TestClock.adjust((Limits.seriesSecondsKept + 30) * 1_000)
    const { points } = yield* series.read("hour", Limits.seriesPointsMax)
    expect(points).toHaveLength(Limits.seriesSecondsKept)
    expect(points[0]?.at).toBe(start + 30_000)
  })

  it.effect("keeps minutes over a restart; what was not running is missing", function* () {
    yield* TestClock.setTime(start)
    const path = seriesFile()
    const first = sourcesAt(path)
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* makeServiceSeries(first.sources)
        first.tally.add(200, 5)
        first.levels.memories = 7
        yield* TestClock.adjust("2 minutes")
      })
    )
    yield* TestClock.adjust("3 minutes")
    const second = sourcesAt(path)
    second.levels.memories = null
    const series = yield* makeServiceSeries(second.sources)
    yield* TestClock.adjust("1 minute")
    const { from, points, to } = yield* series.read("day", Limits.seriesPointsMax)
    expect(to - from).toBe(1_440 * minute)
    expect(points).toMatchObject([
      { at: start, calls: 1, memories: 0 },
      { at: start + minute, calls: 0, memories: 7 },
      { at: start + 5 * minute, calls: 0, memories: null }
    ])
    const half = yield* series.read("day", 720)
    expect(half).toMatchObject({
      stepMillis: 2 * minute,
      points: [
        { at: start, calls: 1, memories: 7 },
        { at: start + 4 * minute, memories: null }
      ]
    })
    expect((yield* series.read("hour", 360)).points.every(({ calls }) => calls === 0)).toBe(true)
  })

  it("takes no more of the disk than its minutes need, in whichever minute of a month it begins", async () => {
    const path = seriesFile()
    for (const [at, minutes] of [
      [0, [0, 1]],
      [1, [2, 5]]
    ] as const) {
      const file = await SeriesFile.open(path)
      for (const one of minutes) file.write({ ...point, at: start + one * minute })
      await file.close()
      expect(statSync(path).size).toBe([2, 6][at]! * recordBytes)
    }
  })

  it("takes over a file whose minutes lie at their place in a month, as earlier releases wrote it", async () => {
    const path = seriesFile()
    const { seriesMinutesKept } = Limits
    // Across the end of the ring, whose first place is empty.
    const wrap = Math.ceil(start / minute / seriesMinutesKept) * seriesMinutesKept
    const minutes = [wrap - 2, wrap - 1, wrap + 1]
    const old = new Uint8Array(seriesMinutesKept * recordBytes)
    for (const one of minutes) {
      const made = join(temporaryDirectory(), "one.bin")
      const single = await SeriesFile.open(made)
      single.write({ ...point, at: one * minute, calls: one })
      await single.close()
      old.set(readFileSync(made), (one % seriesMinutesKept) * recordBytes)
    }
    writeFileSync(path, old)
    const file = await SeriesFile.open(path)
    file.write({ ...point, at: (wrap + 2) * minute, calls: wrap + 2 })
    const read = await file.read((wrap - 10) * minute, (wrap + 10) * minute)
    expect(read.map(({ at, calls }) => [at / minute, calls])).toEqual([...minutes, wrap + 2].map((one) => [one, one]))
    expect(statSync(path).size).toBe(5 * recordBytes)
    await file.close()
  })

  it("goes on where a file of earlier releases cannot be made anew", async () => {
    const path = seriesFile()
    const at = Math.ceil(start / minute / Limits.seriesMinutesKept) * Limits.seriesMinutesKept * minute + 3 * minute
    const made = join(temporaryDirectory(), "one.bin")
    const single = await SeriesFile.open(made)
    single.write({ ...point, at })
    await single.close()
    writeFileSync(path, Buffer.concat([Buffer.alloc(3 * recordBytes), readFileSync(made)]))
    mkdirSync(`${path}.writing`)
    const file = await SeriesFile.open(path)
    file.write({ ...point, at: at + minute })
    expect((await file.read(at, at + 2 * minute)).map((one) => one.at - at)).toEqual([0, minute])
    await file.close()
  })

  it("takes a bounded file, and one that was cut off as far as it goes", async () => {
    const path = seriesFile()
    const file = await SeriesFile.open(path)
    for (const minutes of [0, Limits.seriesMinutesKept - 1, Limits.seriesMinutesKept, Limits.seriesMinutesKept + 1]) {
      file.write({ ...point, at: start + minutes * minute, calls: minutes })
    }
    expect(statSync(path).size).toBeLessThanOrEqual(Limits.seriesMinutesKept * recordBytes)
    const end = start + (Limits.seriesMinutesKept + 2) * minute
    const read = async () => (await file.read(end - Limits.seriesMinutesKept * minute, end)).map(({ at }) => at - start)
    const kept = [-1, 0, 1].map((at) => (Limits.seriesMinutesKept + at) * minute)
    expect(await read()).toEqual(kept)
    truncateSync(path, recordBytes + 10)
    expect(await read()).toEqual(kept.slice(1, 2))
    await file.close()
  })
})
