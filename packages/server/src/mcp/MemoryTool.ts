/** A tool: its description for agents, its price, and its action. */
import type { Effect } from "effect"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import type { JsonObject } from "@muniment/domain/Memory"
import type { MicroCredits } from "@muniment/domain/Money"
import { withoutDefaulted } from "./InputSchemas.ts"
import type { ScopeDefaults } from "./ScopeDefaults.ts"
import type { ToolFailure } from "./ToolResult.ts"

export interface ToolInput {
  /** Arguments as they were given, completed from the headers. */
  readonly arguments: JsonObject
  /** Names of those that were given. */
  readonly chosen: ReadonlyArray<string>
  /** The `X-Grants` header as it came. */
  readonly grants: string | undefined
}

export interface MemoryTool {
  readonly name: string
  readonly title: string
  /** Read by the agent that decides whether to call it. */
  readonly description: string
  readonly hints: { readonly isReadOnly: boolean; readonly isDestructive: boolean; readonly isIdempotent: boolean }
  readonly inputSchema: JsonObject
  /** Name of the same operation of REST in the ledger, and its price. */
  readonly operation: string
  readonly price: MicroCredits
  /** REST's answer without `success`. */
  readonly run: (call: PricedCall, input: ToolInput) => Effect.Effect<JsonObject, ToolFailure>
}

/**
 * Entry of `tools/list`. Without an output schema, which the protocol leaves to the server: they would be half of a list
 * that an agent's host loads with every session, and no model is shown them.
 */
export const toolListing = (
  { description, hints, inputSchema, name, title }: MemoryTool,
  defaults: ScopeDefaults
): JsonObject => ({
  name,
  title,
  description,
  inputSchema: withoutDefaulted(inputSchema, defaults),
  annotations: {
    title,
    readOnlyHint: hints.isReadOnly,
    destructiveHint: hints.isDestructive,
    idempotentHint: hints.isIdempotent,
    openWorldHint: false
  }
})
