/** What is learned of schemas: proven ones, and how long one that overran is left alone. */
import { SchemaStanding, standingLimits } from "@muniment/schemas/ValidationLane"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { describe, expect, it } from "vitest"

const schema = `{"type":"object"}`
const other = `{"type":"object","title":"other"}`
const builtin = builtinKinds[0]!.schema
const { overrunsMax, provenDataBytesMax, provenMillisMax, quarantineMillis, quarantineMillisMax } = standingLimits

describe("a schema", () => {
  it("is safe once it was proven, with small data", () => {
    const standing = new SchemaStanding()
    expect(standing.isSafe("ada", schema, 10)).toBe(false)
    standing.succeeded("ada", [schema], provenMillisMax + 1)
    expect(standing.isSafe("ada", schema, 10)).toBe(false)
    standing.succeeded("ada", [schema], provenMillisMax)
    expect([
      standing.isSafe("ada", schema, provenDataBytesMax),
      standing.isSafe("ada", schema, provenDataBytesMax + 1)
    ]).toEqual([true, false])
  })

  it("is safe as a built-in kind, whatever happened and however much data", () => {
    const standing = new SchemaStanding()
    standing.overran("mallory", [builtin, schema], 0)
    expect(standing.isSafe("mallory", builtin, 1_000_000)).toBe(true)
    expect(standing.waitMillis("mallory", [builtin], 1)).toBe(0)
  })

  it("is proven for all tenants, until it overruns: for that tenant alone, and until it is quick there again", () => {
    const standing = new SchemaStanding()
    const safeFor = () => ["ada", "mallory", "new"].map((tenant) => standing.isSafe(tenant, schema, 10))
    standing.succeeded("ada", [schema], 1)
    expect(safeFor()).toEqual([true, true, true])
    standing.overran("mallory", [schema], 0)
    expect(safeFor()).toEqual([true, false, true])
    standing.succeeded("ada", [schema], 1)
    standing.succeeded("mallory", [schema], provenMillisMax + 1)
    expect(safeFor()).toEqual([true, false, true])
    standing.succeeded("mallory", [schema], provenMillisMax)
    expect(safeFor()).toEqual([true, true, true])
  })

  it("that overran waits for its tenant only, twice as long each time", () => {
    const standing = new SchemaStanding()
    standing.succeeded("ada", [schema], 1)
    standing.overran("mallory", [schema], 0)
    expect(standing.waitMillis("mallory", [schema], 0)).toBe(quarantineMillis)
    expect(standing.waitMillis("mallory", [schema], quarantineMillis)).toBe(0)
    expect(standing.waitMillis("ada", [schema], 0)).toBe(0)
    standing.overran("mallory", [schema], quarantineMillis)
    expect(standing.waitMillis("mallory", [schema], quarantineMillis)).toBe(2 * quarantineMillis)
    for (let time = 0; time < 20; time += 1) standing.overran("mallory", [schema], 0)
    expect(standing.waitMillis("mallory", [schema], 0)).toBe(quarantineMillisMax)
  })
})

describe("a tenant", () => {
  it("with several overruns has no unknown schema tried, but proven ones", () => {
    const standing = new SchemaStanding()
    standing.succeeded("ada", [other], 1)
    for (let time = 0; time < overrunsMax; time += 1) standing.overran("mallory", [`${schema}${" ".repeat(time)}`], 0)
    expect(standing.waitMillis("mallory", [schema], 1)).toBeGreaterThan(0)
    expect(standing.waitMillis("mallory", [`${schema}\n`], 1)).toBeGreaterThan(0)
    expect(standing.waitMillis("mallory", [other], 1)).toBe(0)
    expect(standing.waitMillis("ada", [`${schema}\n`], 1)).toBe(0)
  })

  it("is forgiven after a time without overruns", () => {
    const standing = new SchemaStanding()
    for (let time = 0; time < overrunsMax; time += 1) standing.overran("mallory", [`${schema}${" ".repeat(time)}`], 0)
    const later = 2 * quarantineMillisMax
    expect(standing.waitMillis("mallory", [schema], later)).toBe(0)
    standing.overran("mallory", [schema], later)
    expect(standing.waitMillis("mallory", [`${schema}\n`], later)).toBe(0)
  })
})
