/** Position of the scrubber: `scrub.json` in the data directory, so that a round goes on after a restart. */
import { existsSync, readFileSync } from "node:fs"
import { Option, Schema } from "effect"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"

/** A damaged file that a round has found. `reason` names tables and slots, never content. */
const DamagedFile = Schema.Struct({ file: Schema.String, reason: Schema.String, isMended: Schema.Boolean })

const ScrubNote = Schema.Struct({
  /** Milliseconds; null: no round has ended, or none is under way. */
  finishedAt: Schema.NullOr(Schema.Int),
  startedAt: Schema.NullOr(Schema.Int),
  /** The last file that this round has read. */
  position: Schema.String,
  /** Of the round under way, or of the last one. */
  files: Schema.Int,
  bytes: Schema.Finite,
  damaged: Schema.Array(DamagedFile)
})
export type ScrubNote = typeof ScrubNote.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ScrubNote))

const noRound: ScrubNote = { finishedAt: null, startedAt: null, position: "", files: 0, bytes: 0, damaged: [] }

/** A note that is missing or cannot be read is none: the next round begins at once. */
export const readScrubNote = (path: string): ScrubNote =>
  existsSync(path) ? Option.getOrElse(decode(readFileSync(path, "utf8")), () => noRound) : noRound

export const writeScrubNote = (path: string, note: ScrubNote): void =>
  replacePrivateFile(path, `${JSON.stringify(note)}\n`)
