/**
 * Which single value a finding states: an attribute of a closed list, of the speaker or of somebody else. A newer memory
 * of the same attribute supersedes the older one, so only findings that state a value have one.
 */
import type { Slot } from "../extraction/Extractor.ts"
import type { Finding } from "./Finding.ts"
import type { People } from "./People.ts"

/** A finding of no attribute has what it said for one, so that its correction replaces it. */
export const asSaid = ({ eventDate = "", text }: Finding): string => `said ${text} ${eventDate}`.trim()

export const slotOf = (finding: Finding, people: People): Slot => {
  const { attribute = asSaid(finding), entity, subject } = finding
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
