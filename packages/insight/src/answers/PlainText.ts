/** Stored text on one line, without what nobody sees, and bounded; markup is neither read nor changed. */
import { visibleLine } from "../prompts/VisibleText.ts"

/** At most `lengthMax` UTF-16 units; what is cut ends at a word where it can, and says so by an ellipsis. */
export const plainText = (text: string, lengthMax: number): string => {
  // Cut first, with room for what will be taken out: the cost follows the bound and not the text.
  const line = visibleLine(text.slice(0, lengthMax * 2))
  if (line.length <= lengthMax) return line
  const room = line.slice(0, lengthMax - 1)
  const lastBlank = room.lastIndexOf(" ")
  return `${(lastBlank > lengthMax / 2 ? room.slice(0, lastBlank) : room).toWellFormed().trimEnd()}…`
}
