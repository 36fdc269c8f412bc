import { EmbeddingUnavailable } from "@muniment/models/EmbeddingThread"
import { catalog } from "@muniment/models/ModelCatalog"
import { ModelSlots } from "@muniment/models/ModelLoader"
import { describe, expect, it } from "vitest"

const spec = catalog[0]!

/** Slots with the model loaded in a thread, and the clock that they read. */
const loadedSlots = () => {
  const clock = { nowMillis: 0 }
  const slots = new ModelSlots(() => clock.nowMillis)
  const load = () => slots.succeed(spec, slots.crashCount)
  load()
  return { slots, clock, load }
}

describe("the slots", () => {
  it("lose every model with its thread, at once", () => {
    const { slots } = loadedSlots()
    expect(slots.stateOf(spec.id)).toBe("ready")
    slots.onThreadLost("out of memory")
    expect(slots.loaded(spec.id)).toBeUndefined()
    expect(slots.stateOf(spec.id)).toMatchObject({ reason: expect.stringContaining("out of memory") })
  })

  it("refuse a model whose thread died before its load was noted", () => {
    const { slots } = loadedSlots()
    const crashesBefore = slots.crashCount
    slots.onThreadLost("out of memory")
    expect(slots.succeed(spec, crashesBefore)).toBe(false)
  })

  it("double the pause with each crash in a row, up to a bound, and start over after a good batch", () => {
    const { slots, clock, load } = loadedSlots()
    const pauseMillis = (): number => {
      slots.onThreadLost("crash")
      const startMillis = clock.nowMillis
      while (slots.current(spec.id) !== undefined) clock.nowMillis += 250
      load()
      return clock.nowMillis - startMillis
    }
    expect([pauseMillis(), pauseMillis(), pauseMillis()]).toEqual([250, 500, 1_000])
    for (let crash = 0; crash < 8; crash++) pauseMillis()
    expect(pauseMillis()).toBe(30_000)
    slots.markHealthy()
    expect(pauseMillis()).toBe(250)
  })

  it("tell a reason once, not at every retry", () => {
    const { slots } = loadedSlots()
    const missing = new EmbeddingUnavailable({ modelId: spec.id, reason: "no file" })
    expect([slots.fail(missing), slots.fail(missing)]).toEqual([true, false])
  })
})
