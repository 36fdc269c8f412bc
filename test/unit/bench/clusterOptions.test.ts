import { describe, expect, it } from "vitest"
import { parseOptions } from "../../../bench/cluster/Options.ts"
import { wholeNumber } from "../../../bench/Usage.ts"

const bench = { numbers: { stops: { default: 20, min: 1, max: 100 } }, switches: ["logs"] } as const

describe("options of the cluster's benches", () => {
  it("are the defaults, or what was given", () => {
    expect(parseOptions(bench, [])).toEqual({ stops: 20, logs: false })
    expect(parseOptions(bench, ["--stops", "100", "--logs"])).toEqual({ stops: 100, logs: true })
  })

  it.each(["0", "101", "-1", "1.5", "1e2", "", "many", "NaN"])(
    "refuse %j for a number, and say what it takes",
    (text) => {
      expect(() => parseOptions(bench, [`--stops=${text}`])).toThrow(
        `--stops takes a whole number from 1 to 100, not "${text}"`
      )
    }
  )

  it.each([["--stop", "3"], ["--logs=yes"], ["20"]])("refuse what they do not know: %s", (...args) => {
    expect(() => parseOptions(bench, args)).toThrow()
  })
})

it("a whole number without an upper bound says where it begins", () => {
  expect([wholeNumber("rounds", "1"), wholeNumber("rests", "0", 0)]).toEqual([1, 0])
  expect(() => wholeNumber("rounds", "0")).toThrow('--rounds takes a whole number from 1, not "0"')
})
