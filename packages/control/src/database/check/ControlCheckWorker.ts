/** Entry of the thread that compares `control.db` with its base and the commit log (`ControlCheck.ts`). */
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import type { ControlChange } from "../ChangeLog.ts"
import {
  adoptSnapshot,
  baseNumber,
  beginExpected,
  controlCopies,
  differencesOf,
  followExpected,
  removeComparison,
  takeSnapshot
} from "./ControlCopies.ts"

export type ControlStep =
  | { readonly _tag: "Snapshot" }
  | { readonly _tag: "Base" }
  | { readonly _tag: "Begin"; readonly from: number }
  | { readonly _tag: "Follow"; readonly changes: ReadonlyArray<ControlChange> }
  | { readonly _tag: "Differences" }
  | { readonly _tag: "Adopt"; readonly checkedAt: number }
  | { readonly _tag: "Clear" }

export interface ControlReply {
  /** Number of the snapshot, of the base, or of the expected file; 0: none. */
  readonly number: number
  /** Faults of `control.db`. */
  readonly faults: ReadonlyArray<string>
  /** The step could not be done now. */
  readonly failure?: string
}

const paths = controlCopies(settingsOf<{ readonly dataDirectory: string }>().dataDirectory)

const numberOf = (step: ControlStep): number => {
  switch (step._tag) {
    case "Snapshot":
      return takeSnapshot(paths)
    case "Base":
      return baseNumber(paths)
    case "Begin":
      beginExpected(paths, step.from)
      return step.from
    case "Follow":
      return followExpected(paths, step.changes) ?? 0
    case "Adopt":
      adoptSnapshot(paths, step.checkedAt)
      return 0
    case "Clear":
      removeComparison(paths)
      return 0
    case "Differences":
      return 0
  }
}

serve((step: ControlStep): ControlReply => {
  try {
    return { number: numberOf(step), faults: step._tag === "Differences" ? differencesOf(paths) : [] }
  } catch (cause) {
    const failure = cause instanceof Error ? cause.message : String(cause)
    const isRead = step._tag === "Snapshot" || step._tag === "Differences"
    return isRead && classifySqlite(cause, "check")?.reason === "corrupt"
      ? { number: 0, faults: [failure] }
      : { number: 0, faults: [], failure }
  }
})
