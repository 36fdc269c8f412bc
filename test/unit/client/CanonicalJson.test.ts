/** The client's canonical JSON agrees with the test vectors, which other implementations confirm. */
import { readFileSync } from "node:fs"
import { canonicalJson } from "@muniment/client/CanonicalJson"
import { MunimentError } from "@muniment/client/MunimentError"
import { canonicalJson as canonicalJsonOfService } from "@muniment/trust/CanonicalJson"
import fc from "fast-check"
import { describe, expect, it } from "vitest"

interface Vectors {
  readonly accepted: ReadonlyArray<{ readonly name: string; readonly input: string; readonly canonical: string }>
  readonly refused: ReadonlyArray<{ readonly name: string; readonly input: string; readonly reason: string }>
}

const vectors: Vectors = JSON.parse(readFileSync("test/vectors/canonical-json.json", "utf8"))

describe("canonical JSON of the client", () => {
  for (const { canonical, input, name } of vectors.accepted) {
    it(`prints the vector: ${name}`, () => {
      expect(canonicalJson(JSON.parse(input))).toBe(canonical)
    })
  }

  // A duplicate key is gone once a text is parsed: only a reader of the text can refuse it.
  for (const { input, name } of vectors.refused.filter(({ reason }) => reason !== "duplicate_key")) {
    it(`refuses the vector: ${name}`, () => {
      expect(() => canonicalJson(JSON.parse(input))).toThrow(MunimentError)
    })
  }

  for (const [name, value] of [
    ["undefined", undefined],
    ["a hole in an array", Array(1)],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a big integer", 1n],
    ["a function", () => 1],
    ["half a surrogate pair in a key", { "\ud800": 1 }]
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(() => canonicalJson({ value: [value] })).toThrow(MunimentError)
    })
  }

  it("leaves undefined members out", () => {
    expect(canonicalJson({ b: undefined, a: { c: undefined } })).toBe('{"a":{}}')
  })

  it("prints what the trust package prints, of any value, or refuses with it", () => {
    const print = (text: (value: unknown) => string, value: unknown): string | undefined => {
      try {
        return text(value)
      } catch {
        return undefined
      }
    }
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: "binary" }), (value) => {
        // The reader of texts refuses this key; as a value it does not reach the trust package.
        fc.pre(!JSON.stringify(value).includes('"__proto__":'))
        expect(print(canonicalJson, value)).toBe(print(canonicalJsonOfService, value))
      }),
      { numRuns: 500 }
    )
  })
})
