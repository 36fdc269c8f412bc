/** Acknowledged records that cannot be read: whom they concern, and where what is left of them lies. */
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { LogEntry, RecordPlace } from "./CommitLog.ts"
import { LogDamaged } from "./LogError.ts"

/** Ordinals from `from` to `to` that cannot be read. */
export interface LogHole {
  readonly from: number
  readonly to: number
  /** Where the first of them lies, or the next record if it is missing. */
  readonly segment: number
  readonly offset: number
  /** Undefined: neither its header nor a later record says it, it may be any namespace. */
  readonly tag: NamespaceTag | undefined
  /** Bytes that may be theirs. */
  readonly places: ReadonlyArray<RecordPlace>
}

/** The hole by tag, as far as `owners` knows whose its ordinals are. */
export const byOwner = (hole: LogHole, owners: ReadonlyMap<number, NamespaceTag>): ReadonlyArray<LogHole> => {
  if (hole.tag !== undefined) return [hole]
  const parts: Array<LogHole> = []
  for (let from = hole.from, to = from; from <= hole.to; from = ++to) {
    const tag = owners.get(from)
    while (to < hole.to && owners.get(to + 1) === tag) to++
    parts.push({ ...hole, from, to, tag })
  }
  return parts
}

/** The first hole behind `afterOrdinal` that a copy of the namespace may need. */
export const holeBehind = (
  holes: ReadonlyArray<LogHole>,
  tag: NamespaceTag,
  afterOrdinal: number
): LogHole | undefined => holes.find((hole) => hole.to > afterOrdinal && (hole.tag ?? tag) === tag)

/** Bytes that may still hold text of the namespace's records up to an ordinal. */
export const remainsOf = (
  holes: ReadonlyArray<LogHole>,
  tag: NamespaceTag,
  throughOrdinal: number
): ReadonlyArray<LogEntry> =>
  holes
    .filter((hole) => hole.from <= throughOrdinal && (hole.tag ?? tag) === tag)
    .flatMap(({ from, places }) => places.map((place) => ({ ordinal: from, place })))

export const lostRecords = (hole: LogHole, tag: NamespaceTag, afterOrdinal: number): LogDamaged =>
  new LogDamaged({ reason: `${holeText(hole)}, and the copy of ${tag} ends at ${afterOrdinal}` })

export const holeText = ({ from, offset, segment, to }: LogHole): string =>
  `${from === to ? `record ${from} is` : `records ${from} to ${to} are`} damaged (segment ${segment}, byte ${offset})`
