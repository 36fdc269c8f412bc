/** The scanner against JSON.parse: clean text always passes, a planted fault is always found. */
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { Limits } from "@muniment/domain/Limits"
import { inspectJson, type JsonFault } from "@muniment/trust/JsonText"
import { repetitions } from "../../support/Repetitions.ts"

const limits = { depthMax: Limits.jsonDepthMax }
const inspect = (text: string) => inspectJson(text, limits)

const unsafe = (value: number) => Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21

/** JSON values in which nothing is wrong. */
const cleanValue = fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }).filter((value) => {
  let isClean = true
  JSON.stringify(value, (key, inner: unknown) => {
    if (key === "__proto__" || (typeof inner === "number" && unsafe(inner))) isClean = false
    return inner
  })
  return isClean
})

const faults: ReadonlyArray<readonly [JsonFault, fc.Arbitrary<string>]> = [
  [
    "duplicate_key",
    fc
      .string()
      .filter((key) => key !== "__proto__")
      .map((key) => {
        const text = JSON.stringify(key)
        return `{${text}:1,"between":[{}],${text}:2}`
      })
  ],
  ["duplicate_key", fc.constantFrom('{"a":1,"\\u0061":2}', '{"é":1,"\\u00e9":2}', '{"\\/":1,"/":2}', '{"":1,"":2}')],
  ["prototype_key", fc.constantFrom('{"__proto__":{}}', '{"a":{"\\u005f_proto__":1}}', '[{"__proto\\u005f_":1}]')],
  [
    "lone_surrogate",
    fc.constantFrom(
      '"\\ud800"',
      '"\\uDFFF"',
      '"a\\ud83dx"',
      '"\\ud83d\\ud83d\\ude00"',
      '{"\\udc00":1}',
      '"\ud800"',
      '"x\udc00y"',
      '"\\ude00\\ud83d"'
    )
  ],
  ["unsafe_integer", fc.bigInt({ min: 9_007_199_254_740_992n, max: 10n ** 40n }).map(String)],
  ["unsafe_integer", fc.bigInt({ min: 9_007_199_254_740_992n, max: 10n ** 40n }).map((n) => `-${n}`)],
  ["unsafe_integer", fc.constantFrom("1e20", "-2.5e+16", "9007199254740993.0", "9007199254740993e1", "0.1E18")],
  ["infinite_number", fc.constantFrom("1e400", "-1e999", "123456.789E+400")],
  ["too_deep", fc.integer({ min: 65, max: 300 }).map((depth) => "[".repeat(depth) + "]".repeat(depth))],
  ["too_deep", fc.integer({ min: 65, max: 300 }).map((depth) => '{"a":'.repeat(depth) + "1" + "}".repeat(depth))]
]

describe("inspectJson", () => {
  it("passes every clean value, compact or indented", () => {
    fc.assert(
      fc.property(cleanValue, fc.constantFrom(undefined, 2, "\t"), (value, indent) => {
        expect(inspect(JSON.stringify(value, undefined, indent))).toBeUndefined()
      }),
      { numRuns: repetitions(2_000) }
    )
  })

  it("finds a fault planted anywhere in a clean value", () => {
    const planted = fc.record({
      fault: fc.constantFrom(...faults).chain(([reason, text]) => text.map((faulty) => ({ reason, faulty }))),
      before: fc.array(cleanValue, { maxLength: 3 }),
      after: fc.array(cleanValue, { maxLength: 3 }),
      key: fc.string().filter((key) => key !== "__proto__")
    })
    fc.assert(
      fc.property(planted, ({ after, before, fault, key }) => {
        const parts = [
          ...before.map((value) => JSON.stringify(value)),
          fault.faulty,
          ...after.map((value) => JSON.stringify(value))
        ]
        const text = `{${JSON.stringify(key)}:[${parts.join(",")}]}`
        expect(() => {
          JSON.parse(text)
        }).not.toThrow()
        expect(inspect(text)?.reason).toBe(fault.reason)
      }),
      { numRuns: repetitions(2_000) }
    )
  })

  it("never throws and always ends, whatever the text is", () => {
    const noise = fc.string({
      unit: fc.constantFrom(...'{}[]",:\\u0d8fc-1.eE \n', "\\u", "\ud83d", "true"),
      maxLength: 200
    })
    fc.assert(
      fc.property(noise, (text) => {
        inspect(text)
      }),
      { numRuns: 5_000 }
    )
  })

  it("tells where the fault stands, as a JSON pointer", () => {
    expect(inspect('{"a":[1,{"b/c":9007199254740993}]}')).toEqual({ reason: "unsafe_integer", path: "/a/1/b~1c" })
    expect(inspect('{"x":{"k":1,"k":2}}')).toEqual({ reason: "duplicate_key", path: "/x/k" })
    expect(inspect('[[],{},"\\ud800"]')).toEqual({ reason: "lone_surrogate", path: "/2" })
  })

  it("passes what only looks wrong", () => {
    const clean = [
      "9007199254740991",
      "-9007199254740991",
      "1e21",
      "0",
      "-0",
      '"9007199254740993"',
      '"__proto__"',
      '["__proto__"]',
      '{"a":"__proto__"}',
      '{"a":{"a":{"a":1}}}',
      '[{"a":1},{"a":1}]',
      '"\\ud83d\\ude00"',
      '"\ud83d\ude00"',
      '"\\\\ud800"',
      '{"a":"a","b":"a"}',
      '{"A":1,"a":2}',
      '"}]{["',
      '{"constructor":1}'
    ]
    for (const text of clean) expect([text, inspect(text)]).toEqual([text, undefined])
    const deep = "[".repeat(64) + "]".repeat(64)
    expect(inspect(deep)).toBeUndefined()
    expect(inspect(`[${"[],".repeat(1_000)}{}]`)).toBeUndefined()
  })

  it("finds the duplicate among many keys", () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `"key${index}":0`)
    expect(inspect(`{${keys.join(",")}}`)).toBeUndefined()
    expect(inspect(`{${keys.join(",")},"key17":1}`)?.reason).toBe("duplicate_key")
  })
})

describe("bounds of a text", () => {
  const bounded = (text: string) => inspectJson(text, { depthMax: 8, keysMax: 20, valuesMax: 50 })
  const object = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at])))

  it("count the keys of each object", () => {
    expect(bounded(object(20))).toBeUndefined()
    expect(bounded(`[${object(20)},${object(20)}]`)).toBeUndefined()
    expect(bounded(object(21))).toEqual({ reason: "too_many_keys", path: "/k20" })
    expect(bounded(`{"a":[1,${object(21)}]}`)).toEqual({ reason: "too_many_keys", path: "/a/1/k20" })
  })

  it("count the values of the whole text, empty containers included", () => {
    expect(bounded(`[${Array(25).fill("[]").join(",")}]`)).toBeUndefined()
    expect(bounded(`[${Array(26).fill("[]").join(",")}]`)?.reason).toBe("too_many_values")
    expect(bounded(`[${Array(50).fill("1").join(",")}]`)).toBeUndefined()
    expect(bounded(`[${Array(51).fill("1").join(",")}]`)?.reason).toBe("too_many_values")
  })

  it("are what bodies are held to: a hostile one is refused after a part of it", () => {
    const { jsonDepthMax, jsonObjectKeysMax, jsonValuesMax } = Limits
    const ofBodies = { depthMax: jsonDepthMax, keysMax: jsonObjectKeysMax, valuesMax: jsonValuesMax }
    expect(inspectJson(object(80_000), ofBodies)?.reason).toBe("too_many_keys")
    expect(inspectJson(`[${Array(200_000).fill("[]").join(",")}]`, ofBodies)?.reason).toBe("too_many_values")
  })
})
