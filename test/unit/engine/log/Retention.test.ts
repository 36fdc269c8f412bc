/** Which segments of the commit log may go. */
import { describe, expect, it } from "vitest"
import { Retention, type SegmentIndex } from "@muniment/engine/log/LogIndex"

const segmentBytes = 16_777_216
const nowMillis = 10_000_000
const state = { segmentBytes, nowMillis, isTight: false }
const tagOf = (number: number): string => number.toString(16).padStart(12, "0")

/** Segments of 100 ordinals each; `tags` have their last record at the end of the segment. */
const segments = (count: number, tags: (segment: number) => ReadonlyArray<string>): ReadonlyArray<SegmentIndex> =>
  Array.from({ length: count }, (_, at) => ({
    segment: at + 1,
    firstOrdinal: at * 100 + 1,
    lastOrdinal: at * 100 + 100,
    firstMillis: nowMillis,
    lastMillis: nowMillis,
    bytes: 0,
    commits: new Map(tags(at + 1).map((tag) => [tag, [at * 100 + 100, 0, 1]]))
  }))

describe("a segment", () => {
  it("goes when all copies hold it, but for the newest 64 MB", () => {
    const retention = new Retention()
    const sealed = segments(10, () => [tagOf(1), tagOf(2)])
    expect(retention.droppable(sealed, state)).toBe(0)
    retention.rebase(tagOf(1), 1_000)
    retention.rebase(tagOf(2), 350)
    expect(retention.droppable(sealed, state)).toBe(3)
    retention.rebase(tagOf(2), 1_000)
    expect(retention.droppable(sealed, state)).toBe(6)
    // What a copy holds does not become less.
    retention.rebase(tagOf(2), 10)
    expect(retention.droppable(sealed, state)).toBe(6)
  })

  it("goes after ten minutes, also of the newest 64 MB", () => {
    const retention = new Retention()
    const sealed = segments(3, () => [tagOf(1)])
    retention.rebase(tagOf(1), 200)
    expect(retention.droppable(sealed, { ...state, nowMillis: nowMillis + 600_000 })).toBe(0)
    expect(retention.droppable(sealed, { ...state, nowMillis: nowMillis + 600_001 })).toBe(2)
  })

  it("goes at once on a tight disk, unless a copy or an archive needs it", () => {
    const retention = new Retention()
    const sealed = segments(3, (segment) => [tagOf(segment)])
    const tight = { ...state, isTight: true }
    expect(retention.droppable(sealed, tight)).toBe(0)
    expect(retention.holders(sealed, tight)).toEqual([tagOf(1), tagOf(2), tagOf(3)])
    for (const number of [1, 2, 3]) retention.rebase(tagOf(number), 300)
    expect(retention.droppable(sealed, tight)).toBe(3)
    expect(retention.droppable(sealed, state)).toBe(0)
    retention.hold("archive", 200)
    expect(retention.droppable(sealed, tight)).toBe(1)
  })

  it("stays while an archive holds it, and no longer", () => {
    const retention = new Retention()
    const sealed = segments(10, () => [])
    retention.hold("archive", 250)
    expect(retention.droppable(sealed, state)).toBe(2)
    retention.hold("archive", 301)
    expect(retention.droppable(sealed, state)).toBe(3)
    retention.hold("archive", Infinity)
    expect(retention.droppable(sealed, state)).toBe(6)
  })

  it("is held back by the dirty ones of 10,000 namespaces alone, and the log stays within 80 MB", () => {
    const retention = new Retention()
    const dirty = Array.from({ length: 20 }, (_, at) => tagOf(at + 1))
    for (let clean = 21; clean <= 10_000; clean++) retention.rebase(tagOf(clean), 1)
    const sealed: Array<SegmentIndex> = []
    let checkpoints = 0
    for (let count = 1; count <= 200; count++) {
      sealed.push(segments(count, () => dirty).at(-1)!)
      const holders = retention.holders(sealed, state)
      expect(holders.length).toBeLessThanOrEqual(20)
      checkpoints += holders.length
      for (const tag of holders) retention.rebase(tag, count * 100)
      sealed.splice(0, retention.droppable(sealed, state))
      // And the segment that is written.
      expect((sealed.length + 1) * segmentBytes).toBeLessThanOrEqual(80 * 1_048_576)
    }
    // A checkpoint serves all segments before it.
    expect(checkpoints).toBeLessThanOrEqual((200 / 4) * 20)
  })
})
