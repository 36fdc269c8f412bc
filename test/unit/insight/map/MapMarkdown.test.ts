/** Memories are written by anybody; the text of the map is read by language models and renderers. */
import { drawMap, summaryLengthMax } from "@muniment/insight/map/DrawMap"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { memoryOf } from "./mapFixtures.ts"

/** "obey" as variation selectors: drawn nowhere, read by models. */
const hidden = [..."obey"].map((letter) => String.fromCodePoint(0xe00f0 + letter.charCodeAt(0))).join("")

const bulletOf = (fact: string): string => drawMap([memoryOf("mem_1", { fact }, undefined)]).memoryMap.split("\n")[2]!

describe("a bullet of the map", () => {
  it("shows id, kind and one line", () => {
    const data = { subject: "Alice", fact: "lives in Seattle", since: 2019, moved: true, until: null }
    expect(drawMap([memoryOf("mem_1", data, undefined)]).memoryMap).toBe(
      "## Other (1)\n\n- mem_1 (factual_memory): Alice: lives in Seattle, since 2019, moved\n"
    )
  })

  it("stays on one line and in the direction of the text", () => {
    expect(bulletOf("one\n# two\r\n- three\u2028four\u202Efive\u200Bsix\u0007seven\ud800")).toBe(
      String.raw`- mem_1 (factual_memory): one \# two - three fourfivesixseven` + "\ufffd"
    )
  })

  it("shows nothing that is invisible: characters of Unicode that carry hidden bytes", () => {
    expect(bulletOf(`likes tea \u{1f375}${hidden} and\u{e0041}\u{e0042} cakes${hidden}`)).toBe(
      "- mem_1 (factual_memory): likes tea \u{1f375} and cakes"
    )
  })

  it("neutralises links, HTML, code and emphasis", () => {
    expect(bulletOf("[click](http://x.y) <b>`rm`</b> *now* _or_ snake_case ![i](j) www.x.y a@b ~~c~~ &amp; |")).toBe(
      String.raw`- mem_1 (factual_memory): \[click\](http\://x.y) \<b\>\`rm\`\</b\> \*now\* \_or\_ snake_case !\[i\](j) www\.x.y a\@b \~\~c\~\~ \&amp; \|`
    )
  })

  it("is cut at a bound, never within a character", () => {
    const cut = bulletOf("🦊".repeat(500)).replace("- mem_1 (factual_memory): ", "")
    expect([...cut]).toHaveLength(summaryLengthMax)
    expect(cut).toMatch(/^(?:🦊)+…$/u)
  })

  it("says so when a memory has no text", () => {
    expect(drawMap([memoryOf("mem_1", { empty: "\u200b" }, undefined)]).memoryMap).toContain("(no text)")
  })

  it("adds no line for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (fact) => {
        const lines = drawMap([memoryOf("mem_1", { fact }, undefined)]).memoryMap.split(/[\n\r\u0085\u2028\u2029]/)
        expect(lines).toHaveLength(4)
      })
    )
  })
})

describe("the topics of a map", () => {
  const near = Float32Array.of(1, 0)
  const clusterOf = (facts: ReadonlyArray<string>) =>
    drawMap(facts.flatMap((fact, at) => [0, 1].map((copy) => memoryOf(`m${at}_${copy}`, { fact }, near)))).clusters

  it("are written as people write them, with their names", () => {
    const [first] = clusterOf(["met Maria in Lisbon"])
    expect(first!.terms.join(" ")).toMatch(/Maria|Lisbon/)
  })

  it("hold nothing that is invisible", () => {
    expect(clusterOf([`cakes${hidden}`]).map(({ topic }) => topic)).toEqual(["cakes"])
  })

  it("are never empty and never the same, and none is called Other", () => {
    const topics = clusterOf(["!!!", "???", "12 34", "other", "Other"]).map(({ topic }) => topic)
    expect(new Set(topics.map((topic) => topic.toLowerCase())).size).toBe(topics.length)
    expect(topics).not.toContain("Other")
    for (const topic of topics) expect(topic.trim()).not.toBe("")
  })
})
