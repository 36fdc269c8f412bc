/**
 * Cuts a long text into passages: units of the index with words and a vector of their own. Passages follow each other
 * without gap or overlap, so the first ones end where the next begin.
 *
 * The places of cuts depend on this file and on the sentence rules of the running Node. So they are stored, and a
 * message that is stored keeps its cuts (`cutsOf`) until its text is replaced.
 */
import { Limits } from "@muniment/domain/Limits"

/** Part of a text, in UTF-16 units: `start` inclusive, `end` exclusive. */
export interface Passage {
  readonly start: number
  readonly end: number
}

/** The whole text if it has at most `lengthMax` units, else as many whole sentences as fit into each passage. */
export const passagesOf = (
  text: string,
  lengthMax: number = Limits.passageLengthMax
): readonly [Passage, ...Array<Passage>] => {
  const first = { start: 0, end: text.length }
  if (text.length <= lengthMax) return [first]
  const starts = [0]
  for (const { index, segment } of sentences.segment(text)) {
    const end = index + segment.length
    if (end - starts.at(-1)! <= lengthMax) continue
    if (index > starts.at(-1)!) starts.push(index)
    for (let from = index; end - from > lengthMax;) starts.push((from = cutWithin(text, from, lengthMax)))
  }
  const [head = first, ...tail] = starts.map((start, at) => ({ start, end: starts[at + 1] ?? text.length }))
  return [head, ...tail]
}

/** All passages of a stored message from those after its first; undefined for a message of one passage. */
export const cutsOf = (further: ReadonlyArray<Passage>): ReadonlyArray<Passage> | undefined => {
  const [next] = further
  return next && [{ start: 0, end: next.start }, ...further]
}

/** Where a sentence without end is cut: after the last white space that fits, never within a surrogate pair. */
const cutWithin = (text: string, from: number, lengthMax: number): number => {
  const latest = from + lengthMax
  for (let at = latest; at > from + lengthMax / 2; at--) if (isSpace.test(text[at - 1]!)) return at
  return /[\udc00-\udfff]/.test(text[latest]!) ? latest - 1 : latest
}

const isSpace = /\s/
// A fixed locale: with the host's, the same text would be cut differently on another machine.
const sentences = new Intl.Segmenter("en", { granularity: "sentence" })
