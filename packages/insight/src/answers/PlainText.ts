/** Stored text on one line, without invisible characters, and bounded. Markup is left as it is. */
import { visibleLine } from "../text/VisibleText.ts"

/** At most `lengthMax` UTF-16 units. A clipped text ends at a word if possible, with an ellipsis. */
export const plainText = (text: string, lengthMax: number): string => {
  // Clipped before cleaning, with a margin: the cost depends on the bound, not on the text.
  const line = visibleLine(text.slice(0, lengthMax * 2))
  if (line.length <= lengthMax) return line
  const room = line.slice(0, lengthMax - 1)
  const lastBlank = room.lastIndexOf(" ")
  return `${(lastBlank > lengthMax / 2 ? room.slice(0, lastBlank) : room).toWellFormed().trimEnd()}…`
}
