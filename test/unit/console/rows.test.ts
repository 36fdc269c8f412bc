/** Rows that the console reads from a file or a pasted text. */
import { describe, expect, it } from "vitest"
import { rowsIn } from "../../../packages/console/src/service/rows.ts"

const fieldsOf = (text: string) => rowsIn(text).rows.map(({ fields }) => fields)

describe("a table of CSV", () => {
  it.each([
    ["a,b\n1,2", [{ a: "1", b: "2" }]],
    [
      "\uFEFFa;b\r\n1;2,3\r\n\r\n4;\r\n",
      [
        { a: "1", b: "2,3" },
        { a: "4", b: "" }
      ]
    ],
    ["a\tb\n1", [{ a: "1", b: "" }]],
    ['a,b\n"1,""x""","two\nlines"', [{ a: '1,"x"', b: "two\nlines" }]],
    ['a,b\n"open,2', [{ a: '"open', b: "2" }]],
    ["a,b", []],
    ["", []]
  ])("%j", (text, rows) => {
    expect(rowsIn(text).format).toBe("CSV")
    expect(fieldsOf(text)).toEqual(rows)
  })

  it("names the rows with more cells than the first line", () => {
    const { faults, rows } = rowsIn("a,b\n1,2\n1,2,3\n4,5")
    expect(faults).toEqual([{ number: 2, fault: "It has 3 cells, the first line names 2." }])
    expect(rows.map(({ number }) => number)).toEqual([1, 3])
  })
})

describe("JSON", () => {
  it("comes as an array, as lines, or as one object", () => {
    expect(rowsIn('[{"a":1},{"b":2}]')).toMatchObject({ format: "JSON", columns: ["a", "b"] })
    expect(fieldsOf('{"a":1}\n\n{"a":2}\n')).toEqual([{ a: 1 }, { a: 2 }])
    expect(fieldsOf('{\n "a": 1\n}')).toEqual([{ a: 1 }])
  })

  it("names what is no object", () => {
    expect(rowsIn('{"a":1}\nnone\n[1]').faults.map(({ number }) => number)).toEqual([2, 3])
    expect(rowsIn('[1,{"a":1}]').faults).toEqual([{ number: 1, fault: "It is no JSON object." }])
  })

  it("gives a memory that the service answered as it would be given", () => {
    const metadata = { fact: "x", agentId: "a", subjectId: "s", createdAt: 1, contentHash: "0x1" }
    const memory = { id: "mem_1", kind: "factual_memory", data: { fact: "x" }, metadata, context: { tags: ["t"] } }
    const given = { kind: "factual_memory", data: { fact: "x" }, agentId: "a", subjectId: "s", tags: ["t"] }
    expect(fieldsOf(JSON.stringify(memory))).toEqual([given])
  })
})
