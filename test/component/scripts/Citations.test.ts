/** What `tidy` reads as prose, and which references in it lead nowhere. */
import { describe, expect, it } from "vitest"
import { citationFindings, headingsOf, limitNames } from "../../../scripts/tidy/Citations.ts"
import { commentsOf, paragraphsOf } from "../../../scripts/tidy/Prose.ts"
import { makeSourceFile } from "../../../scripts/tidy/SourceFile.ts"

const path = "packages/engine/src/Sample.ts"
const citable = {
  paths: new Set(["README.md", "packages/engine/README.md", "packages/engine/docs/format.md"]),
  sections: ["Search", "Plans and the daily job"],
  limits: new Set(["mailboxCapacity"])
}
const rulesOf = (text: string) => citationFindings({ path, line: 1, text }, citable).map(({ rule }) => rule)

describe("a citation", () => {
  for (const text of [
    "see README.md",
    "see packages/engine/README.md",
    "see ../docs/format.md",
    "see engine/docs/format.md",
    "see https://example.com/a/rules.md",
    "written to bench/results/<suite>.md",
    "contract: Search",
    "contract: Plans and the daily job, where storage is charged",
    "`Limits.mailboxCapacity`, see Limits.ts"
  ]) {
    it(`may be: ${text}`, () => expect(rulesOf(text)).toEqual([]))
  }
  for (const [text, rule] of [
    ["see interface.md, section 3", "citation"],
    ["see docs/README2.md", "citation"],
    ["specification section 4.1", "citation"],
    ["(specification 4.1 and 8)", "citation"],
    ["contract: Payouts", "citation"],
    ["`Limits.mailboxSize`", "limit-name"]
  ] as const) {
    it(`may not be: ${text}`, () => expect(rulesOf(text)).toEqual([rule]))
  }
})

describe("a link of a page", () => {
  const linksOf = (text: string) =>
    citationFindings({ path: "packages/engine/docs/a.md", line: 1, text }, citable).map(({ rule }) => rule)

  it("may lead to a file, a folder, a heading or another site", () => {
    expect(linksOf("[a](../README.md#terms), [b](../../engine), [c](#c), [d](https://example.com/d)")).toEqual([])
  })
  it("may not lead to what is not there", () => {
    expect(linksOf("[a](../../control)")).toEqual(["link"])
  })
})

describe("prose", () => {
  it("is the comments of a file, and not what looks like one in a text", () => {
    const text = 'const a = "// one" // two\nconst b = `/* ${a} */`, c = /\\/\\//\n/**\n * Three,\n * four.\n */\n'
    expect(commentsOf(makeSourceFile(path, text))).toEqual([
      { path, line: 1, text: "two" },
      { path, line: 3, text: "Three, four." }
    ])
  })
  it("joins line comments that follow each other", () => {
    expect(commentsOf(makeSourceFile(path, "// one\n// two\nwork()"))).toEqual([{ path, line: 1, text: "one two" }])
  })
  it("is the paragraphs of a page, each with its line", () => {
    expect(paragraphsOf("a.md", "# A\n\nOne\ntwo.\n\nThree.\n")).toEqual([
      { path: "a.md", line: 1, text: "# A" },
      { path: "a.md", line: 2, text: "One two." },
      { path: "a.md", line: 5, text: "Three." }
    ])
  })
})

it("headings are those outside of code samples", () => {
  expect(headingsOf("# A\n\n## B c\n```\n# not this\n```\n")).toEqual(["A", "B c"])
})

it("names of bounds are those that Limits lists", () => {
  expect(limitNames("export const Limits = {\n  a: 1,\n  b: { c: 2 }\n} as const\nconst d = {\n  e: 1\n}")).toEqual(
    new Set(["a", "b"])
  )
})
