/**
 * Bounds of a memory's data, checked before any schema (contract: Limits): a JSON value of bounded depth and size without
 * `__proto__` names, so that it can be copied to the validator, merged and stored safely.
 */
import { Limits } from "@muniment/domain/Limits"
import { isUnsafeInteger } from "@muniment/domain/UnsafeInteger"
import { shortened } from "./SchemaFault.ts"
import { pointerTo } from "./SchemaText.ts"

const pathLengthMax = 256

/** One finding: JSON pointer into the data, and a sentence. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** Length as JSON, or the first violated bound. Visits each value once; cyclic data violates the depth bound. */
export const dataBytes = (data: unknown): number | Issue => {
  const issue = findIssue(data, 1)
  if (issue !== undefined) return issue
  const bytes = Buffer.byteLength(JSON.stringify(data))
  return bytes > Limits.memoryDataBytesMax
    ? { path: "", message: `must NOT be longer than ${Limits.memoryDataBytesMax} bytes as JSON` }
    : bytes
}

/** The first violated bound, or undefined. */
export const checkData = (data: unknown): Issue | undefined => {
  const bytes = dataBytes(data)
  return typeof bytes === "number" ? undefined : bytes
}

/** Builds the path on the way back from an issue, so that valid data costs nothing extra. */
const findIssue = (value: unknown, depth: number): Issue | undefined => {
  if (value === null || typeof value === "boolean" || typeof value === "string") return undefined
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return { path: "", message: "must be a finite number" }
    return isUnsafeInteger(value) ? { path: "", message: "must NOT be an integer beyond 2^53" } : undefined
  }
  if (typeof value !== "object") return { path: "", message: "must be a JSON value" }
  if (depth > Limits.memoryDataDepthMax) {
    return { path: "", message: `must NOT nest deeper than ${Limits.memoryDataDepthMax} levels` }
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const issue = findIssue(value[index], depth + 1)
      if (issue !== undefined) return within(index, issue)
    }
    return undefined
  }
  for (const [name, each] of Object.entries(value)) {
    if (name === "__proto__") return { path: "", message: "must NOT have a property named __proto__" }
    const issue = findIssue(each, depth + 1)
    if (issue !== undefined) return within(name, issue)
  }
  return undefined
}

const within = (token: string | number, issue: Issue): Issue => ({
  path: shortened(`${pointerTo("", token)}${issue.path}`, pathLengthMax),
  message: issue.message
})
