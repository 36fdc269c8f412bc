/** Finding the JSON value in what a model wrote. */
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { jsonIn } from "@muniment/models/llm/ModelExchange"
import { cpuMillisNow } from "../../../support/CpuTime.ts"

describe("jsonIn", () => {
  it("finds any JSON object again, however it is wrapped", () => {
    const wraps = [
      (json: string) => json,
      (json: string) => `\n\n${json}  `,
      (json: string) => "```json\n" + json + "\n```",
      (json: string) => "Sure!\n```\n" + json + "\n```\nDone.",
      (json: string) => `The answer is: ${json}. Anything else?`,
      (json: string) => `<think>{"not": "this"}</think>${json}`,
      (json: string) => `The user likes {tea}, so...\n</think>\n\n${json}`,
      (json: string) => `For {the user} I found ${json}`
    ]
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(...wraps), (value, wrap) => {
        const json = JSON.stringify(value)
        // A fence inside a string ends a fence around it; models do not answer so, and it is not guessed.
        fc.pre(!json.includes("```"))
        expect(JSON.parse(jsonIn(wrap(json)))).toEqual(JSON.parse(json))
      })
    )
  })

  it("takes no whole part of a value that was cut off for the value", () => {
    for (const cut of ['{"facts":[{"a":1},{"b"', 'Here: {"facts":[{"a":1}', '```json\n{"facts":{"a":1}']) {
      expect(() => JSON.parse(jsonIn(cut))).toThrow()
    }
  })

  it("gives text without JSON back as it is", () => {
    for (const plain of ["nothing here", "", "{perhaps} [or not]", "}{"]) expect(jsonIn(plain)).toBe(plain)
  })

  it("looks at long answers of brackets or blanks in linear time", () => {
    const startedMillis = cpuMillisNow()
    jsonIn("[".repeat(500_000))
    jsonIn("{x} ".repeat(100_000))
    jsonIn("```json\n{" + "\n".repeat(500_000))
    jsonIn("```" + " \n".repeat(250_000) + "x")
    jsonIn("<think>".repeat(70_000))
    expect(cpuMillisNow() - startedMillis).toBeLessThan(1_000)
  })
})
