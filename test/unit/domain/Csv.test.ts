/** CSV that a spreadsheet opens without computing anything. */
import { describe, expect, it } from "vitest"
import { csvOf } from "@muniment/domain/Statement"

describe("csvOf", () => {
  it("quotes separators, quotes and line breaks, and ends lines with CR LF", () => {
    expect(
      csvOf([
        ["a", 'b"c'],
        ["d,e", "f\ng"],
        [null, -1.5]
      ])
    ).toBe('a,"b""c"\r\n"d,e","f\ng"\r\n,-1.5\r\n')
  })

  it("puts an apostrophe before what a spreadsheet takes for a formula, and leaves numbers alone", () => {
    for (const text of [
      "=1+1",
      "+1",
      "-1",
      "@SUM(A1)",
      "\tx",
      "\rx",
      "\n=1",
      "\uff1d1",
      "\uff0b1",
      "\uff0d1",
      "\uff20x",
      '=HYPERLINK("http://x","y")'
    ]) {
      const cell = csvOf([[text]]).replace(/^"/, "")
      expect(cell.startsWith(`'${text[0]}`), text).toBe(true)
    }
    expect(csvOf([[-5]])).toBe("-5\r\n")
  })
})
