/**
 * Defaults of a tool's scope (contract: MCP), from the headers `x-agent-id`, `x-subject-id` and `x-thread-id`.
 * Arguments win; `null` as an argument removes a default.
 */
import type { JsonObject } from "@muniment/domain/Memory"

export const scopeNames = ["agentId", "subjectId", "threadId"] as const
type ScopeName = (typeof scopeNames)[number]
export type ScopeDefaults = Readonly<Partial<Record<ScopeName, string>>>

const headerOf: Readonly<Record<ScopeName, string>> = {
  agentId: "x-agent-id",
  subjectId: "x-subject-id",
  threadId: "x-thread-id"
}

export const scopeDefaults = (headers: Readonly<Record<string, string | undefined>>): ScopeDefaults =>
  Object.fromEntries(
    scopeNames.flatMap((name) => {
      const value = headers[headerOf[name]]
      return value === undefined || value === "" ? [] : [[name, value]]
    })
  )

/** The arguments, completed with defaults. */
export const withDefaults = (given: JsonObject, defaults: ScopeDefaults): JsonObject => {
  const lifted = new Set<string>(scopeNames.filter((name) => given[name] === null))
  return Object.fromEntries(Object.entries({ ...defaults, ...given }).filter(([name]) => !lifted.has(name)))
}
