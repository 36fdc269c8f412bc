/**
 * Request to the validation thread, its reply, and its bounds of time. Schema texts travel once per request, because many
 * memories share a kind.
 */
import type { Outcome } from "./CompiledSchemas.ts"

export interface ValidationRequest {
  readonly schemaTexts: ReadonlyArray<string>
  readonly items: ReadonlyArray<{ readonly schema: number; readonly data: unknown }>
}

export interface ValidationReply {
  /** Outcomes of the first items, at least one; the thread declined the others. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly cpuMillis: number
}

/** Processor time of one turn. */
export const validationCpuMillisMax = 250
/** Time of the clock, for a thread that the machine does not let run. */
export const validationDeadlineMillis = 5_000

/**
 * What would pass this processor time, by the costliest item so far, the thread itself declines. A request with many
 * kinds that are not compiled yet thus keeps what it compiled and goes on in its next turn; ending the thread loses
 * everything.
 */
export const validationSoftMillis = 200

export const tooSlow = (): Outcome => ({
  ok: false,
  issues: [{ path: "", message: `validation took longer than ${validationCpuMillisMax} ms of processor time` }]
})
