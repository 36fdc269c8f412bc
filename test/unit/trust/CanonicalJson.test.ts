/** Canonical JSON: the vectors of RFC 8785, refusals, and hashes that anyone can recompute. */
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { Limits } from "@muniment/domain/Limits"
import { canonicalJson, contentHash, NotCanonical, sha256Hex } from "@muniment/trust/CanonicalJson"
import { inspectJson } from "@muniment/trust/JsonText"
import { repetitions } from "../../support/Repetitions.ts"

const refusal = (value: unknown): NotCanonical => {
  try {
    canonicalJson(value)
  } catch (error) {
    if (error instanceof NotCanonical) return error
    throw error
  }
  throw new Error("nothing was refused")
}

describe("canonicalJson", () => {
  it("writes the sample of RFC 8785, section 3.2.2", () => {
    const value: unknown = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`)
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`
    )
  })

  it("sorts keys by UTF-16 unit, as RFC 8785, section 3.2.3 shows", () => {
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }
    const written = [...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map(([, text]) => text)
    expect(written).toEqual([
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh"
    ])
  })

  it("writes numbers as RFC 8785, appendix B does", () => {
    const bits = (hex: string) => Buffer.from(hex, "hex").readDoubleBE()
    const vectors: ReadonlyArray<readonly [string, string]> = [
      ["0000000000000000", "0"],
      ["8000000000000000", "0"],
      ["0000000000000001", "5e-324"],
      ["7fefffffffffffff", "1.7976931348623157e+308"],
      ["4340000000000000", "refused"],
      ["444b1ae4d6e2ef50", "1e+21"],
      ["3eb0c6f7a0b5ed8d", "0.000001"],
      ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
      ["41b3de4355555555", "333333333.3333333"],
      ["becbf647612f3696", "-0.0000033333333333333333"],
      ["7fffffffffffffff", "refused"],
      ["7ff0000000000000", "refused"]
    ]
    for (const [hex, text] of vectors) {
      if (text === "refused") expect(refusal(bits(hex)).path).toBe("")
      else expect(canonicalJson(bits(hex))).toBe(text)
    }
  })

  it("leaves undefined members out and keeps null ones", () => {
    expect(canonicalJson({ b: undefined, a: null })).toBe('{"a":null}')
  })

  it("refuses what JSON cannot carry, and says where", () => {
    expect(refusal({ a: [1, undefined] })).toMatchObject({ path: "/a", reason: "an undefined element" })
    expect(refusal(new Array(3)).reason).toBe("an undefined element")
    expect(refusal({ a: { "b/c": Number.NaN } })).toMatchObject({ path: "/a/b~1c", reason: "not a finite number" })
    expect(refusal([1, { a: "\ud800" }])).toMatchObject({ path: "/1/a", reason: "a lone surrogate" })
    expect(refusal({ "\ud800": 1 }).reason).toBe("a lone surrogate")
    expect(refusal([9_007_199_254_740_992])).toMatchObject({ path: "/0", reason: "an integer beyond 2^53" })
    expect(refusal(new Date(0)).reason).toBe("not a plain object")
    expect(refusal(JSON.parse('{"__proto__": 1}')).reason).toBe("the key __proto__")
    for (const value of [1n, () => 1, Symbol("s"), undefined]) expect(refusal(value).reason).toMatch(/no JSON form/)
  })

  it("refuses depth above 64 and cycles", () => {
    const nested = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as unknown
    expect(canonicalJson(nested(64))).toHaveLength(128)
    expect(refusal(nested(65)).reason).toBe("nested deeper than 64")
    const cycle: Record<string, unknown> = {}
    cycle["self"] = cycle
    expect(refusal(cycle).reason).toBe("nested deeper than 64")
  })

  it("reads back as the same value, is stable, and passes the text scanner", () => {
    const isSafe = (text: string) => inspectJson(text, { depthMax: Limits.jsonDepthMax }) === undefined
    const values = fc.jsonValue({ noUnicodeString: false }).filter((value) => isSafe(JSON.stringify(value)))
    fc.assert(
      fc.property(values, (value) => {
        const text = canonicalJson(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonicalJson(JSON.parse(text))).toBe(text)
        expect(isSafe(text)).toBe(true)
      }),
      { numRuns: repetitions(1_000) }
    )
  })
})

describe("hashes", () => {
  it("is SHA-256 in lower-case hex, of a text's UTF-8 or of bytes", () => {
    const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    expect(sha256Hex("")).toBe(empty)
    expect(sha256Hex(new Uint8Array())).toBe(empty)
    expect(sha256Hex("é")).toBe(sha256Hex(new Uint8Array([0xc3, 0xa9])))
  })

  it("covers agent, data and kind, whatever the order of keys", () => {
    const hash = contentHash({ agentId: "agent-1", kind: "contact", data: { name: "Zoë", email: "z@example.com" } })
    const text = '{"agentId":"agent-1","data":{"email":"z@example.com","name":"Zoë"},"kind":"contact"}'
    expect(hash).toBe(`0x${sha256Hex(text)}`)
    expect(contentHash({ data: { email: "z@example.com", name: "Zoë" }, kind: "contact", agentId: "agent-1" })).toBe(
      hash
    )
    expect(
      contentHash({ agentId: "agent-2", kind: "contact", data: { name: "Zoë", email: "z@example.com" } })
    ).not.toBe(hash)
  })
})
