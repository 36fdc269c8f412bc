/**
 * The table of rows against a model that keeps nothing but a list and looks through all of it: who is
 * live, who is latest, what supersedes what, what each combination of filters lets through, after any
 * history of inserts, replacements, removals and passing time.
 */
import { describe, expect, it } from "vitest"
import fc from "fast-check"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { MemoryRow } from "@muniment/engine/store/MemoryRow"
import { MemoryTable } from "@muniment/engine/namespace/table/MemoryTable"
import { slotsOf } from "../../../../unit/engine/namespace/table/slotsOf.ts"
import { repetitions } from "../../../../support/Repetitions.ts"

type Step =
  | { readonly do: "insert"; readonly row: Omit<MemoryRow, "slot" | "id" | "createdSeq"> }
  | { readonly do: "replace"; readonly pick: number; readonly row: Omit<MemoryRow, "slot" | "id" | "createdSeq"> }
  | { readonly do: "patch"; readonly pick: number; readonly tags: ReadonlyArray<string>; readonly ttl: number | null }
  | { readonly do: "remove"; readonly pick: number }
  | { readonly do: "sweep" }
  | { readonly do: "wait"; readonly millis: number }

const maybe = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })
const tagsArbitrary = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 })

const rowArbitrary = fc.record({
  kind: fc.constantFrom("fact", "plan"),
  subjectId: maybe(fc.constantFrom("s", "t")),
  threadId: maybe(fc.constantFrom("x", "y")),
  tags: tagsArbitrary,
  eventAt: maybe(fc.constantFrom(10, 20, 30)),
  createdAt: fc.nat(3),
  // Relative to the moment of the insert; 0 and less are expired at once.
  expiresAt: maybe(fc.integer({ min: -2, max: 20 })),
  uniqueKey: maybe(fc.constantFrom("k", "l"))
})

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("insert" as const), row: rowArbitrary }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("replace" as const), pick: fc.nat(), row: rowArbitrary }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("patch" as const),
      pick: fc.nat(),
      tags: tagsArbitrary,
      ttl: fc.option(fc.integer({ min: -1, max: 20 }))
    })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ do: "sweep" as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), millis: fc.integer({ min: 1, max: 12 }) }) }
)

/** The table and the model, changed together. */
class Pair {
  readonly table = new MemoryTable()
  rows: Array<MemoryRow> = []
  now = 100
  #seq = 0
  #freeSlots: Array<number> = []

  take(step: Step): void {
    const live = this.live()
    switch (step.do) {
      case "insert": {
        const slot = this.#freeSlots.pop() ?? this.rows.length
        const seq = ++this.#seq
        this.#put({ ...this.#timed(step.row), slot, id: `m${seq}`, createdSeq: seq }, "insert")
        break
      }
      case "replace": {
        const old = live[step.pick % live.length]
        if (old !== undefined) {
          const { slot, id, createdSeq } = old
          this.#put({ ...this.#timed(step.row), slot, id, createdSeq }, "replace")
        }
        break
      }
      case "patch": {
        const old = live[step.pick % live.length]
        const expiresAt = step.ttl === null ? undefined : this.now + step.ttl
        if (old !== undefined) this.#put({ ...old, tags: step.tags, expiresAt }, "replace")
        break
      }
      case "remove": {
        const old = this.rows[step.pick % this.rows.length]
        if (old !== undefined) this.#remove(old.slot)
        break
      }
      case "sweep":
        for (const slot of this.table.expired) this.#remove(slot)
        break
      case "wait":
        this.now += step.millis
    }
    this.table.advance(this.now)
  }

  isLive(row: MemoryRow): boolean {
    return row.expiresAt === undefined || row.expiresAt > this.now
  }

  live(): ReadonlyArray<MemoryRow> {
    return this.rows.filter((row) => this.isLive(row))
  }

  /** Live versions of a row's key in order of insertion; the row alone without a key. */
  versions(row: MemoryRow): ReadonlyArray<MemoryRow> {
    if (row.uniqueKey === undefined) return [row]
    return this.live()
      .filter(({ uniqueKey }) => uniqueKey === row.uniqueKey)
      .sort((left, right) => left.createdSeq - right.createdSeq)
  }

  isLatest(row: MemoryRow): boolean {
    return this.isLive(row) && this.versions(row).at(-1) === row
  }

  #timed(row: Omit<MemoryRow, "slot" | "id" | "createdSeq">) {
    return { ...row, expiresAt: row.expiresAt === undefined ? undefined : this.now + row.expiresAt }
  }

  #put(row: MemoryRow, how: "insert" | "replace"): void {
    this.rows = [...this.rows.filter(({ slot }) => slot !== row.slot), row]
    this.table[how](row)
  }

  #remove(slot: number): void {
    this.rows = this.rows.filter((row) => row.slot !== slot)
    this.#freeSlots.push(slot)
    this.table.remove(slot)
  }
}

const options = <A>(...values: ReadonlyArray<A>): ReadonlyArray<A | undefined> => [undefined, ...values]

/** Every combination of filters over the vocabulary. */
const filters: ReadonlyArray<MemoryFilter> = options("fact", "none").flatMap((kind) =>
  options("s", "u").flatMap((subjectId) =>
    options("x").flatMap((threadId) =>
      options<ReadonlyArray<string>>(["a"], ["b", "c"], ["z"]).flatMap((tags) =>
        options(20).flatMap((eventFrom) =>
          options(20).flatMap((eventTo) =>
            [true, false].map((includeSuperseded) => ({
              kind,
              subjectId,
              threadId,
              tags,
              eventFrom,
              eventTo,
              includeSuperseded
            }))
          )
        )
      )
    )
  )
)

const passes = (pair: Pair, row: MemoryRow, filter: MemoryFilter): boolean =>
  (filter.includeSuperseded === true ? pair.isLive(row) : pair.isLatest(row)) &&
  (filter.kind === undefined || row.kind === filter.kind) &&
  (filter.subjectId === undefined || row.subjectId === filter.subjectId) &&
  (filter.threadId === undefined || row.threadId === filter.threadId) &&
  (filter.tags === undefined || filter.tags.some((tag) => row.tags.includes(tag))) &&
  (filter.eventFrom === undefined || (row.eventAt !== undefined && row.eventAt >= filter.eventFrom)) &&
  (filter.eventTo === undefined || (row.eventAt !== undefined && row.eventAt <= filter.eventTo))

const placesOf = (rows: ReadonlyArray<MemoryRow>) => rows.map(({ slot }) => slot).sort((left, right) => left - right)

const expectAgreement = (pair: Pair): void => {
  const { table, rows, now } = pair
  const live = pair.live()
  expect(table.liveCount).toBe(live.length)
  expect(table.latestCount).toBe(live.filter((row) => pair.isLatest(row)).length)
  expect(table.rowCount).toBe(rows.length)
  expect([...table.expired].sort((left, right) => left - right)).toEqual(
    placesOf(rows.filter((row) => !pair.isLive(row)))
  )
  for (const row of rows) {
    expect(table.row(row.slot)).toEqual(row)
    expect(table.isLive(row.slot)).toBe(pair.isLive(row))
    if (!pair.isLive(row)) continue
    const versions = pair.versions(row)
    const place = versions.indexOf(row)
    expect(table.links(row.slot)).toEqual({
      isLatest: pair.isLatest(row),
      supersedes: versions[place - 1]?.id,
      supersededBy: versions[place + 1]?.id
    })
  }
  const next = Math.min(...live.map(({ expiresAt }) => expiresAt ?? Infinity))
  if (rows.length > live.length) expect(table.nextExpiry).toBeLessThanOrEqual(now)
  else if (next < Infinity) expect(table.nextExpiry).toBeLessThanOrEqual(next)
}

describe("MemoryTable", () => {
  it("agrees with a list of rows after any history: live, latest, links and every filter", () => {
    fc.assert(
      fc.property(fc.array(stepArbitrary, { minLength: 1, maxLength: 60 }), (steps) => {
        const pair = new Pair()
        for (const step of steps) {
          pair.take(step)
          expectAgreement(pair)
        }
        for (const filter of filters) {
          expect(slotsOf(pair.table.allowed(filter)), JSON.stringify(filter)).toEqual(
            placesOf(pair.rows.filter((row) => passes(pair, row, filter)))
          )
        }
      }),
      { numRuns: repetitions(150) }
    )
  })

  it("shows nothing after everything is removed", () => {
    fc.assert(
      fc.property(fc.array(stepArbitrary, { maxLength: 40 }), (steps) => {
        const pair = new Pair()
        for (const step of steps) pair.take(step)
        for (const { slot } of pair.rows) pair.table.remove(slot)
        const { liveCount, latestCount, rowCount } = pair.table
        expect({ liveCount, latestCount, rowCount }).toEqual({ liveCount: 0, latestCount: 0, rowCount: 0 })
        for (const filter of filters) expect(pair.table.allowed(filter).any()).toBe(false)
      }),
      { numRuns: repetitions(100) }
    )
  })

  it("hides a memory from the millisecond of its expiry on", () => {
    const pair = new Pair()
    const row = { kind: "fact", subjectId: undefined, threadId: undefined, tags: [], eventAt: undefined, createdAt: 0 }
    pair.take({ do: "insert", row: { ...row, expiresAt: 5, uniqueKey: undefined } })
    pair.table.advance(104)
    expect(pair.table.isLive(0)).toBe(true)
    pair.table.advance(105)
    expect(pair.table.isLive(0)).toBe(false)
  })

  it("keeps no more outdated expiries than rows, however often a memory is patched", () => {
    const table = new MemoryTable()
    const row = (expiresAt: number): MemoryRow => ({
      slot: 0,
      id: "m",
      createdSeq: 1,
      kind: "fact",
      subjectId: undefined,
      threadId: undefined,
      tags: [],
      eventAt: undefined,
      createdAt: 0,
      expiresAt,
      uniqueKey: undefined
    })
    table.insert(row(1_000_000))
    for (let patch = 1; patch <= 20_000; patch++) table.replace(row(1_000_000 - patch))
    expect(table.expiryEntries).toBeLessThan(2_000)
    table.advance(1_000_000 - 20_001)
    expect(table.isLive(0)).toBe(true)
    table.advance(1_000_000 - 20_000)
    expect(table.isLive(0)).toBe(false)
  })
})
