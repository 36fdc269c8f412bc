/** Processor profiles as flame graphs. */
import { describe, expect, it } from "vitest"
import { type CpuProfile, type Flame, flameGraph, flamesOf } from "../../../bench/request/FlameGraph.ts"

const node = (id: number, functionName: string, url = "", children: ReadonlyArray<number> = []) => ({
  id,
  callFrame: { functionName, url, lineNumber: 6 },
  children
})

/** Samples of 10 us each, from the second microsecond 1,000 on. */
const profile: CpuProfile = {
  nodes: [
    node(1, "(root)", "", [2, 7, 8]),
    node(2, "listen", "node:http", [3]),
    node(3, "runLoop", "file:///p/node_modules/effect/dist/a.js", [4]),
    node(4, "flatMap", "file:///p/node_modules/effect/dist/b.js", [5, 6]),
    node(5, "search", "file:///p/packages/engine/src/MemorySearch.ts"),
    node(6, "", "file:///p/packages/engine/src/MemorySearch.ts"),
    node(7, "(idle)"),
    node(8, "(garbage collector)")
  ],
  samples: [5, 7, 5, 6, 8, 3],
  timeDeltas: [10, 10, 10, 10, 10, 10],
  startTime: 1_000
}

const lines = ({ children }: Flame, depth = 0): ReadonlyArray<string> =>
  [...children.values()].flatMap((flame) => [
    `${" ".repeat(depth)}${flame.name} ${flame.part} ${flame.micros}`,
    ...lines(flame, depth + 1)
  ])

describe("flames of a profile", () => {
  it("are a frame for each function of ours and one for a library, with what waits left out", () => {
    const root = flamesOf(profile, 0, Infinity)
    expect(root.micros).toBe(50)
    expect(lines(root)).toEqual([
      "node:http node 40",
      " effect effect 40",
      "  search (MemorySearch) ours 20",
      "  line 7 (MemorySearch) ours 10",
      "(garbage collector) collector 10"
    ])
  })

  it("are those of the samples within the time", () => {
    expect(lines(flamesOf(profile, 1_040, 1_050))).toEqual([
      "node:http node 10",
      " effect effect 10",
      "  line 7 (MemorySearch) ours 10",
      "(garbage collector) collector 10"
    ])
  })

  it("are drawn as wide as their share, each with its name and share", () => {
    const svg = flameGraph(flamesOf(profile, 0, Infinity), "a < b")
    expect(svg).toContain(">a &lt; b</text>")
    expect(svg).toContain("<title>search (MemorySearch): 40.0 %</title>")
    expect(svg).toContain('<rect x="0.0" y="76" width="479.5"')
    expect(svg.match(/<g>/g)).toHaveLength(5)
  })
})
