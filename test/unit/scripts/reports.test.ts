/** The last line of `npm test` is honest, and the OpenAPI check finds what it is made for. */
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { openApiFaults } from "../../../scripts/openapi.ts"
import { mergeReports, retriedFiles, secondsOf, tallyOf } from "../../../scripts/test.ts"

describe("the tally of the tests", () => {
  const report = { numPassedTests: 5, numFailedTests: 0, numPendingTests: 0, testResults: [] }

  it("is vitest's count", () => {
    expect(tallyOf({ ...report, numFailedTests: 2 }, 1)).toEqual({ passed: 5, failed: 2, skipped: 0 })
  })
  it("counts a file that could not be loaded", () => {
    const testResults = [{ name: "a.test.ts", status: "failed", assertionResults: [], startTime: 0, endTime: 0 }]
    expect(tallyOf({ ...report, testResults }, 1).failed).toBe(1)
  })
  it("counts an error outside every test", () => {
    expect(tallyOf(report, 1).failed).toBe(1)
  })
  it("is clean when all passed", () => {
    expect(tallyOf(report, 0)).toEqual({ passed: 5, failed: 0, skipped: 0 })
  })
})

it("what is noted of a file is how long it took, by its place in the repository", () => {
  const name = resolve(import.meta.dirname, "reports.test.ts")
  const took = { name, status: "passed", assertionResults: [], startTime: 1_000, endTime: 4_400 }
  expect(secondsOf({ testResults: [took] })).toEqual({ "test/unit/scripts/reports.test.ts": 3 })
})

describe("files that run once more", () => {
  const file = (name: string, ...statuses: ReadonlyArray<string>) => ({
    name,
    status: statuses.includes("failed") ? "failed" : "passed",
    startTime: 0,
    endTime: 0,
    assertionResults: statuses.map((status, at) => ({ status, fullName: `${name} ${at}` }))
  })
  const reportOf = (...testResults: ReadonlyArray<ReturnType<typeof file>>) => ({
    numPassedTests: 0,
    numFailedTests: 0,
    numPendingTests: 0,
    testResults
  })

  it("are those that failed, unless they are many", () => {
    expect(retriedFiles(reportOf(file("a", "passed"), file("b", "passed", "failed")), 1)).toEqual(["b"])
    expect(retriedFiles(reportOf(...["a", "b", "c", "d", "e", "f"].map((name) => file(name, "failed"))), 1)).toEqual([])
    expect(retriedFiles(reportOf(file("a", "passed")), 1)).toEqual([])
  })
  it("count with their second results", () => {
    const first = reportOf(file("a", "passed"), file("b", "passed", "failed"))
    const merged = mergeReports(first, reportOf(file("b", "passed", "passed")), ["b"])
    expect(tallyOf(merged, 0)).toEqual({ passed: 3, failed: 0, skipped: 0 })
    expect(tallyOf(mergeReports(first, reportOf(file("b", "failed", "passed")), ["b"]), 1).failed).toBe(1)
  })
  it("fail where they do not run at all", () => {
    const first = reportOf(file("b", "failed"))
    expect(tallyOf(mergeReports(first, reportOf(), ["b"]), 1).failed).toBe(1)
  })
})

describe("the OpenAPI check", () => {
  it("finds the contract's document sound", () => {
    expect(openApiFaults(JSON.parse(JSON.stringify(openApiDocument())))).toEqual([])
  })
  it("finds what is missing", () => {
    const operation = { operationId: "a", responses: { 200: { $ref: "#/components/none" } } }
    expect(
      openApiFaults({
        paths: {
          "/a/{id}": { get: operation, put: { ...operation, summary: "s", parameters: [{ in: "path", name: "id" }] } }
        }
      })
    ).toEqual([
      "GET /a/{id}: no summary",
      "GET /a/{id}: path parameter id is not declared",
      'PUT /a/{id}: operationId "a" is missing or taken',
      "#/components/none: leads nowhere"
    ])
  })
})
