/** Elements of JSON texts, however the text is cut into chunks. */
import { JsonElements } from "@muniment/cli/importers/foreignElements"
import { describe, expect, it } from "vitest"

const elementsOf = (text: string, size: number, isSplit?: (key: string) => boolean) => {
  const elements = new JsonElements(isSplit)
  const found = []
  for (let at = 0; at < text.length; at += size) found.push(...elements.push(text.slice(at, at + size)))
  expect(elements.isWhole).toBe(true)
  return found.map(({ isRest, key, text: one }) => [key, isRest, JSON.parse(one!)])
}

describe.each([1, 3, 1_000])("in chunks of %i characters", (size) => {
  it("an array gives its objects", () => {
    expect(elementsOf(' [{"a":"]}"}, {"b":[{"c":1}]}] ', size)).toEqual([
      ["", false, { a: "]}" }],
      ["", false, { b: [{ c: 1 }] }]
    ])
  })

  it("an object of arrays gives the objects of each, and what is left of itself", () => {
    expect(elementsOf('{"n":[{"a":1},{"a":{"x":[]}}],"m":["s"],"e":[{"b":2}],"o":{"p":[{"q":1}]}}', size)).toEqual([
      ["n", false, { a: 1 }],
      ["n", false, { a: { x: [] } }],
      ["e", false, { b: 2 }],
      ["", true, { n: [], m: ["s"], e: [], o: { p: [{ q: 1 }] } }]
    ])
  })

  it("lines of objects give each, whole where their arrays hold no elements", () => {
    expect(elementsOf('{"a":[{"b":1}]}\n{"c":"\\"{"}\n', size, () => false)).toEqual([
      ["", false, { a: [{ b: 1 }] }],
      ["", false, { c: '"{' }]
    ])
  })
})
