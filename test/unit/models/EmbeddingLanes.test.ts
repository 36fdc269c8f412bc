import {
  backlogPerBatchMax,
  charactersPerBatchMax,
  EmbeddingLanes,
  helpedFromTexts,
  helpedPerBatchMax,
  overtakingBatchesMax,
  passagesPerBatchMax,
  pendingTextsMax,
  type PendingText,
  queriesPerBatchMax
} from "@muniment/models/EmbeddingQueue"
import fc from "fast-check"
import { describe, expect, it } from "vitest"

const textsOf = (modelId: string, ...texts: ReadonlyArray<string>): Array<PendingText> =>
  texts.map((text) => ({ modelId, text, isCancelled: false }))

const numbered = (count: number): Array<PendingText> =>
  textsOf("m", ...Array.from({ length: count }, (_, index) => `text ${index}`))

describe("the lanes", () => {
  it("let a query overtake the passages that wait", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    lanes.offer("passage", numbered(20))
    expect(lanes.next()?.lane).toBe("passage")
    lanes.offer("query", textsOf("m", "where?"))
    expect(lanes.next()?.items.map((item) => item.text)).toEqual(["where?"])
    expect(lanes.next()?.lane).toBe("passage")
  })

  it("let a passage batch through after a long run of queries", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    lanes.offer("passage", numbered(1))
    lanes.offer("query", numbered(queriesPerBatchMax * (overtakingBatchesMax.passage + 1)))
    const order = Array.from({ length: overtakingBatchesMax.passage + 2 }, () => lanes.next()?.lane)
    expect(order.indexOf("passage")).toBe(overtakingBatchesMax.passage)
    expect(order.at(-1)).toBe("query")
  })

  it("let passages that somebody waits for overtake the backlog, which is not forgotten", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    lanes.offer("backlog", numbered(2 * backlogPerBatchMax))
    expect(lanes.next()?.lane).toBe("backlog")
    lanes.offer("passage", textsOf("m", "just said"))
    expect(lanes.next()?.items.map((item) => item.text)).toEqual(["just said"])
    lanes.offer("passage", numbered(passagesPerBatchMax * (overtakingBatchesMax.backlog + 1)))
    const order = Array.from({ length: overtakingBatchesMax.backlog + 2 }, () => lanes.next()?.lane)
    expect(order.filter((lane) => lane === "backlog")).toHaveLength(1)
    expect(order.indexOf("backlog")).toBe(overtakingBatchesMax.backlog - 1)
  })

  it("cut the backlog into smaller batches than passages that somebody waits for", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    lanes.offer("backlog", numbered(passagesPerBatchMax))
    lanes.offer("passage", numbered(passagesPerBatchMax))
    expect(lanes.next()?.items).toHaveLength(passagesPerBatchMax)
    expect(lanes.next()?.items).toHaveLength(backlogPerBatchMax)
    expect(backlogPerBatchMax).toBeLessThan(passagesPerBatchMax)
  })

  it("give another thread of the backlog alone, in larger batches, and nothing when little is left", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    lanes.offer("passage", numbered(100))
    lanes.offer("query", numbered(4))
    expect(lanes.modelToHelp).toBeUndefined()
    lanes.offer("backlog", numbered(helpedFromTexts + helpedPerBatchMax - 1))
    expect(lanes.modelToHelp).toBe("m")
    expect(lanes.nextForHelper("another")).toBeUndefined()
    const batch = lanes.nextForHelper("m")!
    expect(batch.items).toHaveLength(helpedPerBatchMax)
    expect(lanes.nextForHelper("m")).toBeUndefined()
    lanes.putBack(batch)
    expect(lanes.backlogCount).toBe(helpedFromTexts + helpedPerBatchMax - 1)
    expect(lanes.passageCount).toBe(100)
  })

  it("sort passages of several callers by length before they are cut into batches", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    lanes.offer("passage", textsOf("m", "a long passage", "x"))
    lanes.offer("passage", textsOf("m", "middling"))
    expect(lanes.next()?.items.map((item) => item.text)).toEqual(["x", "middling", "a long passage"])
  })

  it("drop what was cancelled", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    const items = textsOf("m", "keep", "drop")
    lanes.offer("passage", items)
    items[1]!.isCancelled = true
    expect(lanes.next()?.items.map((item) => item.text)).toEqual(["keep"])
    expect(lanes.next()).toBeUndefined()
  })

  it("refuse an offer that would overflow, whole", () => {
    const lanes = new EmbeddingLanes<PendingText>()
    expect(lanes.offer("passage", numbered(pendingTextsMax))).toBe(true)
    expect(lanes.offer("query", numbered(1))).toBe(false)
    expect(lanes.queryCount).toBe(0)
  })

  it("give every text exactly once, in batches of one model within the bounds", () => {
    const offer = fc.record({
      lane: fc.constantFrom("query" as const, "passage" as const, "backlog" as const),
      modelId: fc.constantFrom("a", "b"),
      lengths: fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 30 })
    })
    fc.assert(
      fc.property(fc.array(offer, { maxLength: 12 }), (offers) => {
        const lanes = new EmbeddingLanes<PendingText>()
        const offered = offers.flatMap(({ lane, modelId, lengths }) => {
          const items = textsOf(modelId, ...lengths.map((length) => "x".repeat(length)))
          lanes.offer(lane, items)
          return items
        })
        const given: Array<PendingText> = []
        for (let batch = lanes.next(); batch !== undefined; batch = lanes.next()) {
          const { items, lane, modelId } = batch
          expect(items.length).toBeLessThanOrEqual(lane === "query" ? queriesPerBatchMax : passagesPerBatchMax)
          expect(items.every((item) => item.modelId === modelId)).toBe(true)
          const characters = items.reduce((sum, item) => sum + item.text.length, 0)
          if (lane !== "query" && items.length > 1) expect(characters).toBeLessThanOrEqual(charactersPerBatchMax)
          given.push(...items)
        }
        expect(given.length).toBe(offered.length)
        expect(new Set(given)).toEqual(new Set(offered))
      })
    )
  })
})
