/**
 * Changes of an agent's memories as events: which memory, of which kind, and what happened. The commit that makes a
 * change writes its events, so that none is missed and none is invented.
 *
 * Invariants: an event holds no content, and names of subjects and threads only while its memory has them; numbers
 * ascend in the order of the changes, with gaps; a replayed commit gives the same events.
 */
import { hash } from "node:crypto"

export type MemoryEventType = "created" | "updated" | "superseded" | "deleted"

export interface MemoryEvent {
  /** Twice the number of its change; one more for what the change did to another memory. */
  readonly number: number
  readonly type: MemoryEventType
  /** Of the memory. */
  readonly id: string
  readonly kind: string
  /** `subjectDigest` of its subject; undefined: it has none. */
  readonly subject: number | undefined
  /** Undefined also once the memory is gone. */
  readonly subjectId: string | undefined
  readonly threadId: string | undefined
  /** Of a superseded memory: the id of the newer one. */
  readonly supersededBy: string | undefined
  /** Time of the commit, milliseconds. */
  readonly at: number
}

export interface EventPage {
  readonly events: ReadonlyArray<MemoryEvent>
  /** The number to go on behind: of the last event of a full page, else of all that was committed. */
  readonly through: number
  /** Events up to this number are no longer kept, or were before there were any. */
  readonly floor: number
  /** Time of the first commit of the file, milliseconds: another one counts anew. 0: before there were events. */
  readonly born: number
}

/** The number behind which the events of change `seq` lie, and the last one of them. */
export const eventNumbers = (seq: number) => ({ change: 2 * seq, other: 2 * seq + 1 })

/** The first 48 bits of a hash: tells subjects apart without naming them. */
export const subjectDigest = (subjectId: string): number => hash("sha256", subjectId, "buffer").readUIntBE(0, 6)
