/**
 * What the service and its validation worker say to each other. One request is under way at a time;
 * schema texts travel once per request, since many memories share a kind.
 */
import type { Outcome } from "./CompiledSchemas.ts"

export interface ValidationRequest {
  readonly schemaTexts: ReadonlyArray<string>
  readonly items: ReadonlyArray<{ readonly schema: number; readonly data: unknown }>
}

export type WorkerMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "outcomes"; readonly outcomes: ReadonlyArray<Outcome> }

export const validationDeadlineMillis = 250

/**
 * After this long the worker itself declines the items left. A request with many kinds that are not
 * compiled yet thus keeps what it compiled, and succeeds when it is repeated; a kill loses everything.
 */
export const validationSoftDeadlineMillis = 200

export const tooSlow = (): Outcome => ({
  ok: false,
  issues: [{ path: "", message: `validation took longer than ${validationDeadlineMillis} ms` }]
})
