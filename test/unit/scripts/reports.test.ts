/** The last line of `npm test` is honest, and the OpenAPI check finds what it is made for. */
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { describe, expect, it } from "vitest"
import { openApiFaults } from "../../../scripts/openapi.ts"
import { tallyOf } from "../../../scripts/test.ts"

describe("the tally of the tests", () => {
  const report = { numPassedTests: 5, numFailedTests: 0, numPendingTests: 0, testResults: [] }

  it("is vitest's count", () => {
    expect(tallyOf({ ...report, numFailedTests: 2 }, 1)).toEqual({ passed: 5, failed: 2, skipped: 0 })
  })
  it("counts a file that could not be loaded", () => {
    expect(tallyOf({ ...report, testResults: [{ status: "failed", assertionResults: [] }] }, 1).failed).toBe(1)
  })
  it("counts an error outside every test", () => {
    expect(tallyOf(report, 1).failed).toBe(1)
  })
  it("is clean when all passed", () => {
    expect(tallyOf(report, 0)).toEqual({ passed: 5, failed: 0, skipped: 0 })
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
