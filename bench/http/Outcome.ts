/** Findings of a run of the suite, before they are a report. */
import type { Contestant } from "./Contestant.ts"
import type { Samples } from "./Figures.ts"
import type { Job } from "./Jobs.ts"

export interface Outcome {
  readonly jobs: ReadonlyArray<Job>
  readonly samples: Samples
  /** Contestants that ran, by their names with versions. */
  readonly names: ReadonlyMap<Contestant, string>
  /** Contestants that do not run here, and why. */
  readonly missing: ReadonlyArray<{ readonly name: string; readonly reason: string }>
  /** Share of probes that were found by their own words at the end. */
  readonly found: ReadonlyMap<string, number>
  readonly residentBytes: ReadonlyMap<string, number>
}
