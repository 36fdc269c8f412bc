/** Changes of `control.db` as records of the shared log, where it is one more tag with an owner. */
import type { ControlChange, NewControlChange } from "@muniment/control/database/ChangeLog"
import type { CopyState, NewCommit } from "@muniment/engine/log/CommitLog"
import { emptyBody, processTag } from "@muniment/engine/log/logFormat"
import type { ReadEntry } from "@muniment/engine/log/RecordReader"

/** No namespace has it. */
export const controlTag = processTag

/** Text of a record. Without bytes: earlier changes are only in a base. */
interface Said {
  readonly version: number
  readonly bytes?: number
}

/** `after`: what the log has before it. Its numbers are the sequence numbers of the tag. */
export const controlCommit = (
  { changes, number, version }: NewControlChange,
  after: CopyState & { readonly isClaim: boolean },
  atMillis: number
): NewCommit => {
  const said: Said = changes === "base" ? { version } : { version, bytes: changes.byteLength }
  return {
    tag: controlTag,
    epoch: after.epoch,
    fromSeq: after.seq,
    changes: number - after.seq,
    isClaim: after.isClaim,
    atMillis,
    isErasure: false,
    body: { ...emptyBody, text: JSON.stringify(said), vectors: changes === "base" ? [] : [changes] }
  }
}

export const controlChange = ({ record: { header, text, vectors } }: ReadEntry): ControlChange => {
  const { bytes, version } = JSON.parse(text) as Said
  const changes = bytes === undefined ? "base" : new Uint8Array(vectors.subarray(0, bytes))
  return { number: header.fromSeq + header.changes, version, changes }
}
