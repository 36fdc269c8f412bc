/** The newer of two messages about the same matter goes first (contract: Search, `newerFirst`). */
import { describe, expect, it } from "vitest"
import { newerUp, type DatedMessage } from "@muniment/engine/ranking/NewerFirst"
import { messageTraits } from "@muniment/engine/text/MessageText"

interface Hit extends DatedMessage {
  readonly name: string
}

const hit = (
  name: string,
  eventAt: number | undefined,
  given: Partial<Hit> & { speaker?: string; traits?: number } = {}
): Hit => ({
  name,
  createdAt: 0,
  eventAt,
  message: { speaker: given.speaker ?? "Ann", traits: given.traits ?? 0, position: eventAt },
  ...given
})
const names = (hits: ReadonlyArray<Hit>) => hits.map(({ name }) => name).join(" ")
const always = () => true

describe("newerUp", () => {
  it("puts the newer statement before the older one, and keeps the others in place", () => {
    const [old, other, fresh] = [hit("old", 1), hit("other", 2), hit("fresh", 3)]
    const isSame = (one: Hit, two: Hit) => one !== other && two !== other
    expect(names(newerUp([old, other, fresh], isSame))).toBe("fresh old other")
    expect(names(newerUp([fresh, other, old], isSame))).toBe("fresh other old")
    expect(names(newerUp([old, other, fresh], () => false))).toBe("old other fresh")
  })

  it("sorts several of one matter by time", () => {
    expect(names(newerUp([hit("a", 1), hit("b", 3), hit("c", 2)], always))).toBe("b c a")
  })

  it("looks at the first five alone", () => {
    const hits = Array.from({ length: 7 }, (_, at) => hit(String(at), at))
    expect(names(newerUp(hits, always))).toBe("4 3 2 1 0 5 6")
  })

  it("compares statements of one speaker alone", () => {
    expect(names(newerUp([hit("old", 1), hit("ben", 2, { speaker: "Ben" })], always))).toBe("old ben")
    expect(names(newerUp([hit("old", 1), hit("asks", 2, { traits: messageTraits.onlyAsks })], always))).toBe("old asks")
    expect(names(newerUp([hit("old", 1), { ...hit("fact", 2), message: undefined }], always))).toBe("old fact")
  })

  it("goes by the time of storing and by position where no other time differs", () => {
    expect(names(newerUp([hit("old", undefined), hit("fresh", undefined, { createdAt: 5 })], always))).toBe("fresh old")
    const placed = (name: string, position: number) =>
      hit(name, 7, { message: { speaker: "Ann", traits: 0, position } })
    expect(names(newerUp([placed("first", 1), placed("second", 2)], always))).toBe("second first")
  })
})
