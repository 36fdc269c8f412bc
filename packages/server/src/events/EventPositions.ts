/**
 * Position of a follower in the events of each agent, as the opaque text that is the id of an event: 18 bytes an agent,
 * behind a byte for the form.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"

export interface EventPosition {
  /** `EventPage.born` of the file that the number is of. */
  readonly born: number
  /** Number of the last event that was read. */
  readonly number: number
}

export type EventPositions = ReadonlyMap<NamespaceTag, EventPosition>

const form = 1
const fieldBytes = 6
const entryBytes = 3 * fieldBytes

export const encodePositions = (positions: EventPositions): string => {
  const bytes = Buffer.alloc(1 + positions.size * entryBytes)
  let at = bytes.writeUInt8(form)
  for (const [tag, { born, number }] of positions) {
    at += bytes.write(tag, at, "hex")
    at = bytes.writeUIntBE(born, at, fieldBytes)
    // Before the first event is -1.
    at = bytes.writeUIntBE(number + 1, at, fieldBytes)
  }
  return bytes.toString("base64url")
}

/** Undefined: the text is none of `encodePositions`. */
export const decodePositions = (text: string): EventPositions | undefined => {
  const bytes = Buffer.from(text, "base64url")
  if (bytes[0] !== form || (bytes.length - 1) % entryBytes !== 0 || bytes.toString("base64url") !== text)
    return undefined
  const positions = new Map<NamespaceTag, EventPosition>()
  for (let at = 1; at < bytes.length; at += entryBytes) {
    const field = (index: number) => bytes.readUIntBE(at + index * fieldBytes, fieldBytes)
    positions.set(bytes.toString("hex", at, at + fieldBytes), { born: field(1), number: field(2) - 1 })
  }
  return positions
}
