/**
 * Request to the validation thread, and its deadlines. Schema texts travel once per request, because many
 * memories share a kind.
 */
import type { Outcome } from "./CompiledSchemas.ts"

export interface ValidationRequest {
  readonly schemaTexts: ReadonlyArray<string>
  readonly items: ReadonlyArray<{ readonly schema: number; readonly data: unknown }>
}

export const validationDeadlineMillis = 250

/**
 * After this long the thread itself declines the remaining items. A request with many kinds that are not compiled
 * yet thus keeps what it compiled and succeeds when it is repeated; ending the thread loses everything.
 */
export const validationSoftDeadlineMillis = 200

export const tooSlow = (): Outcome => ({
  ok: false,
  issues: [{ path: "", message: `validation took longer than ${validationDeadlineMillis} ms` }]
})
