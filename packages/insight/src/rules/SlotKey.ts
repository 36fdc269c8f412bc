/**
 * Which single value a finding states: an attribute of a closed list, of the speaker or of somebody else. A newer memory
 * of the same attribute supersedes the older one, so only findings that state a value have one.
 */
import type { Slot } from "../extraction/Extractor.ts"
import type { Finding } from "./Finding.ts"
import type { People } from "./People.ts"

export const slotOf = ({ attribute, entity, subject }: Finding, people: People): Slot | undefined => {
  if (attribute === undefined) return undefined
  const speaker = people.speakerName
  const isSpeaker = subject === "user" || subject === speaker || entity?.type === "speaker"
  const former = [...people.wrongNames].at(-1)
  return {
    attribute: attribute.toLowerCase(),
    ...(isSpeaker ? {} : { person: subject }),
    ...(speaker === undefined ? {} : { speaker }),
    ...(former === undefined ? {} : { formerName: former })
  }
}
