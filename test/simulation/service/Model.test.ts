/** What the simulator's model allows of a repetition that comes when the first result may be forgotten. */
import { Limits } from "@muniment/domain/Limits"
import { describe, expect, it } from "vitest"
import { Model, type Write } from "./Model.ts"

const kept = Limits.idempotencyRetentionMillis

const writeOf = (kind: Write["kind"], id?: string): Write => ({
  key: "key-1",
  kind,
  id,
  text: "a text",
  expiresAt: undefined,
  deliveredAt: undefined,
  offered: [],
  done: [],
  copies: 2,
  tries: 1,
  isAcknowledged: false
})

/** A creation delivered and acknowledged at 0, with another copy on its way. */
const created = () => {
  const model = new Model()
  const write = writeOf("create")
  model.begin(write)
  const first = model.deliver(write, "mem_1", 0)!
  expect(model.acknowledge(write, { id: "mem_1", count: 1 }, 0)).toBeUndefined()
  first.until = 0
  return { model, write }
}

const both = new Map([
  ["mem_1", "a text"],
  ["mem_2", "a text"]
])

describe("a repetition of a creation", () => {
  it.each([
    [kept, "a repetition of key-1 is answered with another memory"],
    [kept + 1, undefined]
  ])("that is answered after %i ms with another memory: %s", (atMillis, fault) => {
    const { model, write } = created()
    model.deliver(write, "mem_2", atMillis)
    expect(model.acknowledge(write, { id: "mem_2", count: 1 }, atMillis)).toBe(fault)
  })

  it("may show a second memory only if it reached the service late enough", () => {
    const { model, write } = created()
    const late = model.deliver(write, "mem_2", kept)!
    late.until = kept
    // Seen much later: what counts is when it can have been carried out.
    expect(model.expectation()(both, 9 * kept, 9 * kept)).toEqual(["the creation key-1 is there 2 times"])
    late.until = kept + 1
    expect(model.expectation()(both, 9 * kept, 9 * kept)).toEqual([])
  })

  it("is there for good once somebody has seen it, and not at all once nobody has", () => {
    const seen = created()
    seen.model.deliver(seen.write, "mem_2", 2 * kept)
    seen.model.learn(both, 2 * kept, false)
    const first = new Map([["mem_1", "a text"]])
    expect(seen.model.expectation()(first, 2 * kept, 2 * kept)).toEqual(["mem_2 shows undefined, allowed: a text"])
    const unseen = created()
    unseen.model.deliver(unseen.write, "mem_2", 2 * kept)
    unseen.write.copies = 0
    unseen.model.learn(first, 2 * kept, true)
    expect(unseen.model.expectation()(both, 2 * kept, 2 * kept)).toEqual([
      "mem_2 shows a text, and nobody wrote it here"
    ])
  })
})

describe("a repetition of a removal", () => {
  it.each([
    [kept, "the removal key-1 of a stored memory counts 0"],
    [kept + 1, undefined]
  ])("that is answered after %i ms with nothing removed: %s", (atMillis, fault) => {
    const { model } = created()
    const write = writeOf("remove", "mem_1")
    model.deliver(write, undefined, 0)
    expect(model.acknowledge(write, { id: "mem_1", count: 0 }, atMillis)).toBe(fault)
  })
})

describe("a memory that the service may remove by itself", () => {
  const shown = new Map([["mem_1", "a text"]])
  const quiet = () => {
    const { model, write } = created()
    write.copies = 0
    model.end(write)
    return model
  }

  it("may go after it was seen once more, and does not come back", () => {
    const model = quiet()
    model.letGo(1)
    model.learn(shown, 2, true)
    expect(model.expectation()(new Map(), 3, 3)).toEqual([])
    model.learn(new Map(), 3, true)
    expect(model.expectation()(shown, 4, 4)).toEqual(["mem_1 shows a text, allowed: "])
  })

  it("stays if it is not old enough, or not any more", () => {
    const model = quiet()
    model.letGo(0)
    expect(model.expectation()(new Map(), 1, 1)).toEqual(["mem_1 shows undefined, allowed: a text"])
    model.letGo(1)
    model.letGo(0)
    model.learn(shown, 2, true)
    expect(model.expectation()(new Map(), 3, 3)).toEqual(["mem_1 shows undefined, allowed: a text"])
  })
})
