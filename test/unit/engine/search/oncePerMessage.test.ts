import { describe, expect, it } from "vitest"
import { oncePerMessage } from "@muniment/engine/search/presentFirst"

/** `m1`: a message; `f1`: a fact taken from it; `f12`: one of two messages. */
const hit = (name: string) => ({
  id: name,
  memory: { sources: Array.from(name.slice(1), (key) => ({ key })) },
  ranked: { candidate: { namespace: "n", message: name.startsWith("m") ? {} : undefined } }
})
const page = (names: string, limit: number) => oncePerMessage(names.split(" ").map(hit), limit).map(({ id }) => id)

describe("a page with facts and their messages", () => {
  it.each([
    ["m1 f1 m2 m3", 3, ["m1", "m2", "m3"]],
    ["f1 m1 m2 m3", 3, ["f1", "m2", "m3"]],
    ["m2 f12 m1 m3", 3, ["m2", "f12", "m3"]],
    ["m2 m1 f12 m3", 3, ["m2", "m1", "m3"]],
    ["m2 f14 m1 m3", 3, ["m2", "f14", "m3"]],
    ["f1 f1 m1 m2", 3, ["f1", "f1", "m2"]],
    ["f12 m3 m1 m2", 3, ["f12", "m3", "m1"]],
    ["f m1 m2", 2, ["f", "m1"]],
    ["m1 f1 m2", 3, ["m1", "f1", "m2"]],
    ["m1 f1 f1 f1", 3, ["m1", "f1", "f1"]]
  ] as const)("of %s shows %i: of a fact and its message the higher one stays", (names, limit, shown) =>
    expect(page(names, limit)).toEqual(shown)
  )
})
