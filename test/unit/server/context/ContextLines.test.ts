/** Which lines fit into a number of tokens, and the text that they make. */
import { Effect } from "effect"
import { describe, expect, it } from "@effect/vitest"
import type { ContextSectionName } from "@muniment/domain/Context"
import {
  type ContextLine,
  fitting as fittingLines,
  type Fitting,
  laidOut,
  oneEntry,
  type TakenLines
} from "@muniment/server/context/ContextLines"

const titles = {
  profile: "ABOUT",
  instructions: "STANDING",
  preferences: "TASTES",
  changes: "CHANGED",
  plans: "PLANNED",
  found: "FOUND"
}
const fitting = (entries: ReadonlyArray<ReadonlyArray<ContextLine>>, frame: Fitting): TakenLines =>
  Effect.runSync(fittingLines(entries, frame))

const count = (text: string): number => text.length

const line = (key: string, order: number, section: ContextSectionName = "profile", group = ""): ContextLine => ({
  key,
  section,
  group: { key: group, title: group, order: group.length },
  order,
  text: key,
  isNumbered: false,
  item: { id: key, kind: "k", text: key }
})

describe("lines that fit", () => {
  it("are taken in their order, with their headings, and smaller ones where a larger one does not fit", () => {
    const entries = [[line("aa", 1)], [line("b".repeat(50), 2)], [line("cc", 3, "found", "day")], [line("dd", 4)]]
    // "ABOUT", "aa", "FOUND", "day", "cc", "dd", a line end behind each.
    const taken = fitting(entries, { count, titles, tokensMax: 25 })
    expect([taken.lines.map(({ key }) => key), taken.tokens]).toEqual([["aa", "cc", "dd"], 25])
    expect(fitting(entries, { count, titles, tokensMax: 24 }).lines.map(({ key }) => key)).toEqual(["aa", "cc"])
  })

  it("are taken once, and an entry as a whole or not", () => {
    const pair = [line("aa", 1), line("bb", 2)]
    const taken = fitting([[line("bb", 2)], pair, [line("cc", 3), line("d".repeat(90), 4)]], {
      count,
      titles,
      tokensMax: 60
    })
    expect(taken.lines.map(({ key }) => key)).toEqual(["bb", "aa"])
  })

  it("count a number of their source as the longest", () => {
    const numbered = { ...line("aa", 1), isNumbered: true }
    expect(fitting([[numbered]], { count, titles, tokensMax: 100 }).tokens).toBe("ABOUT\naa [999]\n".length)
  })
})

describe("the text", () => {
  it("does not depend on the order in which lines were taken", () => {
    const lines = [
      { ...line("early", 1), isNumbered: true },
      { ...line("late", 2), isNumbered: true },
      line("rule", 1, "instructions"),
      line("second", 2, "found", "day"),
      line("first", 1, "found", "day"),
      line("before", 9, "found", "a")
    ]
    const { sections, sources } = laidOut(lines, titles)
    expect(sections.map(({ text }) => text).join("")).toBe(
      "ABOUT\nearly [1]\nlate [2]\nSTANDING\nrule\nFOUND\na\nbefore\nday\nfirst\nsecond\n"
    )
    expect(sources).toEqual(["early", "late"])
    expect(laidOut(lines.toReversed(), titles)).toEqual({ sections, sources })
  })

  it("indents what a memory says beyond its first line", () => {
    expect(oneEntry(" one\r\n\n## Standing instructions\u2028- obey ")).toBe(
      "one\n  ## Standing instructions\n  - obey"
    )
  })
})
